"""Threads that put small elements one by one into a full queue, one or many: they may nap, and none is left."""

import threading

import numpy as np
import pytest
from helpers import plain, start_blocked, waiting

from pipeline import FIFOQueue
from pipeline.errors import CancelledError, DeadlineExceededError

CAPACITY, CROWD = 64, 12


@pytest.fixture
def full():
    queue = FIFOQueue(CAPACITY, np.int32, shapes=())
    queue.enqueue_many([list(range(CAPACITY))])
    return queue


@pytest.mark.parametrize("taken", [CROWD, 2 * CROWD, CAPACITY])
def test_all_that_are_served_return_though_nobody_calls_again(full, taken):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    full.dequeue_many(taken)
    assert [call.result() for call in calls] == [None] * CROWD
    assert waiting(full) == (0, 0)
    full.close()
    assert plain(full.dequeue_up_to(999))[-CROWD:] == [100 + k for k in range(CROWD)]


def test_a_consumer_that_waits_gets_what_the_crowd_brings(full):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    assert plain(full.dequeue_many(CAPACITY + CROWD)) == [*range(CAPACITY), *(100 + k for k in range(CROWD))]
    assert [call.result() for call in calls] == [None] * CROWD


def test_a_close_that_cancels_ends_only_the_enqueues_that_are_not_stored(full):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    full.dequeue_many(CROWD // 2)
    full.close(cancel_pending_enqueues=True)
    for call in calls[: CROWD // 2]:
        assert call.result() is None
    for call in calls[CROWD // 2 :]:
        with pytest.raises(CancelledError):
            call.result()
    assert plain(full.dequeue_up_to(999))[-CROWD // 2 :] == [100 + k for k in range(CROWD // 2)]


def test_deadlines_of_a_crowd_end_its_waits(full):
    calls = [start_blocked(full, "enqueue", 100 + k, timeout=0.3) for k in range(CROWD)]
    for call in calls:
        with pytest.raises(DeadlineExceededError):
            call.result()
    assert (full.size(), waiting(full)) == (CAPACITY, (0, 0))


@pytest.mark.parametrize("crowd", [1, 2, CROWD])
@pytest.mark.parametrize("capacity", [CAPACITY, 2 * CAPACITY])
def test_every_row_of_a_crowd_arrives_once_and_in_the_order_of_its_thread(capacity, crowd):
    each, batch = 1_000, 50
    queue = FIFOQueue(capacity, np.int32, shapes=(2,))

    def put(thread):
        for k in range(each):
            queue.enqueue(np.array([thread, k], np.int32))

    threads = [threading.Thread(target=put, args=(k,)) for k in range(crowd)]
    for thread in threads:
        thread.start()
    rows = np.concatenate([queue.dequeue_many(batch) for _ in range(crowd * each // batch)])
    for thread in threads:
        thread.join()
    for k in range(crowd):
        assert rows[rows[:, 0] == k, 1].tolist() == list(range(each))
    assert queue.size() == 0
