"""The short way of single examples into the queue: faster, and in no other way different."""

import itertools
import queue
import threading
import zlib

import numpy as np
import pytest
from helpers import run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import Coordinator, OutOfRangeError, TextLineReader, batch, batch_join
from pipeline.explain.frames import whereabouts


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def as_callable(items):
    return iter(items).__next__


KINDS = pytest.mark.parametrize("kind", [iter, as_callable])


@KINDS
@pytest.mark.parametrize("dynamic_pad", [False, True])
def test_each_example_is_there_before_the_next_one_is_asked_for(kind, dynamic_pad):
    """A source that gives an example only when the one before has come out."""
    taken = threading.Semaphore(1)

    def examples():
        for i in range(20):
            assert taken.acquire(timeout=30)
            yield np.array([i])

    got = []
    with batch(kind(examples()), 1, dynamic_pad=dynamic_pad) as batches:
        for value in batches:
            got += value.tolist()
            taken.release()
    assert got == [[i] for i in range(20)]


@KINDS
def test_a_batch_that_waits_gets_an_example_as_soon_as_it_is_there(kind):
    go = threading.Event()

    def examples():
        yield from range(3)
        go.wait(30)

    batches = batch(kind(examples()), 4, allow_smaller_final_batch=True)
    call = run_in_thread(list, batches)
    wait_until(lambda: batches.queue is not None and batches.queue.stats().enqueued == 3, "three examples")
    wait_blocked(batches.queue, dequeues=1)
    go.set()
    assert [value.tolist() for value in call.result()] == [[0, 1, 2]]


@KINDS
def test_a_source_is_not_asked_again_after_it_has_asked_for_a_stop(kind):
    coord, asked = Coordinator(), []

    def examples():
        for i in range(1000):
            asked.append(i)
            if i == 5:
                coord.request_stop()
            yield i

    with batch(kind(examples()), 1, capacity=1000, coord=coord) as batches:
        assert next(batches).tolist() == [0]
        coord.join()
    assert asked == list(range(6))


@pytest.mark.parametrize("threads", [0, 2, 5])
def test_the_thread_that_has_an_iterator_keeps_it_so_that_the_order_stays(threads):
    def examples():
        for i in range(500):
            zlib.crc32(bytes(100_000))  # releases the GIL
            yield i

    with batch(examples(), 10, num_threads=threads, capacity=20) as batches:
        assert np.concatenate(list(batches)).tolist() == list(range(500))


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_an_error_of_an_iterator_comes_after_the_examples_before_it(threads):
    asked = itertools.count()

    class Failing:
        def __iter__(self):
            return self

        def __next__(self):
            if next(asked) < 9:
                return 1
            raise ValueError("the tenth")

    got = []
    with pytest.raises(ValueError, match="the tenth"):
        got.extend(batch(Failing(), 1, num_threads=threads))
    assert got == [1] * 9


@pytest.mark.parametrize(("threads", "size"), [(0, 1), (0, 3), (1, 1)])
def test_an_error_names_the_record_it_is_about_and_no_earlier_one(tmp_path, threads, size):
    (tmp_path / "f").write_bytes(b"1\n2\n3\nx\n")
    files = pipeline.string_input_producer([tmp_path / "f"], num_epochs=1)
    reader = TextLineReader()

    def examples():
        for _ in range(2):
            yield int(reader.read(files).value)
        raise KeyError("of no record")

    batches = batch(examples(), size, num_threads=threads)
    with pytest.raises(KeyError, match="of no record"):
        list(batches)
    with pytest.raises(OutOfRangeError, match=r"KeyError: 'of no record'$"):
        batches.queue.dequeue_many(size)
    batches = batch(lambda: int(reader.read(files).value), size, num_threads=threads)
    with pytest.raises(ValueError, match="invalid literal"):
        list(batches)
    with pytest.raises(OutOfRangeError, match=r"ValueError: invalid literal .* \(record '.*f:4'\)$"):
        batches.queue.dequeue_many(size)


def test_an_error_after_many_examples_names_no_record_of_another_one(tmp_path):
    """Examples that take no time are moved many at once, until one is made of a record."""
    (tmp_path / "f").write_bytes(b"1\n")
    files = pipeline.string_input_producer([tmp_path / "f"], num_epochs=1)
    reader = TextLineReader()

    def examples():
        yield from range(1000)
        yield int(reader.read(files).value)
        raise KeyError("of no record")

    batches = batch(examples(), 1, capacity=2000)
    with pytest.raises(KeyError, match="of no record"):
        list(batches)
    with pytest.raises(OutOfRangeError, match=r"KeyError: 'of no record'$"):
        batches.queue.dequeue()


def test_a_loop_that_is_left_asks_for_no_more_than_the_example_on_its_way():
    """Though the examples before took no time and were moved many at once."""
    go, asked = threading.Semaphore(0), []

    def examples():
        yield from range(3000)
        for i in itertools.count(3000):
            asked.append(i)
            assert go.acquire(timeout=30)
            yield i

    batches = batch(examples(), 1, capacity=5000)
    next(batches)
    wait_until(lambda: asked, "the first slow example")
    closed = run_in_thread(batches.close)
    wait_until(batches.queue.is_closed, "the end of the queue")
    go.release()
    closed.result()
    assert asked == [3000]


def test_a_thread_that_waits_in_its_source_is_not_said_to_wait_for_room():
    """It waited for room before, in the same call of compiled code."""
    given = queue.SimpleQueue()
    for i in range(50):
        given.put(i)
    with batch(iter(given.get, None), 5, capacity=10) as batches:
        next(batches)
        wait_blocked(batches.queue, enqueues=1)
        (loader,) = (each for each in threading.enumerate() if each.name.endswith("batch-callable_iterator"))
        assert whereabouts(loader).endswith("is blocked in enqueue of FIFOQueue 'batch'")
        call = run_in_thread(list, batches)
        wait_blocked(batches.queue, dequeues=1)
        assert "blocked in enqueue" not in whereabouts(loader)
        given.put(None)
        call.result()


@pytest.mark.parametrize("num_threads", [0, 1])
class TestArrays:
    """Arrays of varying shape that a source keeps are copied; those that it gives away are not."""

    @KINDS
    def test_that_the_source_changes_afterwards(self, kind, num_threads):
        def examples():
            array = np.zeros(3, np.int64)
            for i in range(50):
                array[:] = i
                yield array

        with batch(kind(examples()), 50, capacity=50, dynamic_pad=True, num_threads=num_threads) as batches:
            [got] = batches
        assert got.tolist() == [[i] * 3 for i in range(50)]

    @KINDS
    def test_that_are_views_of_what_the_source_changes(self, kind, num_threads):
        def examples():
            array = np.zeros(9, np.int64)
            for i in range(50):
                array[:] = i
                yield array[: i % 5]

        with batch(kind(examples()), 50, capacity=50, dynamic_pad=True, num_threads=num_threads) as batches:
            [got] = batches
        assert got.tolist() == [[i] * (i % 5) + [0] * (4 - i % 5) for i in range(50)]

    @KINDS
    def test_that_nobody_keeps(self, kind, num_threads):
        examples = (np.full(i % 5, i) for i in range(50))
        with batch(kind(examples), 50, capacity=50, dynamic_pad=True, num_threads=num_threads) as batches:
            [got] = batches
        assert got.tolist() == [[i] * (i % 5) + [0] * (4 - i % 5) for i in range(50)]

    def test_tuples_of_one(self, num_threads):
        examples = [(np.arange(i),) for i in range(4)]
        with batch(examples, 4, dynamic_pad=True, num_threads=num_threads) as batches:
            [got] = batches
        assert got.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]
        assert [len(array) for (array,) in examples] == [0, 1, 2, 3]

    def test_that_do_not_fit_come_after_those_before(self, num_threads):
        rows = iter([np.zeros(2), np.zeros(3), np.zeros((2, 2)), np.zeros(1)])
        batches = batch(rows, 1, dynamic_pad=True, num_threads=num_threads)
        assert next(batches).tolist() == [[0, 0]]
        assert next(batches).tolist() == [[0, 0, 0]]
        with pytest.raises(pipeline.InvalidArgumentError, match=r"\(2, 2\)|\[2,2\]|\[2, 2\]"):
            next(batches)


@pytest.mark.parametrize("example", [7, 1.5, b"x", np.float32(2), np.arange(3), (1, 2.0), [b"a", 1], {"k": 1}])
def test_every_form_of_example(example):
    for make in (lambda items: batch(items, 3), lambda items: batch_join([items, items], 6)):
        with make([example] * 3) as batches:
            [got] = batches
        with batch(source([example] * len(_first(got))), len(_first(got)), on_error="skip") as batches:
            [expected] = batches  # one by one
        assert repr(got) == repr(expected)


def _first(batch):
    if isinstance(batch, dict):
        return batch["k"]
    return batch[0] if isinstance(batch, (list, tuple)) else batch


def ragged_rows(count):
    return [np.full(1 + i % 3, i, np.float32) for i in range(count)]


@pytest.mark.parametrize("size", [1, 3, 4])
def test_rows_of_a_list_that_are_not_copied_on_the_way_are_copied_into_the_batch(size):
    """Without threads they lie in the queue as they are."""
    rows = ragged_rows(12)
    copies = [row.copy() for row in rows]
    got = []
    for padded in batch(rows, size, dynamic_pad=True, num_threads=0):
        got += [padded]
        for row in rows:
            row[:] = -1
            assert not np.shares_memory(row, padded)
        for row, copy in zip(rows, copies, strict=True):
            row[:] = copy
    assert [row[: len(copy)].tolist() for row, copy in zip(np.concatenate([*map(wide, got)]), copies, strict=True)] == [
        copy.tolist() for copy in copies
    ]


def wide(padded):
    return np.pad(padded, ((0, 0), (0, 3 - padded.shape[1])))


@pytest.mark.parametrize("kind", [list, tuple])
def test_rows_of_a_list_that_wait_in_a_pool_are_the_queues_own(kind):
    rows = kind(ragged_rows(12))
    batches = pipeline.shuffle_batch(rows, 3, 20, 9, num_threads=0, dynamic_pad=True, seed=1)
    got = next(batches)[:, 0].tolist()
    for row in rows:
        row[:] = -1
    got += [value for padded in batches for value in padded[:, 0].tolist()]
    assert sorted(got) == list(range(12))


def test_a_generator_may_fill_one_array_again_and_again():
    def examples():
        row = np.zeros(2, np.float32)
        for i in range(6):
            row[:] = i
            yield row

    padded = list(batch(examples(), 3, dynamic_pad=True, num_threads=0))
    assert [each[:, 0].tolist() for each in padded] == [[0, 1, 2], [3, 4, 5]]
