"""Queues made without dtypes: the first element fixes dtypes and shapes."""

import numpy as np
import pytest
from helpers import check_error, plain, raises, start_blocked

from pipeline import FIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError, InvalidArgumentError, OutOfRangeError


@pytest.fixture
def queue():
    return FIFOQueue(10, name="q")


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (np.float32(1), np.float32, ()),
        (np.zeros((2, 3), np.int8), np.int8, (2, 3)),
        (np.zeros(0, bool), bool, (0,)),
        (1, np.int64, ()),
        (0.5, np.float64, ()),
        (True, bool, ()),
        (1j, np.complex128, ()),
        (b"ab", "S", ()),
        ("ab", "S", ()),
        (np.datetime64("2020-01-01"), "datetime64[D]", ()),
    ],
)
def test_one_component(queue, value, dtype, shape):
    queue.enqueue(value)
    assert queue.dtypes == [np.dtype(dtype)]
    assert queue.shapes == [shape]
    queue.enqueue(value)
    batch = queue.dequeue_many(2)
    assert batch.shape == (2, *shape)
    assert batch.dtype == (object if dtype == "S" else dtype)


def test_several_components(queue):
    queue.enqueue((np.zeros(2, np.float32), 1, "a"))
    assert queue.dtypes == [np.dtype(np.float32), np.dtype(np.int64), np.dtype("S")]
    assert queue.shapes == [(2,), (), ()]
    queue.enqueue_many((np.ones((2, 2)), [2, 3], ["b", "c"]))
    assert plain(queue.dequeue_many(3)) == [[[0, 0], [1, 1], [1, 1]], [1, 2, 3], [b"a", b"b", b"c"]]


def test_many_first(queue):
    queue.enqueue_many((np.arange(6, dtype=np.int16).reshape(3, 2), ["a", "b", "c"]))
    assert queue.dtypes == [np.dtype(np.int16), np.dtype("S")]
    assert queue.shapes == [(2,), ()]
    queue.enqueue(([6, 7], "d"))
    assert plain(queue.dequeue_many(4)) == [[[0, 1], [2, 3], [4, 5], [6, 7]], [b"a", b"b", b"c", b"d"]]


def test_objects(queue):
    thing = object()
    queue.enqueue([thing])
    assert queue.dtypes == [np.dtype(object)]
    assert queue.dequeue() is thing


def test_names():
    queue = FIFOQueue(10, names=["x", "y"])
    queue.enqueue({"y": 2.5, "x": np.int8(1)})
    assert queue.dtypes == [np.dtype(np.int8), np.dtype(np.float64)]
    assert plain(queue.dequeue_many(1)) == {"x": [1], "y": [2.5]}


def test_what_is_fixed_stays_fixed(queue):
    queue.enqueue((np.int32(1), np.zeros(2, np.float32)))
    with raises(InvalidArgumentError, "Shape mismatch in tuple component 1. Expected [2], got [3]"):
        queue.enqueue((1, np.zeros(3, np.float32)))
    with pytest.raises(TypeError):
        queue.enqueue((1.5, np.zeros(2)))
    with raises(InvalidArgumentError, "Signature mismatch, have: "):
        queue.enqueue([1])
    queue.enqueue((np.float64(2.7), [1, 2]))
    assert plain(queue.dequeue_many(2)) == [[1, 2], [[0, 0], [1, 2]]]


@pytest.mark.parametrize("vals", [None, [None], [], [[[1], [2, 3]]]])
def test_a_bad_first_element_fixes_nothing(queue, vals):
    with raises(ValueError):
        queue.enqueue(vals)
    queue.enqueue((1, "a"))
    assert queue.shapes == [(), ()]


def test_a_first_element_that_times_out():
    queue = FIFOQueue(0)
    with raises(DeadlineExceededError):
        queue.enqueue(1, timeout=0)
    assert queue.size() == 0


def test_the_end_before_the_first_element(queue):
    with raises(DeadlineExceededError):
        queue.dequeue(timeout=0)
    call = start_blocked(queue, "dequeue_many", 2)
    queue.close()
    text = "FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 0)"
    check_error(call.exception(), OutOfRangeError, text)
    with raises(OutOfRangeError):
        queue.dequeue()


def test_those_who_wait_for_the_first_element(queue):
    calls = [start_blocked(queue, "dequeue"), start_blocked(queue, "dequeue_many", 2)]
    calls.append(start_blocked(queue, "dequeue_up_to", 1))
    queue.enqueue_many([np.arange(8, dtype=np.float32).reshape(4, 2)])
    assert [plain(call.result()) for call in calls] == [[0, 1], [[2, 3], [4, 5]], [[6, 7]]]


def test_a_shuffle_queue():
    queue = RandomShuffleQueue(20, 0, seed=1)
    queue.enqueue_many([np.arange(10)])
    assert plain(queue.dequeue_many(10)) == [7, 8, 1, 3, 9, 4, 2, 6, 5, 0]


def test_a_priority_queue():
    queue = PriorityQueue(20)
    queue.enqueue((2, np.float32(0.5)))
    assert queue.dtypes == [np.dtype(np.int64), np.dtype(np.float32)]
    assert queue.shapes == [(), ()]
    queue.enqueue((1, 1.5))
    assert plain(queue.dequeue_many(2)) == [[1, 2], [1.5, 0.5]]


@pytest.mark.parametrize("priority", [0.5, "1", [1, 2]])
def test_a_bad_first_priority(priority):
    queue = PriorityQueue(20)
    with pytest.raises((TypeError, ValueError)):
        queue.enqueue((priority, 1))
    assert queue.size() == 0
    queue.enqueue((1, "a"))
    assert plain(queue.dequeue()) == [1, b"a"]


@pytest.mark.parametrize("bad", [{"a": None}, {"a": [[1], [2, 3]]}, {}])
def test_a_bad_first_dict_fixes_no_names(queue, bad):
    with pytest.raises(ValueError, match=r"None is not a value|inhomogeneous|no value"):
        queue.enqueue(bad)
    assert queue.names is None
    queue.enqueue({"b": 1})
    assert plain(queue.dequeue()) == {"b": 1}


def test_a_bad_first_dict_fixes_no_container(queue):
    with pytest.raises(ValueError, match="None is not a value"):
        queue.enqueue_many({"a": None})
    queue.enqueue(1)
    assert plain(queue.dequeue_many(1)) == [1]
