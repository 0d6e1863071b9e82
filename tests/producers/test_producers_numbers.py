"""Producers' elements by index: in iterators, without thread and queue; shards of hosts; states.

In a function called by an iterator, producers compute their elements.
"""

import hashlib
import itertools
import json

import numpy as np
import pytest
from helpers import plain, raises
from orchestration import drain, fresh_collection, no_thread_left, threads_since

import pipeline
from pipeline import Coordinator, InvalidArgumentError, OutOfRangeError
from pipeline._random import permutation  # TensorFlow's order for a shuffle

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


def within(body):
    """Call a function within an iterator's `next` and return its result."""
    return next(iter(pipeline.dataset(lambda: (body(),))))[0]


def ended(take):
    with pytest.raises(OutOfRangeError) as end:
        take()
    return end.value


def by_thread(queue, take):
    """Return the elements that `take` gets from the producer's thread, and the error at the end."""
    coord = Coordinator()
    threads = queue.runner.create_threads(coord=coord, daemon=True, start=True)
    got = drain(take)
    end = ended(take)
    coord.request_stop()
    coord.join(threads)
    return got, end


@pytest.mark.parametrize("make", [names, numbers, rows, texts, things])
@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_elements_are_those_of_the_queue(make, order):
    options = {"num_epochs": 3, **order}
    queue = make(**options)
    expected, end = by_thread(queue, queue.dequeue)
    queue = make(**options)
    begun = threads_since()
    got, computed = within(lambda: (drain(queue.dequeue), ended(queue.dequeue)))
    assert plain(got) == plain(expected)
    assert list(map(type, got)) == list(map(type, expected))
    assert str(computed) == str(end)
    assert computed.end == end.end
    assert computed.end.epochs == 3
    assert not begun()


@pytest.mark.parametrize("make", [names, rows, things])
def test_blocks_go_on_over_epochs_and_are_those_of_the_queue(make):
    options = {"num_epochs": 3, "capacity": 100, **SEEDED}
    queue = make(**options)
    expected, _ = by_thread(queue, lambda: queue.dequeue_up_to(4))
    for call in ("block", "dequeue_up_to"):
        queue = make(**options)
        got = within(lambda queue=queue, call=call: drain(lambda: getattr(queue, call)(4)))
        assert plain(got) == plain(expected)
        assert [each.dtype for each in got] == [each.dtype for each in expected]


def test_order_of_an_epoch_is_a_permutation_with_the_words_of_that_epoch():
    got = list(pipeline.dataset(numbers(num_epochs=4, **SEEDED)))
    orders = [permutation(87654321, 7, epoch, 5).tolist() for epoch in range(4)]  # 4 words, one block, an epoch
    assert got == list(itertools.chain(*orders))


def test_many_over_the_end_take_nothing():
    queue = numbers(num_epochs=1, **PLAIN)

    def body():
        assert queue.dequeue_many(3).tolist() == [0, 1, 2]
        with raises(OutOfRangeError, "FIFOQueue 'input_producer' is closed and has insufficient elements (requested 3"):
            queue.dequeue_many(3)
        assert queue.progress() == (3, 5, 5)
        assert queue.dequeue_up_to(3).tolist() == [3, 4]
        for call in (queue.dequeue_many, queue.dequeue_up_to, queue.block):
            with pytest.raises(OutOfRangeError):
                call(1)
        assert queue.dequeue_many(0).shape == queue.dequeue_up_to(0).shape == (0,)

    within(body)


def test_out_gets_the_rows_and_an_array_that_does_not_fit_changes_nothing():
    queue = rows(num_epochs=1, **PLAIN)

    def body():
        out = np.zeros((3, 2))
        with pytest.raises(ValueError, match="out must be"):
            queue.dequeue_many(2, out=np.zeros((2, 3)))
        assert queue.progress() == (0, 5, 5)
        assert queue.dequeue_many(2, out=out[:2]).tolist() == [[0, 1], [2, 3]]
        assert out.tolist() == [[0, 1], [2, 3], [0, 0]]
        with pytest.raises(InvalidArgumentError):
            queue.dequeue_many(-1)
        with pytest.raises(ValueError, match="at least 1 row"):
            queue.block(0)
        assert queue.dequeue().tolist() == [4, 5]

    within(body)


def test_single_elements_and_blocks_continue_after_each_other():
    """Single ones are made ready by the hundred."""
    queue = pipeline.range_input_producer(1000, num_epochs=1, shuffle=False)

    def body():
        assert [queue.dequeue() for _ in range(300)] == list(range(300))
        assert queue.dequeue_many(3).tolist() == [300, 301, 302]
        assert (queue.dequeue(), queue.block(2).tolist(), queue.dequeue()) == (303, [304, 305], 306)
        assert (queue.progress()[0], queue.stats().dequeued) == (307, 307)

    within(body)


def test_an_input_without_rows_says_so():
    queue = pipeline.input_producer(np.zeros((0, 2)), num_epochs=2)
    end = within(lambda: ended(queue.dequeue))
    assert "the input of 'input_producer' has no rows" in str(end)
    assert end.end.why == "the input of 'input_producer' has no rows"


@pytest.mark.parametrize("make", [names, numbers, rows, texts])
@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_every_state_can_be_gone_to(make, order):
    def elements():
        return iter(pipeline.dataset(make(num_epochs=3, **order)))

    with elements() as first:
        states, got = [first.state_dict()], []
        for each in first:
            got.append(each)
            states.append(first.state_dict())
    for i, state in enumerate(states):
        with elements() as there:
            there.load_state_dict(state)
            assert plain(list(there)) == plain(got[i:])


def test_states_of_single_elements_and_of_blocks_are_the_same():
    whole = list(map(int, pipeline.dataset(numbers(num_epochs=3, **SEEDED))))
    with pipeline.batch(numbers(num_epochs=3, **SEEDED), 4, num_threads=0) as batches:
        next(batches)
        state = batches.state_dict()
        rest = next(batches).tolist()
    with pipeline.batch(numbers(num_epochs=3, **SEEDED), 4) as batches:
        batches.load_state_dict(state)
        assert next(batches).tolist() == rest == whole[4:8]


def test_a_number_far_away_is_reached_at_once():
    numbered = numbers(**SEEDED).numbered
    assert numbered.numbers(5 * 10**12 + 2, 1).tolist() == [permutation(87654321, 7, 10**12, 5)[2]]


@pytest.mark.parametrize("number", [11, 10**18])
def test_a_number_that_is_not_there_is_refused(number):
    state = iter(pipeline.dataset(numbers(num_epochs=2))).state_dict()
    state["state"] = [0, number]
    text = json.dumps({key: each for key, each in state.items() if key != "checksum"}, sort_keys=True)
    state["checksum"] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    elements = iter(pipeline.dataset(numbers(num_epochs=2)))
    elements.load_state_dict(state)
    with raises(InvalidArgumentError, "'input_producer' cannot resume at element"):
        next(elements)


def test_statistics_count_what_was_taken_here():
    def elements():
        queue = numbers(num_epochs=3, **SEEDED)
        return queue, iter(pipeline.dataset(queue))

    _, first = elements()
    with first:
        for _ in range(7):
            next(first)
        state = first.state_dict()
    queue, there = elements()
    with there:
        there.load_state_dict(state)
        for _ in range(3):
            next(there)
        assert queue.progress() == (10, 15, 5)
        assert (queue.stats().enqueued, queue.stats().dequeued) == (3, 3)


def test_what_a_thread_gave_before_counts():
    queue = names(num_epochs=2, **PLAIN)
    coord = Coordinator()
    threads = queue.runner.create_threads(coord=coord, daemon=True, start=True)
    assert [queue.dequeue() for _ in range(3)] == [b"a", b"b", b"c"]
    with iter(pipeline.dataset(queue)) as elements:
        assert next(elements) == b"d"
        state = elements.state_dict()
    coord.request_stop()
    coord.join(threads)
    with iter(pipeline.dataset(names(num_epochs=2, **PLAIN))) as elements:
        elements.load_state_dict(state)
        assert list(elements) == [b"e", b"a", b"b", b"c", b"d", b"e"]


def test_states_tell_inputs_apart():
    array = np.arange(4000.0)
    other = array.copy()
    other[0] = 1
    listed = [["a", "b"], ["b", "a"], ["ab", ""], ["a", "b", "c"]]
    made = [lambda each=each: pipeline.string_input_producer(each) for each in listed]
    made += [lambda each=each: pipeline.input_producer(each) for each in (array, other, array[:-1])]
    made += [lambda: pipeline.input_producer(array.reshape(-1, 2))]
    made += [lambda limit=limit: pipeline.range_input_producer(limit) for limit in (3, 4, np.int64(4))]
    made += [lambda: pipeline.slice_input_producer([array, array[::-1]])]
    made += [lambda: pipeline.slice_input_producer([array, other[::-1]])]
    states = [iter(pipeline.dataset(make())).state_dict() for make in made]
    for i, state in enumerate(states):
        for j, make in enumerate(made):
            elements = iter(pipeline.dataset(make()))
            if i == j:
                elements.load_state_dict(state)
            else:
                with pytest.raises(pipeline.StateMismatchError):
                    elements.load_state_dict(state)


@pytest.mark.parametrize("order", [SEEDED, PLAIN])
@pytest.mark.parametrize("threaded", [True, False])
def test_hosts_share_out_each_epoch(order, threaded):
    count = 3
    everything = list(pipeline.dataset(names(num_epochs=2, **order)))
    for index in range(count):
        queue = names(num_epochs=2, shard=(index, count), **order)
        got = by_thread(queue, queue.dequeue)[0] if threaded else list(pipeline.dataset(queue))
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


@pytest.mark.parametrize("order", [SEEDED, PLAIN])
def test_slices_every_state_can_be_gone_to(order):
    def make():
        return pipeline.slice_input_producer(ARRAYS, num_epochs=2, **order)

    expected, _ = by_thread(*(lambda source: (source.queue, source))(make()))
    with iter(pipeline.dataset(make())) as first:
        states, got = [first.state_dict()], []
        for each in first:
            got.append(each)
            states.append(first.state_dict())
    assert plain(got) == plain(expected)
    for i, state in enumerate(states):
        with iter(pipeline.dataset(make())) as there:
            there.load_state_dict(state)
            assert plain(list(there)) == plain(got[i:])
        source = make()
        blocks = within(lambda source=source: drain(lambda: source.block(3)[0].tolist()))
        assert blocks == [[each[0] for each in expected[begin : begin + 3]] for begin in range(0, 10, 3)]


def test_slices_a_row_that_an_array_does_not_have():
    source = pipeline.slice_input_producer([np.arange(6), np.arange(4)], num_epochs=2, shuffle=False)

    def take():
        try:
            return source.block(3)[0].tolist()
        except InvalidArgumentError as error:
            return str(error)
        except OutOfRangeError:
            return None

    missing = ["indices = 4 is not in [0, 4)", "indices = 5 is not in [0, 4)"]
    assert within(lambda: [take() for _ in range(9)]) == [*[[0, 1, 2], [3], *missing] * 2, None]
