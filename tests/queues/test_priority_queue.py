"""PriorityQueue: the lowest number first, and the order among equals."""

import numpy as np
import pytest
from helpers import plain, raises, start_blocked
from hypothesis import given
from hypothesis import strategies as st
from reference import PriorityQueue as Reference

from pipeline.errors import InvalidArgumentError, OutOfRangeError

LOWEST, HIGHEST = -(2**63), 2**63 - 1


@pytest.fixture
def queue(queues):
    return queues.PriorityQueue(100, np.int32, shapes=(), name="q")


def fill(queue, priorities):
    queue.enqueue_many((np.array(priorities, np.int64), np.arange(len(priorities), dtype=np.int32)))


def test_equal_priorities(queue):
    fill(queue, [0] * 10)
    assert plain(queue.dequeue_many(10)[1]) == [0, 2, 6, 9, 8, 5, 7, 4, 1, 3]


def test_some_equal_priorities(queue):
    fill(queue, [3, 1, 2, 1, 3, 2, 1, 1])
    priorities, values = queue.dequeue_many(8)
    assert plain(priorities) == [1, 1, 1, 1, 2, 2, 3, 3]
    assert plain(values) == [1, 6, 3, 7, 2, 5, 0, 4]


def test_the_same_order_one_by_one(queue):
    for value, priority in enumerate([3, 1, 2, 1, 3, 2, 1, 1]):
        queue.enqueue((priority, value))
    assert [plain(queue.dequeue()[1]) for _ in range(8)] == [1, 6, 3, 7, 2, 5, 0, 4]


def test_the_whole_range(queue):
    fill(queue, [0, HIGHEST, -1, LOWEST, 1])
    assert plain(queue.dequeue_many(5)) == [[LOWEST, -1, 0, 1, HIGHEST], [3, 2, 0, 4, 1]]


def test_results_have_the_priority_first(queue):
    queue.enqueue((7, 70))
    priority, value = queue.dequeue()
    assert (priority.dtype, value.dtype) == (np.int64, np.int32)
    assert (int(priority), int(value)) == (7, 70)
    assert queue.dtypes == [np.dtype(np.int64), np.dtype(np.int32)]
    assert queue.shapes == [(), ()]


def test_names_cover_the_priority(queues):
    queue = queues.PriorityQueue(10, [np.int32], shapes=[()], names=["p", "v"])
    queue.enqueue({"v": 1, "p": 2})
    assert plain(queue.dequeue()) == {"p": 2, "v": 1}


def test_several_components(queues):
    queue = queues.PriorityQueue(10, [np.int32, "string"], shapes=[(2,), ()])
    queue.enqueue((2, [1, 2], b"b"))
    queue.enqueue((1, [3, 4], "a"))
    assert plain(queue.dequeue_many(2)) == [[1, 2], [[3, 4], [1, 2]], [b"a", b"b"]]


def test_batches_are_sorted_whatever_came_while_they_waited(queue):
    fill(queue, [5, 3])
    call = start_blocked(queue, "dequeue_many", 4)
    assert queue.size() == 2
    fill(queue, [4])
    assert queue.size() == 3
    fill(queue, [1])
    assert plain(call.result()[0]) == [1, 3, 4, 5]


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_up_to_waits_for_all_while_the_queue_is_open(queue, method):
    fill(queue, [2])
    call = start_blocked(queue, method, 2)
    fill(queue, [1])
    assert plain(call.result()[0]) == [1, 2]


def test_more_than_the_capacity_waits_until_the_end(queues):
    queue = queues.PriorityQueue(2, np.int32, shapes=(), name="q")
    fill(queue, [2, 1])
    many = start_blocked(queue, "dequeue_many", 3)
    enqueue = start_blocked(queue, "enqueue", (0, 0))
    queue.close(cancel_pending_enqueues=True)
    assert str(enqueue.exception()).startswith("Enqueue operation was cancelled")
    text = "PriorityQueue 'q' is closed and has insufficient elements (requested 3, current size 2)"
    assert str(many.exception()).startswith(text)
    assert plain(queue.dequeue_many(2)[0]) == [1, 2]


def test_up_to_returns_the_rest_of_a_closed_queue(queue):
    fill(queue, [3, 1, 2])
    queue.close()
    with raises(
        OutOfRangeError, "PriorityQueue 'q' is closed and has insufficient elements (requested 5, current size 3)"
    ):
        queue.dequeue_many(5)
    assert plain(queue.dequeue_up_to(2)) == [[1, 2], [1, 2]]
    assert plain(queue.dequeue_up_to(5)) == [[3], [0]]
    with raises(
        OutOfRangeError, "PriorityQueue 'q' is closed and has insufficient elements (requested 5, current size 0)"
    ):
        queue.dequeue_up_to(5)


def test_a_waiting_up_to_gets_the_rest_at_close(queue):
    fill(queue, [3, 1, 2])
    call = start_blocked(queue, "dequeue_up_to", 5)
    queue.close()
    assert plain(call.result()) == [[1, 2, 3], [1, 2, 0]]


def test_a_waiting_dequeue_gets_its_element(queue):
    call = start_blocked(queue, "dequeue")
    fill(queue, [2, 1])
    assert plain(call.result()) == [1, 1]


def test_without_shapes(queues):
    queue = queues.PriorityQueue(10, np.int32)
    queue.enqueue((2, 1))
    queue.enqueue((1, [2, 3]))
    with raises(InvalidArgumentError, "PriorityQueue's DequeueMany requires the components to have specified shapes."):
        queue.dequeue_many(1)
    assert plain(queue.dequeue()) == [1, [2, 3]]
    assert plain(queue.dequeue()) == [2, 1]


def test_a_priority_is_a_scalar(queues):
    for queue in (queues.PriorityQueue(10, np.int32), queues.PriorityQueue(10, np.int32, shapes=())):
        with raises(InvalidArgumentError, "Shape mismatch in tuple component 0. Expected [], got [2]"):
            queue.enqueue(([1, 2], 3))
        assert queue.size() == 0


@given(st.lists(st.one_of(st.integers(-2, 2), st.integers(LOWEST, HIGHEST), st.none()), max_size=200))
def test_pushes_and_pops_as_in_the_reference(script):
    """Enqueue every number, dequeue at every None."""
    from pipeline import PriorityQueue

    made = [PriorityQueue(-1, np.int32, shapes=()), Reference(-1, np.int32, shapes=())]
    for value, priority in enumerate(script):
        if priority is not None:
            for queue in made:
                queue.enqueue((priority, value))
        elif made[1].size():
            assert plain(made[0].dequeue()) == plain(made[1].dequeue())
    rest = made[1].size()
    assert plain(made[0].dequeue_many(rest)) == plain(made[1].dequeue_many(rest))
