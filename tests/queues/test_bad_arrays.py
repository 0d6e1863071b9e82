"""Unusual arrays and lists: strides, byte orders, addresses, extreme sizes, changes during the call."""

import threading

import numpy as np
import pytest

import pipeline
from pipeline.errors import DeadlineExceededError, InvalidArgumentError

KINDS = {
    "FIFOQueue": lambda capacity, dtype, shape: pipeline.FIFOQueue(capacity, dtype, [shape]),
    "RandomShuffleQueue": lambda capacity, dtype, shape: pipeline.RandomShuffleQueue(
        capacity, 0, dtype, [shape], seed=1
    ),
    "PaddingFIFOQueue": lambda capacity, dtype, shape: pipeline.PaddingFIFOQueue(capacity, dtype, [shape]),
    "PriorityQueue": lambda capacity, dtype, shape: pipeline.PriorityQueue(capacity, dtype, [shape]),
}
EDGES = [2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -1, -(2**31), -(2**63)]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def put_one(queue, value):
    queue.enqueue((0, value) if isinstance(queue, pipeline.PriorityQueue) else (value,))


def put_many(queue, rows, count):
    queue.enqueue_many((np.arange(count), rows) if isinstance(queue, pipeline.PriorityQueue) else (rows,))


def take_many(queue, count, **kwargs):
    taken = queue.dequeue_many(count, **kwargs)
    return taken[1] if isinstance(queue, pipeline.PriorityQueue) else taken


def unaligned(array):
    raw = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    assert not raw.flags.aligned or array.dtype.itemsize == 1
    return raw


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


FORMS = {
    "negative strides": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "rows backwards": lambda a: a[::-1].copy()[::-1],
    "columns of a larger one": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "column by column": np.asfortranarray,
    "zero strides": lambda a: np.broadcast_to(a[:1], a.shape),
    "overlapping rows": lambda a: np.lib.stride_tricks.sliding_window_view(
        np.arange(len(a) + a.shape[1] - 1), a.shape[1]
    ).astype(a.dtype),
    "overlapping views": lambda a: np.lib.stride_tricks.sliding_window_view(
        np.arange(len(a) + a.shape[1] - 1).astype(a.dtype), a.shape[1]
    ),
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": unaligned,
    "read-only": read_only,
    "a matrix": lambda a: np.ma.array(a),
    "a field": lambda a: np.array([tuple(row[:1]) for row in a], [("x", a.dtype)])["x"][:, None].repeat(a.shape[1], 1),
    "no rows": lambda a: a[:0],
    "memoryview": lambda a: memoryview(a),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "complex128"])
@pytest.mark.parametrize("form", FORMS)
def test_arrays_of_any_form(kind, form, dtype):
    array = FORMS[form](np.arange(60).reshape(12, 5).astype(dtype))
    expected = np.array(array)
    queue = KINDS[kind](64, dtype, (5,))
    put_many(queue, array, len(expected))
    for row in array if form != "memoryview" else expected:
        put_one(queue, row)
    taken = take_many(queue, 2 * len(expected))
    both = np.concatenate([expected, expected])
    if kind in ("RandomShuffleQueue", "PriorityQueue"):
        taken, both = (sorted(map(tuple, part)) for part in (taken, both))
    np.testing.assert_array_equal(taken, both)
    assert np.asarray(taken).dtype.isnative


@pytest.mark.parametrize("shape", [(0,), (0, 7), (3, 0), (0, 2**40)])
def test_rows_without_anything_in_them(kind, shape):
    queue = KINDS[kind](1000, "float32", shape)
    put_many(queue, np.zeros((700, *shape), np.float32), 700)
    put_one(queue, np.zeros(shape, np.float32))
    assert queue.size() == 701
    assert take_many(queue, 701).shape == (701, *shape)


@pytest.mark.parametrize("number", EDGES)
def test_counts_at_the_edge(kind, number):
    queue = KINDS[kind](4, "int32", ())
    put_one(queue, 7)
    for method in (queue.dequeue_many, queue.dequeue_up_to):
        if 0 <= number < 2**31:
            with pytest.raises(DeadlineExceededError):
                method(number, timeout=0.001)
        else:
            with pytest.raises(InvalidArgumentError):
                method(number, timeout=0.001)
    assert take_many(queue, 1).tolist() == [7]


@pytest.mark.parametrize("number", EDGES)
def test_capacities_and_sizes_at_the_edge(kind, number):
    if number < 2**31:  # all negative numbers mean no bound
        queue = KINDS[kind](number, "int32", ())
        put_one(queue, 7)
        assert take_many(queue, 1).tolist() == [7]
    else:
        with pytest.raises(InvalidArgumentError, match="capacity"):
            KINDS[kind](number, "int32", ())
    if 0 <= number < 2**60:
        queue = KINDS[kind](2, "int32", (number,))
        with pytest.raises(DeadlineExceededError):
            queue.dequeue_many(2, timeout=0.001)
    else:
        with pytest.raises(ValueError, match="dimension"):
            KINDS[kind](2, "int32", (number,))


def test_arrays_that_are_larger_than_memory(kind):
    """Views with zero strides have any size; copying a huge one is a MemoryError without other effects."""
    queue = KINDS[kind](4, "uint8", ())
    huge = np.broadcast_to(np.uint8(1), (2**60,))
    for _ in range(3):
        with pytest.raises((MemoryError, InvalidArgumentError)):
            put_many(queue, huge, 3)
    put_many(queue, np.arange(4, dtype=np.uint8), 4)
    assert sorted(take_many(queue, 4).tolist()) == [0, 1, 2, 3]


class Meddler:
    """A number whose conversion changes the list that holds it."""

    def __init__(self, action):
        self._action = action

    def __float__(self):
        self._action()
        return 1.0

    __index__ = __int__ = lambda self: int(float(self))


class MeddlingArray(Meddler):
    def __array__(self, dtype=None, copy=None):
        return np.array(float(self), dtype)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "string", "object", None])
@pytest.mark.parametrize("place", [0, 1, 500, 999])
@pytest.mark.parametrize("made", [Meddler, MeddlingArray])
def test_lists_that_become_shorter_while_they_are_read(made, place, dtype):
    """NumPy by itself may end the process."""
    plain = b"x" if dtype == "string" else 1
    values = [plain] * 1000

    def meddle():
        values.clear()
        values.extend([plain] * 5)

    values[place] = made(meddle)
    queue = pipeline.FIFOQueue(2000, dtype, None if dtype is None else [()])
    try:
        queue.enqueue_many((values,))
    except (TypeError, ValueError):
        assert queue.size() == 0
    else:
        assert queue.size() in (5, 1000)


@pytest.mark.parametrize("function", [pipeline.stack, pipeline.pad, pipeline.concatenate, pipeline.collate])
def test_lists_of_arrays_that_become_shorter(function):
    values = [np.zeros(3) for _ in range(100)]
    values[3] = MeddlingArray(values.clear)
    with pytest.raises((TypeError, ValueError)):
        function(values)


@pytest.mark.parametrize("size", [4, 20_000, 2_000_000])
def test_arrays_that_another_thread_changes(kind, size):
    """Any of the values may come out, but no other."""
    array = np.zeros((4, size // 4), np.int32)
    queue = KINDS[kind](64, "int32", (size // 4,))
    done, changes = threading.Event(), [0]

    def change():
        while not done.is_set():
            changes[0] += 1
            array.fill(changes[0] % 100)
            array.resize((4, size // 4), refcheck=False)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            put_many(queue, array, 4)
            put_one(queue, array[0])
            taken = take_many(queue, 5)
            assert taken.shape == (5, size // 4)
            assert 0 <= taken.min() <= taken.max() < 100
    finally:
        done.set()
        thread.join()


def test_lists_that_another_thread_changes():
    values = [1.0] * 1000
    queue = pipeline.FIFOQueue(-1, "float32", [()])
    done = threading.Event()

    def change():
        while not done.is_set():
            del values[500:]
            values.extend([2.0] * 500)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(500):
            queue.enqueue_many((values,))
            taken = queue.dequeue_many(queue.size())
            assert 500 <= len(taken) <= 1000
            assert set(taken.tolist()) <= {1.0, 2.0}
    finally:
        done.set()
        thread.join()
