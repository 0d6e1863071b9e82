"""Valid and invalid dtypes, shapes, names and capacities."""

import inspect

import numpy as np
import pytest
from helpers import plain, raises

from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue, set_random_seed
from pipeline.errors import InvalidArgumentError

STRING = np.dtype("S")
KINDS = [FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PriorityQueue]


def signature(kind):
    return [(p.name, p.default) for p in inspect.signature(kind).parameters.values()]


def test_signatures():
    empty = inspect.Parameter.empty
    tail = [("shared_name", None)]
    middle = [("shapes", None), ("names", None)]
    assert signature(FIFOQueue) == [("capacity", empty), ("dtypes", None), *middle, *tail, ("name", "fifo_queue")]
    assert signature(RandomShuffleQueue) == [
        *[("capacity", empty), ("min_after_dequeue", empty), ("dtypes", None)],
        *[*middle, ("seed", None), *tail, ("name", "random_shuffle_queue"), ("deterministic", False)],
    ]
    own = inspect.signature(RandomShuffleQueue).parameters["deterministic"]  # TensorFlow has no such argument
    assert own.kind is inspect.Parameter.KEYWORD_ONLY
    assert signature(PaddingFIFOQueue) == [
        *[("capacity", empty), ("dtypes", empty), ("shapes", empty), ("names", None)],
        *[*tail, ("name", "padding_fifo_queue")],
    ]
    assert signature(PriorityQueue) == [
        ("capacity", empty),
        ("types", None),
        *middle,
        *tail,
        ("name", "priority_queue"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_all_are_queues(kind):
    assert issubclass(kind, QueueBase)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.int32, [np.dtype(np.int32)]),
        ("float32", [np.dtype(np.float32)]),
        (np.dtype(">i2"), [np.dtype("=i2")]),
        (int, [np.dtype(int)]),
        ([np.int32, "bool"], [np.dtype(np.int32), np.dtype(bool)]),
        ((np.int32, np.int32), [np.dtype(np.int32)] * 2),
        (["complex64"], [np.dtype(np.complex64)]),
        ("string", [STRING]),
        ([bytes, str], [STRING, STRING]),
        (object, [np.dtype(object)]),
        ("datetime64[s]", [np.dtype("datetime64[s]")]),
        (np.dtype([("a", "i4"), ("b", "f8")]), [np.dtype([("a", "i4"), ("b", "f8")])]),
    ],
)
def test_dtypes(given, wanted):
    queue = FIFOQueue(3, given)
    assert queue.dtypes == wanted
    assert isinstance(queue.dtypes, list)
    assert len(queue.shapes) == len(wanted)
    assert queue.shapes[0] is None or given is object  # an object is always a scalar
    assert queue.names is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_dtypes(kind):
    args = (3, 0, []) if kind is RandomShuffleQueue else (3, [], [])
    with raises(ValueError):
        kind(*args)


def test_not_a_dtype():
    with raises(
        TypeError, "dtypes must be a dtype such as np.float32 or 'string', or a list of them, got 'no such dtype'"
    ):
        FIFOQueue(3, "no such dtype")


def test_arguments_of_another_kind():
    with raises(
        TypeError, "dtypes must be a dtype such as np.float32 or 'string', or a list of them, got [()]"
    ) as caught:
        RandomShuffleQueue(10, ["int32"], [()])
    assert "shuffle queues are capacity, min_after_dequeue, dtypes, shapes" in str(caught.value)


@pytest.mark.parametrize(
    ("count", "given", "wanted"),
    [
        (1, None, [None]),
        (2, None, [None, None]),
        (1, (), [()]),
        (1, [], [()]),
        (1, (3, 2), [(3, 2)]),
        (1, [3, 2], [(3, 2)]),
        (1, (3,), [(3,)]),
        (1, [()], [()]),
        (1, [(3, 2)], [(3, 2)]),
        (2, [[], []], [(), ()]),
        (2, ((), (2)), [(), (2,)]),
        (2, [(2, 0), ()], [(2, 0), ()]),
        (1, (np.int64(3),), [(3,)]),
    ],
)
@pytest.mark.parametrize("kind", [FIFOQueue, RandomShuffleQueue, PriorityQueue])
def test_shapes(kind, count, given, wanted):
    args = (10, 0) if kind is RandomShuffleQueue else (10,)
    queue = kind(*args, [np.int32] * count, shapes=given)
    assert queue.shapes == [()] * (kind is PriorityQueue) + wanted


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ((), ValueError, "Queue shapes must have the same length as dtypes"),
        ([()], ValueError, "Queue shapes must have the same length as dtypes"),
        ([(), (), ()], ValueError, "Queue shapes must have the same length as dtypes"),
        ((3, 2), ValueError, "Queue shapes must have the same length as dtypes"),
        ([(), (None,)], ValueError, "All shapes must be fully defined"),
        ([(), None], ValueError, "All shapes must be fully defined"),
        ([(), (-1,)], ValueError, ""),
        ([(), ("x",)], TypeError, ""),
        (5, TypeError, ""),
        ("x", TypeError, ""),
    ],
)
@pytest.mark.parametrize("kind", [FIFOQueue, RandomShuffleQueue, PriorityQueue])
def test_wrong_shapes(kind, given, error, text):
    args = (10, 0) if kind is RandomShuffleQueue else (10,)
    with raises(error, text):
        kind(*args, [np.int32, np.int32], shapes=given)


@pytest.mark.parametrize(
    ("count", "given", "wanted"),
    [(1, None, None), (1, "x", ["x"]), (1, ["x"], ["x"]), (2, ("a", "b"), ["a", "b"]), (2, ["a", "a"], ["a", "a"])],
)
def test_names(count, given, wanted):
    assert FIFOQueue(3, [np.int32] * count, names=given).names == wanted
    assert RandomShuffleQueue(3, 0, [np.int32] * count, names=given).names == wanted
    assert PaddingFIFOQueue(3, [np.int32] * count, [()] * count, names=given).names == wanted


@pytest.mark.parametrize("given", [[], ["a"], "a", ["a", "b", "c"]])
def test_wrong_names(given):
    text = "List of names must have the same length as the list of dtypes"
    for make in (
        lambda: FIFOQueue(3, [np.int32] * 2, names=given),
        lambda: RandomShuffleQueue(3, 0, [np.int32] * 2, names=given),
        lambda: PaddingFIFOQueue(3, [np.int32] * 2, [(), ()], names=given),
    ):
        with raises(ValueError, text):
            make()


def test_names_of_a_priority_queue():
    assert PriorityQueue(3, [np.int32], names=["p", "v"]).names == ["p", "v"]
    for names, count in ((["v"], 1), (["p", "v", "w"], 3), ("v", 1)):
        text = f"List of names must have the same length as the list of dtypes, received {count} names, 2 dtypes"
        with raises(ValueError, text):
            PriorityQueue(3, [np.int32], names=names)


@pytest.mark.parametrize("given", [None, (), [], (3,), [None], (None, 2), [3, None]])
def test_padding_needs_a_list_of_shapes(given):
    with raises(ValueError, "When providing partial shapes, a list of shapes must be provided"):
        PaddingFIFOQueue(3, np.int32, given)


@pytest.mark.parametrize("given", [[()], [[None]], [(None, 2)]])
def test_padding_shapes(given):
    assert PaddingFIFOQueue(3, np.int32, given).shapes == [tuple(given[0])]


def test_padding_shapes_must_match():
    with pytest.raises(TypeError):
        PaddingFIFOQueue(3, np.int32)
    text = "Shapes must be provided for all components, but received 2 dtypes and 1 shapes"
    with raises(ValueError, text):
        PaddingFIFOQueue(3, [np.int32, np.int32], [()])
    with pytest.raises(ValueError, match="must have a defined rank"):
        PaddingFIFOQueue(3, [np.int32, np.int32], [(), None])


@pytest.mark.parametrize(
    ("capacity", "min_after_dequeue", "text"),
    [
        (3, -1, "min_after_dequeue -1 must be >= 0"),
        (3, 3, "min_after_dequeue 3 must be < capacity 3"),
        (3, 4, "min_after_dequeue 4 must be < capacity 3"),
        (0, 0, "min_after_dequeue 0 must be < capacity 0"),
    ],
)
def test_min_after_dequeue(capacity, min_after_dequeue, text):
    with raises(InvalidArgumentError, text):
        RandomShuffleQueue(capacity, min_after_dequeue, np.int32)


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (NAN, ValueError, "must be a finite number, got nan"),
        (INFINITE, ValueError, "must be a finite number, got inf"),
        ("5", TypeError, "must be a number, got '5'"),
        (b"5", TypeError, "must be a number, got b'5'"),
        ([5], TypeError, "must be a number, got [5]"),
        (1j, TypeError, "must be a number, got 1j"),
    ],
)
def test_no_numbers(given, error, text):
    with raises(error, f"capacity {text}"):
        FIFOQueue(given, np.int32)
    with raises(error, f"min_after_dequeue {text}"):
        RandomShuffleQueue(3, given, np.int32)
    with raises(error, f"seed {text}"):
        RandomShuffleQueue(3, 1, np.int32, seed=given)
    with raises(error, f"seed {text}"):
        set_random_seed(given)


@pytest.mark.parametrize(("capacity", "wanted"), [(5, 5), (2.9, 2), (0, 0), (-1, 2147483647), (-7, 2147483647)])
def test_capacity(capacity, wanted):
    assert FIFOQueue(capacity, np.int32).stats().capacity == wanted


def test_not_a_capacity():
    with pytest.raises(TypeError):
        FIFOQueue("10", np.int32)


def test_a_large_minimum_with_no_limit():
    queue = RandomShuffleQueue(-1, 10**6, np.int32, shapes=())
    queue.enqueue(1, timeout=0)
    with pytest.raises(TimeoutError):
        queue.dequeue(timeout=0)


def test_names_of_queues():
    assert FIFOQueue(1, np.int32, name="mine").name == "mine"
    assert FIFOQueue(1, np.int32).name.startswith("fifo_queue")


def test_shared_names_are_ignored():
    first, second = (FIFOQueue(1, np.int32, shapes=(), shared_name="s") for _ in range(2))
    first.enqueue(1)
    assert second.size() == 0
    assert plain(first.dequeue()) == 1


def test_properties_cannot_be_damaged():
    queue = FIFOQueue(1, [np.int32, np.int32], shapes=[(), (2,)])
    queue.dtypes.append(None)
    queue.shapes.clear()
    assert len(queue.dtypes) == len(queue.shapes) == 2
    queue.enqueue((1, [2, 3]))
