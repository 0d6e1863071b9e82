"""Blocks with rows held by reference: rows from immutable arrays and from arrays given away."""

import gc
import sys

import numpy as np
import pytest
from helpers import run_in_thread, start_blocked

from pipeline import (
    CancelledError,
    DeadlineExceededError,
    FIFOQueue,
    PriorityQueue,
    RandomShuffleQueue,
    batch,
    freeze,
    shuffle_batch,
    slice_input_producer,
)
from pipeline.queues.rows import Rows

LARGE, SMALL = 2048, 64  # bytes per row
counted = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="references are not counted")


def rows(n, size=LARGE):
    """Row i is full of i % 251."""
    return np.repeat(np.arange(n) % 251, size).astype(np.uint8).reshape(n, size).copy()


def frozen(n, size=LARGE):
    array = rows(n, size)
    array.flags.writeable = False
    return array


def queue_of(kind, size=LARGE, capacity=-1):
    if kind == "shuffle":
        return RandomShuffleQueue(capacity, 0, "uint8", shapes=[(size,)], seed=1)
    return FIFOQueue(capacity, "uint8", shapes=[(size,)])


def references(array):
    gc.collect()
    return sys.getrefcount(array) - 2


@pytest.mark.parametrize("kind", ["fifo", "shuffle"])
class TestFrozen:
    @counted
    def test_is_held_until_its_rows_are_out(self, kind):
        queue, array = queue_of(kind), frozen(10)
        before = references(array)
        queue.enqueue_many([array])
        assert references(array) == before + 10
        queue.dequeue_many(4)
        assert references(array) == before + 6
        queue.dequeue()
        assert references(array) == before + 5
        del queue
        assert references(array) == before

    def test_all_rows_come_out(self, kind):
        queue = queue_of(kind)
        queue.enqueue_many([frozen(300)[10:250]])
        out = queue.dequeue_many(240)
        assert (out == out[:, :1]).all()
        assert sorted(out[:, 0].tolist()) == sorted(i % 251 for i in range(10, 250))

    def test_what_comes_out_is_the_callers_own(self, kind):
        queue, array = queue_of(kind), frozen(10)
        queue.enqueue_many([array])
        for out in (queue.dequeue_many(4), queue.dequeue(), queue.dequeue_up_to(5)):
            out[...] = 255
        assert np.array_equal(array, rows(10))

    def test_with_rows_that_are_copied(self, kind):
        queue = queue_of(kind)
        held, copied = frozen(100), rows(100)
        for i in range(0, 100, 10):
            queue.enqueue_many([held[i : i + 5]])
            queue.enqueue_many([copied[i + 5 : i + 10]])
        copied[...] = 255
        assert sorted(queue.dequeue_many(100)[:, 0].tolist()) == list(range(100))

    def test_timeout_puts_back(self, kind):
        queue = queue_of(kind)
        queue.enqueue_many([frozen(5)])
        with pytest.raises(DeadlineExceededError):
            queue.dequeue_many(6, timeout=0)
        assert sorted(queue.dequeue_many(5)[:, 0].tolist()) == [0, 1, 2, 3, 4]

    @counted
    def test_cancelled_enqueue_lets_go(self, kind):
        queue, array = queue_of(kind, capacity=4), frozen(10)
        before = references(array)
        call = start_blocked(queue, "enqueue_many", [array])
        queue.close(cancel_pending_enqueues=True)
        with pytest.raises(CancelledError):
            call.result()
        del call
        assert references(array) == before + 4
        assert len(queue.dequeue_up_to(9)) == 4
        assert references(array) == before

    @counted
    def test_growing_and_shrinking(self, kind):
        queue, array = queue_of(kind), frozen(5000)
        before = references(array)
        for _ in range(3):
            queue.enqueue_many([array])
            queue.enqueue_many([array])
            out = queue.dequeue_many(10000)
            assert np.bincount(out[:, 0], minlength=251).tolist() == (2 * np.bincount(array[:, 0])).tolist()
            assert references(array) == before


@pytest.mark.parametrize("kind", ["fifo", "shuffle"])
def test_threads(kind):
    """Held and copied rows from many threads come out unchanged, each once."""
    queue, array = queue_of(kind, capacity=300), frozen(200)

    def put(thread):
        for begin in range(0, 200, 10):
            part = array[begin : begin + 10]
            if thread == 0:
                queue.enqueue_many([part])
            elif thread == 1:
                queue.enqueue_many([part.copy()])
            else:
                queue.enqueue_many([Rows(array, np.arange(begin, begin + 10))])

    def take():
        return np.concatenate([queue.dequeue_many(n) for n in [1, 30, 19] * 6])

    calls = [run_in_thread(put, thread) for thread in range(3)]
    out = np.concatenate([each.result() for each in [run_in_thread(take) for _ in range(2)]])
    for call in calls:
        call.result()
    assert (out == out[:, :1]).all()
    assert np.bincount(out[:, 0]).tolist() == [3] * 200


def test_by_priority():
    queue = PriorityQueue(-1, "uint8", shapes=[(LARGE,)])
    queue.enqueue_many([np.arange(20)[::-1].copy(), frozen(20)])
    assert queue.dequeue_many(20)[1][:, 0].tolist() == list(range(19, -1, -1))


def test_several_components():
    queue = FIFOQueue(-1, ["uint8", "int32", "uint8"], shapes=[(LARGE,), (), (SMALL,)])
    queue.enqueue_many([frozen(10), np.arange(10, dtype=np.int32), frozen(10, SMALL)])
    large, number, small = queue.dequeue_many(10)
    assert large[:, 0].tolist() == number.tolist() == small[:, -1].tolist() == list(range(10))


def in_mapped_file(path):
    np.save(path / "rows.npy", rows(10))
    return np.load(path / "rows.npy", mmap_mode="r")


def view_of_writable(_):
    view = rows(10)[:]
    view.flags.writeable = False
    return view


def in_foreign_memory(_):
    array = np.frombuffer(bytearray(rows(10).tobytes()), np.uint8).reshape(10, LARGE)
    array.flags.writeable = False
    return array


@counted
@pytest.mark.parametrize("make", [in_mapped_file, view_of_writable, in_foreign_memory, lambda _: frozen(10, SMALL)])
def test_others_are_copied(make, tmp_path):
    """Arrays are copied if others may still write to them, if a disk would be read too late, or if they are small."""
    array = make(tmp_path)
    queue = queue_of("fifo", array.shape[1])
    before = references(array)
    queue.enqueue_many([array])
    assert references(array) == before
    assert queue.dequeue_many(10)[:, 0].tolist() == list(range(10))


@counted
@pytest.mark.parametrize("make", ["loaded", "reshaped", "sliced"])
def test_frozen_views(make, tmp_path):
    """Results from np.load and reshape are views on the memory's owner."""
    np.save(tmp_path / "rows.npy", rows(10))
    array = freeze(np.load(tmp_path / "rows.npy") if make == "loaded" else rows(10).reshape(-1).reshape(10, -1))
    part = array[2:8] if make == "sliced" else array
    queue = queue_of("fifo")
    before = references(part)
    queue.enqueue_many([part])
    assert references(part) == before + len(part)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_only_arrays_freeze():
    with pytest.raises(TypeError, match="freeze: expected an array, got list"):
        freeze([1, 2])


def test_a_writable_array_may_change_after_the_call():
    queue, array = queue_of("fifo"), rows(10)
    queue.enqueue_many([array])
    array[...] = 255
    assert queue.dequeue_many(10)[:, 0].tolist() == list(range(10))


class TestBlocks:
    def test_a_source_that_uses_its_array_again(self):
        block, count = rows(4), iter(range(6))

        def source():
            block[...] = next(count)
            return [block]

        with batch(source, 4, capacity=32, enqueue_many=True) as batches:
            assert [each[:, 0].tolist() for each in batches] == [[i] * 4 for i in range(6)]

    @pytest.mark.parametrize(
        "container",
        [lambda block: block, lambda block: [block], lambda block: {"block": block}],
        ids=["array", "list", "dict"],
    )
    def test_batches_of_them(self, container):
        def source():
            for i in range(6):
                yield container(np.full((4, LARGE), i, np.uint8))

        with batch(source(), 4, enqueue_many=True) as batches:
            got = [each["block"] if isinstance(each, dict) else each for each in batches]
        assert [each[0, 0] for each in got] == list(range(6))
        assert all((each == each[0, 0]).all() for each in got)


@pytest.mark.parametrize("size", [1, 8, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 512, 513, 1000])
def test_small_rows_come_out_of_a_pool_whole(size):
    """Some row sizes take a few processor moves, and some are prefetched."""
    block = np.random.default_rng(size).integers(0, 256, (300, size), np.uint8)
    queue = queue_of("shuffle", size)
    queue.enqueue_many([block[:100]])
    queue.enqueue_many([Rows(block, np.arange(299, 99, -1))])
    out = np.concatenate([queue.dequeue_many(n) for n in (1, 7, 292)])
    assert sorted(map(bytes, out)) == sorted(map(bytes, block))


@pytest.mark.parametrize("size", [LARGE, SMALL, 4, 8, 16])
class TestRows:
    """Rows by index, large ones held and small ones copied, some by a single processor move."""

    def test_in_any_order_and_again(self, size):
        queue, numbers = queue_of("fifo", size), np.array([3, 3, 0, 9, 1])
        queue.enqueue_many([Rows(rows(10, size), numbers)])
        assert queue.dequeue_many(5)[:, -1].tolist() == numbers.tolist()

    def test_in_pieces(self, size):
        """More rows than the engine takes at a time."""
        queue, array = queue_of("fifo", size), rows(10, size)
        numbers = np.arange(70_000) % 10
        call = run_in_thread(lambda: queue.enqueue_many([Rows(array, numbers)]))
        for begin in range(0, 70_000, 7000):
            assert np.array_equal(queue.dequeue_many(7000)[:, 0], numbers[begin : begin + 7000])
        call.result()

    def test_is_an_array_to_others(self, size):
        some = Rows(rows(10, size), [2, 4])
        assert (some.dtype, some.shape, len(some)) == (np.uint8, (2, size), 2)
        assert np.array_equal(np.asarray(some), rows(10, size)[[2, 4]])
        assert np.asarray(some, np.int64).dtype == np.int64

    def test_of_another_dtype_are_converted(self, size):
        queue = FIFOQueue(-1, "float32", shapes=[(size,)])
        queue.enqueue_many([Rows(rows(10, size).astype(np.float64), [2, 4])])
        assert queue.dequeue_many(2)[:, 0].tolist() == [2, 4]

    @pytest.mark.parametrize("number", [10, -11, 2**62])
    def test_numbers_out_of_range_store_nothing(self, size, number):
        queue = queue_of("fifo", size)
        with pytest.raises(IndexError):
            queue.enqueue_many([Rows(rows(10, size), [0, number])])
        assert queue.size() == 0

    @pytest.mark.parametrize("function", [batch, shuffle_batch])
    def test_of_a_slice_input_producer(self, size, function):
        numbers = np.arange(50, dtype=np.int32)
        source = slice_input_producer([rows(50, size), numbers], num_epochs=2, seed=1, collection=[])
        with function(
            source, 10, **({} if function is batch else {"capacity": 40, "min_after_dequeue": 20})
        ) as batches:
            got = [pair for images, labels in batches for pair in zip(images[:, 0], labels, strict=True)]
        assert sorted(got) == sorted((i, i) for i in [*range(50), *range(50)])


def test_rows_of_strings_of_length_0():
    """NumPy's `take` reads past their end."""
    empty = np.zeros(64, [("text", "S0")])["text"]
    queue = FIFOQueue(100, bytes, [()])
    queue.enqueue_many(Rows(freeze(empty), np.arange(50)))
    assert set(queue.dequeue_many(50).tolist()) == {b""}
