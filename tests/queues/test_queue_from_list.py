"""`QueueBase.from_list`: one queue that forwards its calls to one of several."""

import numpy as np
import pytest
from helpers import plain, raises

from pipeline import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from pipeline.errors import InvalidArgumentError


@pytest.fixture
def pair():
    return [FIFOQueue(5, np.int32, shapes=()), RandomShuffleQueue(7, 0, np.int32, shapes=())]


@pytest.mark.parametrize("index", [1, np.int64(1), np.array(1)])
def test_calls_reach_the_selected_queue(pair, index):
    queue = QueueBase.from_list(index, pair)
    assert isinstance(queue, QueueBase)
    queue.enqueue(1)
    queue.enqueue_many([[2, 3, 4]])
    assert (pair[0].size(), pair[1].size(), queue.size()) == (0, 4, 4)
    values = [plain(queue.dequeue()), *plain(queue.dequeue_many(2)), *plain(queue.dequeue_up_to(1))]
    assert sorted(values) == [1, 2, 3, 4]
    queue.close()
    assert (pair[0].is_closed(), pair[1].is_closed(), queue.is_closed()) == (False, True, True)
    assert list(queue) == []


def test_it_has_the_properties_of_all(pair):
    queue = QueueBase.from_list(0, pair)
    assert queue.dtypes == [np.dtype(np.int32)]
    assert queue.shapes == [()]
    assert queue.names is None


@pytest.mark.parametrize(
    ("shapes", "common"),
    [
        ([(2, 3), (2, 3)], (2, 3)),
        ([(2, 3), (4, 3)], (None, 3)),
        ([(2, 3), (2,)], None),
        ([(2,), None], None),
    ],
)
def test_common_shapes(shapes, common):
    queues = [FIFOQueue(5, np.int32, shapes=None if shape is None else [shape]) for shape in shapes]
    assert QueueBase.from_list(0, queues).shapes == [common]


def test_the_chosen_queue_checks_values():
    queues = [FIFOQueue(5, np.int32, shapes=[(2,)]), FIFOQueue(5, np.int32, shapes=[(3,)])]
    with raises(InvalidArgumentError, "Shape mismatch in tuple component 0. Expected [3], got [2]"):
        QueueBase.from_list(1, queues).enqueue(np.zeros(2, np.int32))
    QueueBase.from_list(0, queues).enqueue(np.zeros(2, np.int32))
    assert [queue.size() for queue in queues] == [1, 0]


@pytest.mark.parametrize("given", [(), [], None, "x", [1], (FIFOQueue(1, np.int32),)], ids=repr)
def test_not_a_list_of_queues(given):
    with raises(TypeError, "A list of queues expected"):
        QueueBase.from_list(0, given)


def test_queues_that_differ():
    base = FIFOQueue(5, np.int32, names=["a"])
    with raises(TypeError, "Queues do not have matching component dtypes."):
        QueueBase.from_list(0, [base, FIFOQueue(5, np.int64, names=["a"])])
    with raises(TypeError, "Queues do not have matching component dtypes."):
        QueueBase.from_list(0, [FIFOQueue(5, np.int32), FIFOQueue(5, [np.int32, np.int32])])
    with raises(TypeError, "Queues do not have matching component names."):
        QueueBase.from_list(0, [base, FIFOQueue(5, np.int32, names=["b"])])
    with raises(TypeError, "Queues do not have matching component names."):
        QueueBase.from_list(0, [base, FIFOQueue(5, np.int32)])


def test_kinds_and_capacities_may_differ():
    queues = [FIFOQueue(5, np.int32, names=["a"]), PaddingFIFOQueue(9, np.int32, [(None,)], names=["a"])]
    queue = QueueBase.from_list(1, queues)
    assert queue.names == ["a"]
    queue.enqueue({"a": [1, 2]})
    assert plain(queue.dequeue()) == {"a": [1, 2]}


@pytest.mark.parametrize("index", [3, -1, 2])
def test_an_index_out_of_range(pair, index):
    queue = QueueBase.from_list(index, pair)
    with raises(InvalidArgumentError, f"indices = {index} is not in [0, 2)"):
        queue.enqueue(1)
    with raises(InvalidArgumentError, f"indices = {index} is not in [0, 2)"):
        queue.size()


def test_timeouts_and_outputs_are_passed_on(pair):
    queue = QueueBase.from_list(0, pair)
    with pytest.raises(TimeoutError):
        queue.dequeue(timeout=0)
    queue.enqueue(7, timeout=0)
    out = np.zeros(1, np.int32)
    queue.dequeue_many(1, timeout=0, out=out)
    assert plain(out) == [7]
