"""Producers that a recorded function reads from: elements by number, positions, shares of hosts.

The private names are what a resumable run calls; a user sees their results only in its files.
"""

import itertools

import numpy as np
import pytest
from helpers import plain, raises
from orchestration import drain, fresh_collection, no_thread_left
from turns import Book, turn

import pipeline
from pipeline import Coordinator, FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from pipeline._random import permutation

SEEDED = {"shuffle": True, "seed": 7}
PLAIN = {"shuffle": False}


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def names(**options):
    return pipeline.string_input_producer(["a", "b", "c", "d", "e"], **options)


def numbers(**options):
    return pipeline.range_input_producer(5, **options)


def rows(**options):
    return pipeline.input_producer(np.arange(10.0).reshape(5, 2), **options)


def texts(**options):
    return pipeline.input_producer(np.array(["x", "y", "z"]), **options)


def things(**options):
    return pipeline.input_producer(np.array([{"k": 1}, "text", 3], object), **options)


def by_thread(queue, take):
    """What `take` gives when the producer's thread fills the queue; and the error at the end."""
    coord = Coordinator()
    threads = queue.runner.create_threads(coord=coord, daemon=True, start=True)
    got = drain(take)
    with pytest.raises(OutOfRangeError) as end:
        take()
    coord.request_stop()
    coord.join(threads)
    return got, end.value


@pytest.mark.parametrize("make", [names, numbers, rows, texts, things])
@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_elements_by_number_are_those_of_the_queue(make, order):
    options = {"num_epochs": 3, **order}
    queue = make(**options)
    expected, end = by_thread(queue, queue.dequeue)
    queue = make(**options)
    with turn():
        got = drain(queue.dequeue)
        with pytest.raises(OutOfRangeError) as ended:
            queue.dequeue()
    assert plain(got) == plain(expected)
    assert list(map(type, got)) == list(map(type, expected))
    assert str(ended.value) == str(end)
    assert ended.value.end == end.end
    assert ended.value.end.epochs == 3
    assert queue.stats().enqueued == 0


@pytest.mark.parametrize("make", [names, rows, things])
def test_blocks_go_on_over_epochs_and_are_those_of_the_queue(make):
    options = {"num_epochs": 3, "capacity": 100, **SEEDED}
    queue = make(**options)
    expected, _ = by_thread(queue, lambda: queue.dequeue_up_to(4))
    for call in ("block", "dequeue_up_to"):
        queue = make(**options)
        with turn():
            got = drain(lambda queue=queue, call=call: getattr(queue, call)(4))
        assert plain(got) == plain(expected)
        assert [each.dtype for each in got] == [each.dtype for each in expected]


def test_order_of_an_epoch_is_a_permutation_with_the_words_of_that_epoch():
    queue = numbers(num_epochs=4, **SEEDED)
    with turn():
        got = drain(queue.dequeue)
    orders = [permutation(87654321, 7, epoch, 5).tolist() for epoch in range(4)]  # 4 words, one block, an epoch
    assert got == list(itertools.chain(*orders))


def test_many_over_the_end_take_nothing():
    queue = numbers(num_epochs=1, **PLAIN)
    with turn():
        assert queue.dequeue_many(3).tolist() == [0, 1, 2]
        with raises(OutOfRangeError, "FIFOQueue 'input_producer' is closed and has insufficient elements (requested 3"):
            queue.dequeue_many(3)
        assert queue._position() == [3]
        assert queue.dequeue_up_to(3).tolist() == [3, 4]
        for call in (queue.dequeue_many, queue.dequeue_up_to, queue.block):
            with pytest.raises(OutOfRangeError):
                call(1)
        assert queue.dequeue_many(0).shape == queue.dequeue_up_to(0).shape == (0,)


def test_out_gets_the_rows_and_an_array_that_does_not_fit_changes_nothing():
    queue = rows(num_epochs=1, **PLAIN)
    with turn():
        out = np.zeros((3, 2))
        with pytest.raises(ValueError, match="out must be"):
            queue.dequeue_many(2, out=np.zeros((2, 3)))
        assert queue._position() == [0]
        assert queue.dequeue_many(2, out=out[:2]).tolist() == [[0, 1], [2, 3]]
        assert out.tolist() == [[0, 1], [2, 3], [0, 0]]
        with pytest.raises(InvalidArgumentError):
            queue.dequeue_many(-1)
        with pytest.raises(ValueError, match="at least 1 row"):
            queue.block(0)
        assert queue.dequeue().tolist() == [4, 5]


def test_an_input_without_rows_says_so():
    queue = pipeline.input_producer(np.zeros((0, 2)), num_epochs=2)
    with turn(), pytest.raises(OutOfRangeError, match="the input of 'input_producer' has no rows") as ended:
        queue.dequeue()
    assert ended.value.end.why == "the input of 'input_producer' has no rows"


@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_every_position_can_be_gone_to(order):
    def make():
        return names(num_epochs=3, **order)

    queue = make()
    with turn():
        all_of_them = drain(queue.dequeue)
    for place in range(16):
        there = make()
        with turn(Book({there.name: [place]})):
            assert there._position() == [0]
            assert drain(there.dequeue) == all_of_them[place:]


def test_a_number_far_away_is_reached_at_once():
    queue = numbers(**SEEDED)
    queue._go_to([5 * 10**12 + 2])
    with turn():
        assert queue.dequeue() == permutation(87654321, 7, 10**12, 5)[2]


@pytest.mark.parametrize("number", [-1, 11])
def test_a_number_that_is_not_there_is_refused(number):
    queue = numbers(num_epochs=2)
    with raises(InvalidArgumentError, "'input_producer' cannot resume at element"):
        queue._go_to([number])
    assert queue._position() == [0]


def test_the_position_begins_after_what_was_dequeued():
    queue = names(num_epochs=2, **PLAIN)
    coord = Coordinator()
    threads = queue.runner.create_threads(coord=coord, daemon=True, start=True)
    assert [queue.dequeue() for _ in range(3)] == [b"a", b"b", b"c"]
    coord.request_stop()
    coord.join(threads)
    with turn():
        assert queue.dequeue() == b"d"
    assert queue._position() == [4]


def test_nobody_else_may_pull():
    queue = names(**PLAIN)
    with turn():
        assert queue.dequeue() == b"a"
    for call in (queue.dequeue, lambda: queue.dequeue_many(1), lambda: queue.dequeue_up_to(1), lambda: queue.block(1)):
        with raises(FailedPreconditionError, "'input_producer' belongs to an iterator whose order is fixed"):
            call()
        with turn(), raises(FailedPreconditionError, "'input_producer' belongs to an iterator whose order is fixed"):
            call()
    assert queue._position() == [1]


def test_each_call_is_one_pull():
    book, queue = Book(), names(**PLAIN)
    with turn(book) as mine:
        queue.dequeue()
        assert mine.pulls == 1
        queue.block(3)
    assert (mine.pulls, book.adopted) == (2, [queue])


def test_an_element_by_its_number_is_not_taken():
    queue = names(num_epochs=2, **SEEDED)
    expected = [queue._element(number) for number in range(10)]
    assert queue._position() == [0]
    with turn():
        assert drain(queue.dequeue) == expected
    with pytest.raises(OutOfRangeError):
        queue._element(10)


def test_facts():
    queue = names(num_epochs=2, name="files", **SEEDED)
    digest = queue._facts()["digest"]
    assert queue._facts() == {
        "name": "files", "kind": "string_input_producer", "digest": digest, "rows": 5, "seeds": [87654321, 7],
        "shuffle": True, "num_epochs": 2,
    }  # fmt: skip
    assert (len(digest), int(digest, 16) > 0) == (16, True)
    assert numbers(**PLAIN)._facts()["seeds"] is None
    assert (numbers(**PLAIN)._facts()["kind"], rows()._facts()["kind"]) == ("range_input_producer", "input_producer")
    assert names(shard=(1, 2))._facts()["shard"] == [1, 2]


def test_digests_tell_inputs_apart():
    listed = [["a", "b"], ["b", "a"], ["ab", ""], ["a", "b", "c"]]
    array = np.arange(4000.0)
    other = array.copy()
    other[0] = 1
    made = [pipeline.string_input_producer(each) for each in listed]
    made += [pipeline.input_producer(each) for each in (array, other, array[:-1], array.reshape(-1, 2))]
    made += [pipeline.range_input_producer(limit) for limit in (3, 4, np.int64(4))]
    digests = [each._facts()["digest"] for each in made]
    assert len(set(digests)) == len(digests)
    assert pipeline.input_producer(array.copy())._facts()["digest"] == digests[4]


def test_seeds_drawn_by_chance_give_way_to_those_of_a_saved_run():
    first, second = names(num_epochs=2), names(num_epochs=2)
    assert second._reseed(first._facts()["seeds"])
    with turn():
        expected = drain(first.dequeue)
        assert drain(second.dequeue) == expected
    assert not names(**SEEDED)._reseed([1, 2])
    assert not names(**PLAIN)._reseed([1, 2])


@pytest.mark.parametrize("order", [SEEDED, PLAIN])
@pytest.mark.parametrize("free", [True, False])
def test_hosts_share_out_each_epoch(order, free):
    count = 3
    queue = names(num_epochs=2, **order)
    with turn():
        everything = drain(queue.dequeue)
    for index in range(count):
        queue = names(num_epochs=2, shard=(index, count), **order)
        if free:
            got, _ = by_thread(queue, queue.dequeue)
        else:
            with turn():
                got = drain(queue.dequeue)
        assert got == everything[:5][index::count] + everything[5:][index::count]


@pytest.mark.parametrize(
    ("shard", "error", "text"),
    [
        ((0, 6), ValueError, "shard=(0, 6): there are only 5 strings, fewer than hosts"),
        ((2, 2), ValueError, "shard must be (index, count) with 0 <= index < count, not (2, 2)"),
        ((-1, 2), ValueError, "shard must be (index, count) with 0 <= index < count"),
        ((0, 0), ValueError, "shard must be (index, count) with 0 <= index < count"),
        (3, TypeError, "shard must be (index, count), such as (0, 8), not 3"),
        ((0.5, 2), TypeError, ""),
    ],
)
def test_shards_that_are_none(shard, error, text):
    with raises(error, text):
        names(shard=shard)


# Slices.

ARRAYS = [np.arange(5) * 10, np.array(["a", "b", "c", "d", "e"])]


def slices(**options):
    return pipeline.slice_input_producer(ARRAYS, **options)


@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_slices_every_position_can_be_gone_to(order):
    def make():
        return slices(num_epochs=2, **order)

    first = make()
    with turn():
        everything = drain(first)
    expected, _ = by_thread(*(lambda source: (source.queue, source))(make()))
    assert plain(everything) == plain(expected)
    for place in range(11):
        there, blocks = make(), make()
        with turn(Book({there.name: [place]})):
            assert plain(drain(there)) == plain(everything[place:])
        with turn(Book({blocks.name: [place]})):
            assert plain(drain(lambda source=blocks: source.block(3)[0].tolist())) == [
                [example[0] for example in everything[begin : begin + 3]] for begin in range(place, 10, 3)
            ]


def test_slices_are_one_pull_and_belong_to_one_loop():
    source, book = slices(**PLAIN), Book()
    with turn(book) as mine:
        source()
        source.block(2)
        assert [np.asarray(part).tolist() for part in source.rows(1)] == [[30], [b"d"]]
    assert (mine.pulls, source._position()) == (3, [4])
    for call in (source, lambda: source.rows(1), lambda: source.queue.block(1)):
        with raises(FailedPreconditionError, "'input_producer' belongs to an iterator whose order is fixed"):
            call()


def test_slices_a_row_that_an_array_does_not_have():
    def make():
        return pipeline.slice_input_producer([np.arange(6), np.arange(4)], num_epochs=2, shuffle=False)

    def take(source):
        try:
            return source.block(3)[0].tolist()
        except InvalidArgumentError as error:
            return str(error)
        except OutOfRangeError:
            return None

    source = make()
    with turn():
        seen = [(source._position(), take(source)) for _ in range(9)]
    missing = ["indices = 4 is not in [0, 4)", "indices = 5 is not in [0, 4)"]
    assert [what for _, what in seen[:8]] == [[0, 1, 2], [3], *missing, [0, 1, 2], [3], *missing]
    assert seen[8] == ([12], None)
    for place, what in seen:
        source = make()
        with turn(Book({source.name: place})):
            assert take(source) == what


def test_slices_facts():
    source = slices(num_epochs=2, **SEEDED)
    facts = source._facts()
    assert (facts["kind"], facts["rows"], facts["seeds"]) == ("slice_input_producer", 5, [87654321, 7])
    other = pipeline.slice_input_producer([ARRAYS[0], np.array(["a", "b", "c", "d", "f"])])
    assert other._facts()["digest"] != facts["digest"]
    assert slices()._facts()["digest"] == facts["digest"]
