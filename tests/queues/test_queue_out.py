"""`out=`: batches into the caller's arrays, checked before any element is taken."""

import numpy as np
import pytest
from helpers import plain, raises, start_blocked

import pipeline
from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError, OutOfRangeError


@pytest.fixture
def queue():
    queue = FIFOQueue(10, np.float32, shapes=(2,))
    queue.enqueue_many([np.arange(6, dtype=np.float32).reshape(3, 2)])
    return queue


@pytest.fixture
def pairs():
    queue = FIFOQueue(10, [np.int32, np.float32], shapes=[(), (2,)])
    queue.enqueue_many(([1, 2], [[1, 2], [3, 4]]))
    return queue


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_one_component(queue, method):
    out = np.full((2, 2), -1, np.float32)
    result = getattr(queue, method)(2, out=out)
    assert np.shares_memory(result, out)
    assert plain(out) == plain(result) == [[0, 1], [2, 3]]
    assert queue.size() == 1


@pytest.mark.parametrize("container", [tuple, list])
def test_several_components(pairs, container):
    out = container((np.zeros(2, np.int32), np.zeros((2, 2), np.float32)))
    result = pairs.dequeue_many(2, out=out)
    assert plain(out) == plain(result) == [[1, 2], [[1, 2], [3, 4]]]
    assert all(np.shares_memory(a, b) for a, b in zip(out, result, strict=True))


def test_names():
    queue = FIFOQueue(10, [np.int32, np.int32], shapes=[(), ()], names=["a", "b"])
    queue.enqueue({"a": 1, "b": 2})
    out = {"b": np.zeros(1, np.int32), "a": np.zeros(1, np.int32)}
    result = queue.dequeue_many(1, out=out)
    assert plain(out) == plain(result) == {"a": [1], "b": [2]}
    assert list(result) == ["a", "b"]
    assert np.shares_memory(result["a"], out["a"])


def test_a_part_of_a_larger_array(queue):
    pool = np.zeros((5, 2), np.float32)
    queue.dequeue_many(2, out=pool[1:3])
    assert plain(pool) == [[0, 0], [0, 1], [2, 3], [0, 0], [0, 0]]


def read_only():
    array = np.zeros((2, 2), np.float32)
    array.flags.writeable = False
    return array


WRONG = {
    "dtype": np.zeros((2, 2), np.float64),
    "integers": np.zeros((2, 2), np.int32),
    "byte order": np.zeros((2, 2), ">f4"),
    "too few rows": np.zeros((1, 2), np.float32),
    "too many rows": np.zeros((3, 2), np.float32),
    "row": np.zeros((2, 3), np.float32),
    "rank": np.zeros(4, np.float32),
    "more rank": np.zeros((2, 2, 1), np.float32),
    "columns": np.zeros((2, 4), np.float32)[:, ::2],
    "fortran": np.zeros((2, 2), np.float32, order="F"),
    "backwards": np.zeros((2, 2), np.float32)[::-1],
    "read only": read_only(),
    "list": [[0.0, 0.0], [0.0, 0.0]],
    "number": 1,
    "tuple": (np.zeros((2, 2), np.float32),),
    "dict": {"x": np.zeros((2, 2), np.float32)},
}


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arrays(queue, wrong, method):
    with raises(ValueError):
        getattr(queue, method)(2, out=WRONG[wrong], timeout=0)
    assert queue.size() == 3
    assert queue.stats().dequeued == 0
    assert plain(queue.dequeue()) == [0, 1]


def test_wrong_arrays_are_seen_before_any_wait(queue):
    with raises(ValueError):
        queue.dequeue_many(9, out=np.zeros((9, 3), np.float32))
    queue.close()
    with raises(ValueError):
        queue.dequeue_many(9, out=np.zeros((9, 3), np.float32))
    assert queue.size() == 3


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(2, np.int32),
        (np.zeros(2, np.int32),),
        (np.zeros(2, np.int32), np.zeros((2, 2), np.float32), np.zeros(2)),
        (np.zeros(2, np.int32), np.zeros((2, 2), np.float64)),
        (np.zeros(2, np.int32), None),
        {"a": np.zeros(2, np.int32), "b": np.zeros((2, 2), np.float32)},
    ],
    ids=["array", "too few", "too many", "dtype", "None", "dict"],
)
def test_wrong_containers(pairs, out):
    with pytest.raises((ValueError, TypeError)):
        pairs.dequeue_many(2, out=out)
    assert pairs.size() == 2


@pytest.mark.parametrize(
    "out", [{"a": np.zeros(1, np.int32)}, {"b": np.zeros(1, np.int32)}, np.zeros(1, np.int32)], ids=["a", "b", "array"]
)
def test_wrong_names(out):
    queue = FIFOQueue(10, [np.int32, np.int32], shapes=[(), ()], names=["a", "b"])
    queue.enqueue({"a": 1, "b": 2})
    with pytest.raises((ValueError, TypeError)):
        queue.dequeue_many(1, out=out)
    assert queue.size() == 1


def test_the_rest_of_a_closed_queue(queue):
    queue.close()
    out = np.full((5, 2), -1, np.float32)
    result = queue.dequeue_up_to(5, out=out)
    assert plain(result) == [[0, 1], [2, 3], [4, 5]]
    assert np.shares_memory(result, out)
    assert plain(out[3:]) == [[-1, -1], [-1, -1]]
    with raises(OutOfRangeError):
        queue.dequeue_up_to(5, out=out)


def test_a_blocked_call(queue):
    out = np.zeros((4, 2), np.float32)
    call = start_blocked(queue, "dequeue_many", 4, out=out)
    queue.enqueue([[6, 7]])
    assert np.shares_memory(call.result(), out)
    assert plain(out) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_call_that_gives_up(queue):
    with raises(DeadlineExceededError):
        queue.dequeue_many(4, out=np.zeros((4, 2), np.float32), timeout=0)
    assert queue.size() == 3


def test_nothing_asked_for(queue):
    out = np.zeros((0, 2), np.float32)
    assert queue.dequeue_many(0, out=out).shape == (0, 2)
    with raises(ValueError):
        queue.dequeue_many(0, out=np.zeros((1, 2), np.float32))
    assert queue.size() == 3


def test_a_shuffle_queue():
    queue = RandomShuffleQueue(20, 0, np.int32, shapes=(), seed=1)
    queue.enqueue_many([np.arange(10)])
    out = np.zeros(10, np.int32)
    queue.dequeue_many(10, out=out)
    assert plain(out) == [7, 8, 1, 3, 9, 4, 2, 6, 5, 0]


def test_a_priority_queue():
    queue = PriorityQueue(20, np.int32, shapes=())
    queue.enqueue_many(([2, 1], [20, 10]))
    out = (np.zeros(2, np.int64), np.zeros(2, np.int32))
    queue.dequeue_many(2, out=out)
    assert plain(out) == [[1, 2], [10, 20]]


def test_strings_and_objects():
    queue = FIFOQueue(10, ["string", object], shapes=[(), ()])
    queue.enqueue(("a", queue))
    out = (np.empty(1, object), np.empty(1, object))
    queue.dequeue_many(1, out=out)
    assert out[0][0] == b"a"
    assert out[1][0] is queue


def padded():
    queue = PaddingFIFOQueue(10, np.int32, [(None,)])
    queue.enqueue([[1]])
    queue.enqueue([[2, 3, 4]])
    return queue


def test_padding():
    out = np.full((2, 3), -1, np.int32)
    result = padded().dequeue_many(2, out=out)
    assert np.shares_memory(result, out)
    assert plain(out) == [[1, 0, 0], [2, 3, 4]]


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((2, 2), np.int32), np.zeros((2, 4), np.int32), np.zeros((2, 3), np.int64)],
    ids=["small", "large", "dtype"],
)
def test_padding_into_a_wrong_array_loses_nothing(wrong):
    queue = padded()
    with raises(ValueError):
        queue.dequeue_many(2, out=wrong)
    assert not wrong.any()
    assert queue.size() == 2
    assert plain(queue.dequeue_many(2)) == [[1, 0, 0], [2, 3, 4]]


MEMORY = np.zeros(8, np.int32)


@pytest.mark.parametrize(
    "out",
    [(MEMORY[:2], MEMORY[:2]), (MEMORY[:2], MEMORY[1:3]), (MEMORY[1:3], MEMORY[:2]), (MEMORY[:2], MEMORY.view()[:2])],
    ids=["the same", "behind", "before", "view"],
)
def test_arrays_that_share_memory(out):
    """One component would overwrite the other."""
    queue = FIFOQueue(10, [np.int32, np.int32], shapes=[(), ()], name="q")
    queue.enqueue_many(([1, 2], [3, 4]))
    with raises(ValueError, "FIFOQueue 'q': component 1: out shares memory with that of component 0"):
        queue.dequeue_many(2, out=out)
    assert queue.size() == 2
    assert plain(queue.dequeue_many(2, out=(MEMORY[:2], MEMORY[2:4]))) == [[1, 2], [3, 4]]
    assert MEMORY.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


class TestSubclasses:
    """A subclass may return anything for `out[:n]`; the batch is written to the checked array itself."""

    class Elsewhere(np.ndarray):
        def __getitem__(self, index):
            return np.zeros(1, np.int8)

    class Refusing(np.ndarray):
        def __getitem__(self, index):
            raise LookupError("no slices")

    def test_that_slice_themselves_as_something_else(self, queue):
        queue.close()
        out = np.full((1000, 2), -1, np.float32).view(self.Elsewhere)
        result = queue.dequeue_up_to(1000, out=out)
        assert result.dtype == np.int8
        assert np.asarray(out)[:4].tolist() == [[0, 1], [2, 3], [4, 5], [-1, -1]]

    def test_that_refuse_lose_nothing(self, queue):
        queue.close()
        with pytest.raises(LookupError, match="no slices"):
            queue.dequeue_up_to(1000, out=np.zeros((1000, 2), np.float32).view(self.Refusing))
        assert queue.size() == 3
        assert queue.dequeue_many(3).tolist() == [[0, 1], [2, 3], [4, 5]]


class Tensor:
    """Offers an array as other libraries' tensors do, or refuses to."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        if self.device != 1:
            raise BufferError("its memory is on another device")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


def numbers(names=None, components=1):
    queue = pipeline.FIFOQueue(20, [np.float32] * components, [(2,)] * components, names=names)
    values = [np.arange(12, dtype=np.float32).reshape(6, 2) + 100 * i for i in range(components)]
    queue.enqueue_many(dict(zip(names, values, strict=True)) if names else values if components > 1 else values[0])
    return queue


def test_what_offers_its_memory():
    array, raw = np.zeros((2, 2), np.float32), bytearray(16)
    view = memoryview(raw).cast("f", (2, 2))
    queue = numbers()
    for out, written in ((Tensor(array), array), (view, np.frombuffer(raw, np.float32).reshape(2, 2))):
        result = queue.dequeue_many(2, out=out)
        assert np.shares_memory(result, written)
        assert result.tolist() == written.tolist()
    assert written.tolist() == [[4, 5], [6, 7]]
    assert queue.dequeue_many(2, out=Tensor(array)).tolist() == [[8, 9], [10, 11]]


def test_several_components_over_the_memory_of_others():
    arrays = [np.zeros((2, 2), np.float32) for _ in range(2)]
    one, two = numbers(None, 2).dequeue_many(2, out=[Tensor(arrays[0]), arrays[1]])
    assert two is arrays[1]
    assert np.shares_memory(one, arrays[0])
    numbers(["a", "b"], 2).dequeue_up_to(2, out={"a": Tensor(arrays[1]), "b": arrays[0]})
    assert arrays[0].tolist() == [[100, 101], [102, 103]]
    queue = numbers()
    assert queue.dequeue_many(0, out=Tensor(np.zeros((0, 2), np.float32))).shape == (0, 2)
    with pytest.raises(ValueError, match="shares memory with that of component 0"):
        numbers(None, 2).dequeue_many(2, out=[Tensor(arrays[0]), Tensor(arrays[0])])


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (Tensor(np.zeros((2, 2), np.float32), device=2), "NumPy cannot write to the memory of this Tensor"),
        (Tensor(np.zeros((2, 2), np.float64)), r"float64\[2, 2\]"),
        (bytes(16), r"uint8\[16\], read-only"),
        ([[0, 0], [0, 0]], "got list"),
    ],
    ids=["elsewhere", "dtype", "read-only", "list"],
)
def test_memory_that_does_not_fit(out, text):
    queue = numbers()
    with pytest.raises(ValueError, match=text):
        queue.dequeue_many(2, out=out)
    assert queue.size() == 6
    arrays = [np.zeros(2, np.float32)] * 2
    with pytest.raises(ValueError, match="out"):
        pipeline.stack(arrays, out=out)


def test_stacks_over_the_memory_of_others():
    array = np.zeros((2, 2), np.float32)
    made = pipeline.stack([np.ones(2, np.float32), np.zeros(2, np.float32)], out=Tensor(array))
    assert np.shares_memory(made, array)
    pipeline.concatenate([np.full((2, 2), 3, np.float32)], out=Tensor(array))
    assert array.tolist() == [[3, 3], [3, 3]]
    pipeline.pad([np.ones(1, np.float32), np.ones(2, np.float32)], out=memoryview(array))
    assert array.tolist() == [[1, 0], [1, 1]]
