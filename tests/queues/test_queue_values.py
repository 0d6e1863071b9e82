"""Conversion of enqueued values, and refused values."""

from functools import partial

import numpy as np
import pytest
from helpers import plain, raises

from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline.errors import InvalidArgumentError


def queue_of(dtype, shape=()):
    return FIFOQueue(10, dtype, shapes=[shape], name="q")


ACCEPTED = [
    (np.int32, np.float64(2.7), 2),
    (np.int32, np.array(2.7), 2),
    (np.int32, np.array(-2.7, np.float16), -2),
    (np.int32, np.array(2**31), -(2**31)),
    (np.uint8, np.array(257), 1),
    (np.uint8, np.int64(255), 255),
    (np.int64, np.uint64(2**63 - 1), 2**63 - 1),
    (np.uint8, np.array(-1), 255),
    (np.bool_, np.int32(3), True),
    (np.bool_, np.array(0.5), True),
    (np.int32, np.bool_(True), 1),
    (np.float32, np.int64(3), 3.0),
    (np.float32, 3, 3.0),
    (np.float32, 0.5, 0.5),
    (np.float32, True, 1.0),
    (np.float16, 2, 2.0),
    (np.complex64, 2, 2 + 0j),
    (np.complex64, 0.5, 0.5 + 0j),
    (np.complex128, True, 1 + 0j),
    (np.complex64, 1j, 1j),
    (np.int32, True, 1),
    (np.int8, -128, -128),
    (np.uint64, 2**64 - 1, 2**64 - 1),
    (np.int64, -(2**63), -(2**63)),
    (np.bool_, False, False),
    ("string", "é", "é".encode()),
    ("string", b"\x00a\x00", b"\x00a\x00"),
    ("string", "", b""),
    ("string", np.str_("ab"), b"ab"),
    ("string", np.bytes_(b"ab"), b"ab"),
    ("string", np.array("ab"), b"ab"),
    ("string", np.array(b"ab"), b"ab"),
    ("string", np.array("ab", object), b"ab"),
    (bytes, "x", b"x"),
    (str, b"x", b"x"),
]


@pytest.mark.parametrize(("dtype", "value", "stored"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_accepted(dtype, value, stored):
    queue = queue_of(dtype)
    queue.enqueue([value])
    queue.enqueue_many([value.reshape(1) if isinstance(value, (np.ndarray, np.generic)) else [value]])
    queue.enqueue(value)
    one = queue.dequeue()
    assert one == stored
    assert plain(queue.dequeue_many(2)) == [stored] * 2
    assert type(one) is (bytes if isinstance(stored, bytes) else np.dtype(dtype).type)


@pytest.mark.parametrize(("dtype", "value", "stored"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_accepted_without_a_shape(dtype, value, stored):
    queue = FIFOQueue(10, dtype)
    queue.enqueue([value])
    assert plain(queue.dequeue()) == stored


REFUSED = [
    (np.int32, 2.0),
    (np.int32, 2.5),
    (np.int32, "1"),
    (np.int32, b"1"),
    (np.int32, 1j),
    (np.float32, "1.0"),
    (np.float32, 1j),
    (np.bool_, 1),
    (np.bool_, 1.0),
    (np.complex64, "x"),
    ("string", 1),
    ("string", 1.5),
    ("string", True),
]


@pytest.mark.parametrize("shape", [(), None])
@pytest.mark.parametrize(("dtype", "value"), REFUSED, ids=range(len(REFUSED)))
def test_refused(dtype, value, shape):
    queue = queue_of(dtype) if shape == () else FIFOQueue(10, dtype)
    for call, vals in ((queue.enqueue, value), (queue.enqueue, [value]), (queue.enqueue_many, [[value]])):
        with pytest.raises(TypeError):
            call(vals)
    assert queue.size() == 0


@pytest.mark.parametrize("value", [[1, 2.0], [1, "2"], [2.5, 1]])
def test_one_bad_number_among_good_ones(value):
    queue = queue_of(np.int32, (2,))
    with pytest.raises(TypeError):
        queue.enqueue([value])
    assert queue.size() == 0


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.int32, 2**31),
        (np.int32, -(2**31) - 1),
        (np.uint8, 256),
        (np.uint8, -1),
        (np.int8, 200),
        (np.int64, 2**63),
        (np.uint64, 2**64),
        (np.uint64, -1),
        (np.int16, 10**30),
    ],
)
def test_python_ints_out_of_range(dtype, value):
    queue = queue_of(dtype)
    for call, vals in ((queue.enqueue, value), (queue.enqueue_many, [[1, value]]), (queue.enqueue, [value])):
        with pytest.raises(OverflowError, match=str(value)) as caught:
            call(vals)
        assert np.dtype(dtype).name in str(caught.value)
    assert queue.size() == 0


@pytest.mark.parametrize("shape", [(), None])
@pytest.mark.parametrize(
    ("dtype", "value"), [(np.int32, np.int64(2**31)), (np.uint8, np.int64(300)), (np.uint64, np.int8(-1))]
)
def test_numpy_ints_out_of_range(dtype, value, shape):
    queue = FIFOQueue(10, dtype, shapes=None if shape is None else [shape])
    for call, vals in ((queue.enqueue, value), (queue.enqueue, [value]), (queue.enqueue_many, [[1, value]])):
        with pytest.raises(OverflowError, match=f"{value} is out of the range of {np.dtype(dtype)}"):
            call(vals)
    assert queue.size() == 0


def test_a_priority_out_of_range():
    queue = PriorityQueue(10, np.int32, shapes=())
    for priority in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError, match=str(priority)):
            queue.enqueue((priority, 1))
    for priority in (1.0, "1"):
        with pytest.raises(TypeError):
            queue.enqueue((priority, 1))
    assert queue.size() == 0


def test_nothing_at_all():
    queue = queue_of(np.int32)
    for vals in ([], (), None, [None]):
        with raises(ValueError):
            queue.enqueue(vals)
    with pytest.raises(IndexError):
        queue.enqueue_many([])
    with raises(ValueError):
        queue.enqueue_many([None])
    assert queue.size() == 0


@pytest.mark.parametrize("dtype", [np.int32, np.float32, "string"])
def test_ragged_lists(dtype):
    queue = FIFOQueue(10, dtype)
    parts = ["a", "b", "c"] if dtype == "string" else [1, 2, 3]
    with raises(ValueError):
        queue.enqueue([[parts[:1], parts[1:]]])
    assert queue.size() == 0


@pytest.mark.parametrize("dtype", [np.int32, np.float32, bool, "string"])
def test_an_empty_list_takes_the_dtype(dtype):
    queue = FIFOQueue(10, [dtype, dtype], shapes=[(0,), (0,)])
    queue.enqueue(([], []))
    queue.enqueue_many(([[]], [[]]))
    first, second = queue.dequeue_many(2)
    assert first.shape == second.shape == (2, 0)
    scalars = FIFOQueue(10, [dtype, dtype], shapes=[(), ()])
    scalars.enqueue_many(([], []))
    assert scalars.size() == 0


def test_arity_comes_before_values():
    queue = FIFOQueue(10, [np.int32, np.int32], shapes=[(), ()])
    with raises(InvalidArgumentError, "Signature mismatch, have: "):
        queue.enqueue([1])
    with raises(InvalidArgumentError, "Signature mismatch, have: int,int,str-> expected: int32,int32->"):
        queue.enqueue([1, 2, "three"])
    for given in (8, 9, 10):
        have = ",".join(["int"] * 8) + (",..." if given > 8 else "")
        with raises(InvalidArgumentError, f"Signature mismatch, have: {have}-> expected: "):
            queue.enqueue([1] * given)
    assert queue.size() == 0


@pytest.mark.parametrize("kind", [FIFOQueue, PaddingFIFOQueue, partial(RandomShuffleQueue, min_after_dequeue=0)])
@pytest.mark.parametrize("dtype", [np.int64, "string", object])
class TestMoreValuesThanComponents:
    """No passed value is lost. TensorFlow would store the first value and drop the others."""

    def queue(self, kind, dtype):
        return kind(10, dtypes=[dtype], shapes=[()], name="numbers")

    def test_one_element(self, kind, dtype):
        queue = self.queue(kind, dtype)
        for vals in ([5, 6], (5, 6), ["a", "b"], [np.int64(5), np.int64(6)]):
            with raises(InvalidArgumentError, "Signature mismatch, have: ") as caught:
                queue.enqueue(vals)
            text = str(caught.value)
            assert "'numbers' has 1 component, and this call 2 values" in text
            assert "write enqueue(([...],)), or pass an array; for several elements enqueue_many(([...],))" in text
        assert queue.size() == 0

    def test_many_elements(self, kind, dtype):
        queue = self.queue(kind, dtype)
        for vals in ([[1, 2, 3], [4, 5, 6]], (np.arange(3), np.arange(3)), [["a"], ["b"]]):
            with raises(InvalidArgumentError, "Signature mismatch, have: ") as caught:
                queue.enqueue_many(vals)
            assert "'numbers' has 1 component, and this call 2 values" in str(caught.value)
            assert "For rows in a list write enqueue_many(([...],)), or pass an array" in str(caught.value)
        assert queue.size() == 0


def test_more_values_than_several_components():
    queue = FIFOQueue(10, [np.int64, np.int64], shapes=[(), ()], name="pairs")
    for call, vals in (("enqueue", (1, 2, 3)), ("enqueue_many", (np.arange(2),) * 3)):
        with raises(InvalidArgumentError, "Signature mismatch, have: ") as caught:
            getattr(queue, call)(vals)
        assert "'pairs' has 2 components, and this call 3 values" in str(caught.value)
        assert "Pass 2 values, one for each component" in str(caught.value)
    assert queue.size() == 0


def test_a_bad_component_stores_none_of_the_element():
    queue = FIFOQueue(10, [np.int32, np.int32], shapes=[(), ()])
    with pytest.raises(TypeError):
        queue.enqueue((1, "x"))
    with pytest.raises(TypeError):
        queue.enqueue_many(([1, 2], ["x", "y"]))
    assert queue.size() == 0


@pytest.mark.parametrize(
    ("call", "vals", "text"),
    [
        ("enqueue", (1, np.zeros((3, 4))), "Shape mismatch in tuple component 1. Expected [3,3], got [3,4]"),
        ("enqueue", (1, np.zeros(3)), "Shape mismatch in tuple component 1. Expected [3,3], got [3]"),
        ("enqueue", ([1], np.zeros((3, 3))), "Shape mismatch in tuple component 0. Expected [], got [1]"),
        (
            "enqueue_many",
            ([1, 2], np.zeros((2, 3, 4))),
            "Shape mismatch in tuple component 1. Expected [2,3,3], got [2,3,4]",
        ),
        (
            "enqueue_many",
            ([1, 2], np.zeros((1, 3, 3))),
            "Shape mismatch in tuple component 1. Expected [2,3,3], got [1,3,3]",
        ),
        (
            "enqueue_many",
            ([[1], [2]], np.zeros((2, 3, 3))),
            "Shape mismatch in tuple component 0. Expected [2], got [2,1]",
        ),
    ],
)
def test_shape_messages(call, vals, text):
    queue = FIFOQueue(10, [np.int32, np.float64], shapes=[(), (3, 3)])
    with raises(InvalidArgumentError, text):
        getattr(queue, call)(vals)
    assert queue.size() == 0


def test_rows_that_differ_in_number():
    queue = FIFOQueue(10, [np.int32, np.int32])
    text = "All input tensors must have the same size in the 0th dimension. Component 1 has 1, and should have 2"
    with raises(InvalidArgumentError, text):
        queue.enqueue_many(([1, 2], [3]))
    assert queue.size() == 0


@pytest.mark.parametrize("n", [np.int32(2), np.int64(2), np.array(2), np.array([2])])
def test_counts(n):
    queue = queue_of(np.int32)
    queue.enqueue_many([[1, 2]])
    assert plain(queue.dequeue_many(n)) == [1, 2]


@pytest.mark.parametrize("n", [2.0, "2", None, np.array([], np.int32), np.array([1, 2]), np.float32(2), [2, 3]])
def test_not_a_count(n):
    queue = queue_of(np.int32)
    queue.enqueue_many([[1, 2]])
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises((TypeError, ValueError)):
            call(n)
    assert queue.size() == 2


@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", [1]])
def test_not_a_timeout(timeout):
    queue = queue_of(np.int32)
    queue.enqueue(1)
    for call in (queue.dequeue, lambda timeout: queue.enqueue(2, timeout=timeout)):
        with pytest.raises((TypeError, ValueError)):
            call(timeout=timeout)
    assert queue.size() == 1


@pytest.mark.parametrize("timeout", [1e9, 1e300, float("inf"), 10**12])
def test_a_timeout_may_be_long(timeout):
    queue = queue_of(np.int32)
    queue.enqueue(1, timeout=timeout)
    assert plain(queue.dequeue(timeout=timeout)) == 1


def test_padding_rows_keep_the_conversion_rules():
    queue = PaddingFIFOQueue(10, np.int32, [(None,)])
    with pytest.raises(TypeError):
        queue.enqueue([[1.5]])
    with pytest.raises(OverflowError):
        queue.enqueue([[2**31]])
    queue.enqueue(np.array([1.5, 2.5]))
    assert plain(queue.dequeue()) == [1, 2]


def test_a_shape_mismatch_names_the_component_and_the_cure():
    queue = FIFOQueue(9, "int32", [(2,)], names=["image"], name="q")
    with pytest.raises(InvalidArgumentError, match=r"FIFOQueue 'q': component 0 \('image'\): .* dynamic_pad=True"):
        queue.enqueue({"image": [1, 2, 3]})


def test_a_list_in_place_of_a_tuple_of_components():
    queue = FIFOQueue(9, "float32", [(2,)])
    with pytest.raises(InvalidArgumentError, match=r"has 1 component, and this call 2 values: .* enqueue\("):
        queue.enqueue([1.0, 2.0])
    queue.enqueue(([1.0, 2.0],))
    assert queue.dequeue().tolist() == [1.0, 2.0]


def test_masked_values_within_lists():
    masked = np.ma.masked_array([1, 2], mask=[True, False])
    for queue in (FIFOQueue(5, "int64", [(1, 2)]), FIFOQueue(5)):
        with pytest.raises(InvalidArgumentError, match="has 1 of 2 values missing: fill them in first"):
            queue.enqueue(([masked],))
        queue.enqueue(([masked.filled(0)],))
        assert queue.dequeue().tolist() == [[0, 2]]
