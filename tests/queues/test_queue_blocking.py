"""Calls that block, and the calls that release them."""

import numpy as np
import pytest
from helpers import check_error, plain, start_blocked, wait_blocked, waiting

from pipeline.errors import OutOfRangeError

# the queue holds 1 and 2, and has room for no more
RELEASES_ENQUEUES = [("dequeue", ()), ("dequeue_many", (1,)), ("dequeue_up_to", (2,))]
ENQUEUES = [("enqueue", (3,)), ("enqueue_many", ([[3]],)), ("enqueue_many", ([np.array([3], np.int32)],))]


@pytest.fixture
def full(queues):
    queue = queues.FIFOQueue(2, np.int32, shapes=())
    queue.enqueue_many([[1, 2]], timeout=0)
    return queue


@pytest.fixture
def empty(queues):
    return queues.FIFOQueue(2, np.int32, shapes=())


@pytest.mark.parametrize(("method", "args"), ENQUEUES)
@pytest.mark.parametrize(("release", "counts"), RELEASES_ENQUEUES)
def test_room_releases_an_enqueue(full, method, args, release, counts):
    call = start_blocked(full, method, *args)
    assert waiting(full) == (1, 0)
    getattr(full, release)(*counts)
    assert call.result() is None
    assert waiting(full) == (0, 0)
    full.close()
    assert plain(full.dequeue_up_to(9))[-1] == 3


@pytest.mark.parametrize(("release", "args"), [("enqueue", (1,)), ("enqueue_many", ([[1, 2]],))])
@pytest.mark.parametrize(("method", "count"), [("dequeue", ()), ("dequeue_many", (1,)), ("dequeue_up_to", (1,))])
def test_an_element_releases_a_dequeue(empty, method, count, release, args):
    call = start_blocked(empty, method, *count)
    assert waiting(empty) == (0, 1)
    getattr(empty, release)(*args)
    assert plain(call.result()) in (1, [1])
    assert waiting(empty) == (0, 0)


def test_a_close_waits_for_the_enqueues_before_it(full):
    enqueue = start_blocked(full, "enqueue", 3)
    close = start_blocked(full, "close")
    assert not full.is_closed()
    full.dequeue()
    assert (enqueue.result(), close.result()) == (None, None)
    assert full.is_closed()


def test_size_and_is_closed_never_wait(full):
    start_blocked(full, "enqueue", 3)
    start_blocked(full, "close")
    assert full.size() == 2
    assert not full.is_closed()
    full.close(cancel_pending_enqueues=True)
    wait_blocked(full)
    assert full.is_closed()


def test_one_block_releases_many_dequeues(empty):
    calls = [start_blocked(empty, "dequeue") for _ in range(5)]
    empty.enqueue_many([[0, 1, 2, 3, 4]], timeout=0)
    assert [plain(call.result()) for call in calls] == [0, 1, 2, 3, 4]


def test_one_block_releases_many_enqueues(full):
    calls = [start_blocked(full, "enqueue", value) for value in (3, 4, 5)]
    assert plain(full.dequeue_many(5, timeout=0)) == [1, 2, 3, 4, 5]
    assert [call.result() for call in calls] == [None] * 3


def test_dequeues_are_served_in_the_order_they_came(empty):
    calls = [start_blocked(empty, "dequeue_many", n) for n in (1, 3, 2)]
    for value in range(6):
        empty.enqueue(value)
    assert [plain(call.result()) for call in calls] == [[0], [1, 2, 3], [4, 5]]


def test_nobody_overtakes_a_waiting_call(full):
    call = start_blocked(full, "enqueue_many", [[3, 4]])
    second = start_blocked(full, "enqueue", 5)
    assert plain(full.dequeue()) == 1  # room for one row in the first call, none for the second
    assert waiting(full) == (2, 0)
    assert plain(full.dequeue()) == 2
    assert waiting(full) == (1, 0)
    assert call.result() is None
    assert plain(full.dequeue_many(3)) == [3, 4, 5]
    assert second.result() is None


def test_calls_for_nothing_pass_waiting_ones(empty):
    call = start_blocked(empty, "dequeue")
    assert plain(empty.dequeue_many(0, timeout=0)) == plain(empty.dequeue_up_to(0, timeout=0)) == []
    assert waiting(empty) == (0, 1)
    empty.enqueue(1)
    assert plain(call.result()) == 1


def test_rows_of_nothing_pass_waiting_ones(full):
    call = start_blocked(full, "enqueue", 3)
    full.enqueue_many([np.zeros(0, np.int32)], timeout=0)
    assert waiting(full) == (1, 0)
    full.dequeue()
    assert call.result() is None


def test_priority_takes_nothing_until_there_is_enough(queues):
    queue = queues.PriorityQueue(9, np.int32, shapes=(), name="q")
    queue.enqueue_many(([5, 1], [50, 10]))
    call = start_blocked(queue, "dequeue_many", 3)
    assert queue.size() == 2
    queue.enqueue((3, 30))
    assert plain(call.result()) == [[1, 3, 5], [10, 30, 50]]
    call = start_blocked(queue, "dequeue_up_to", 2)
    queue.close()
    text = "PriorityQueue 'q' is closed and has insufficient elements (requested 2, current size 0)"
    check_error(call.exception(), OutOfRangeError, text)
