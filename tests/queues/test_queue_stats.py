"""`stats()`: one moment's picture of a queue."""

import numpy as np
import pytest
from helpers import raises, start_blocked, wait_until

from pipeline import FIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError

FIELDS = [
    *["capacity", "size", "closed", "enqueued", "dequeued", "high_water", "enqueue_waits", "dequeue_waits"],
    *["enqueue_wait_s", "dequeue_wait_s", "empty_s", "full_s", "age_s", "waiting_enqueues", "waiting_dequeues"],
]


@pytest.fixture
def queue():
    return FIFOQueue(3, np.int32, shapes=())


def test_a_new_queue(queue):
    stats = queue.stats()
    assert stats._fields == tuple(FIELDS)
    assert stats.capacity == 3
    assert not stats.closed
    assert stats.age_s >= 0
    wanted_zero = set(FIELDS) - {"capacity", "closed", "age_s", "empty_s"}
    assert {name: getattr(stats, name) for name in wanted_zero} == dict.fromkeys(wanted_zero, 0)


def test_the_record_is_frozen(queue):
    with pytest.raises(AttributeError):
        queue.stats().size = 1


def test_counts(queue):
    queue.enqueue(1)
    queue.enqueue_many([[2, 3]])
    queue.dequeue_many(2)
    queue.enqueue(4)
    queue.close()
    stats = queue.stats()
    assert (stats.enqueued, stats.dequeued, stats.size, stats.high_water, stats.closed) == (4, 2, 2, 3, True)


def test_what_failed_does_not_count(queue):
    queue.enqueue_many([[1, 2, 3]])
    with raises(DeadlineExceededError):
        queue.enqueue(4, timeout=0)
    with raises(DeadlineExceededError):
        queue.dequeue_many(5, timeout=0)
    with raises(ValueError):
        queue.enqueue([[1, 2]])
    stats = queue.stats()
    assert (stats.enqueued, stats.dequeued, stats.size) == (3, 0, 3)


def test_what_was_put_back_at_close_does_not_count(queue):
    queue.enqueue_many([[1, 2]])
    call = start_blocked(queue, "dequeue_many", 3)
    queue.close()
    assert call.exception() is not None
    stats = queue.stats()
    assert (stats.enqueued, stats.dequeued, stats.size) == (2, 0, 2)


def test_blocked_calls(queue):
    queue.enqueue_many([[1, 2, 3]])
    calls = [start_blocked(queue, "enqueue", value) for value in (4, 5)]
    stats = queue.stats()
    assert (stats.waiting_enqueues, stats.waiting_dequeues) == (2, 0)
    queue.dequeue_many(2)
    assert [call.result() for call in calls] == [None, None]
    stats = queue.stats()
    assert (stats.waiting_enqueues, stats.enqueue_waits, stats.dequeue_waits) == (0, 2, 0)
    assert stats.enqueue_wait_s > 0
    assert stats.dequeue_wait_s == 0


def test_waits_of_the_other_side(queue):
    call = start_blocked(queue, "dequeue")
    assert queue.stats().waiting_dequeues == 1
    queue.enqueue(1)
    call.result()
    stats = queue.stats()
    assert (stats.waiting_dequeues, stats.enqueue_waits, stats.dequeue_waits) == (0, 0, 1)
    assert stats.dequeue_wait_s > 0


def test_calls_that_are_served_at_once_are_no_waits(queue):
    queue.enqueue_many([[1, 2, 3]])
    queue.dequeue_many(3)
    stats = queue.stats()
    assert (stats.enqueue_waits, stats.dequeue_waits) == (0, 0)


def test_times_fit_together(queue):
    queue.enqueue_many([[1, 2, 3]])
    with raises(DeadlineExceededError):
        queue.enqueue(4, timeout=0.02)
    full = queue.stats()
    queue.dequeue_many(3)
    with raises(DeadlineExceededError):
        queue.dequeue(timeout=0.02)
    empty = queue.stats()
    assert full.full_s > 0
    assert empty.empty_s > full.empty_s
    for stats in (full, empty):
        assert 0 <= stats.empty_s + stats.full_s <= stats.age_s + 0.01
    assert empty.age_s > full.age_s


def test_no_limit():
    assert FIFOQueue(-1, np.int32).stats().capacity == 2147483647


@pytest.mark.parametrize("kind", [RandomShuffleQueue, PriorityQueue])
def test_other_kinds(kind):
    shuffled = kind is RandomShuffleQueue
    queue = kind(5, 1, np.int32, shapes=()) if shuffled else kind(5, np.int32, shapes=())
    queue.enqueue_many([[1, 2, 3]] if shuffled else ([1, 2, 3], [1, 2, 3]))
    queue.dequeue_many(2)
    stats = queue.stats()
    assert (stats.enqueued, stats.dequeued, stats.size, stats.high_water) == (3, 2, 1, 3)


def test_waits_that_are_still_going_on_count(queue):
    """Times grow while the calls sleep, without waking a thread."""
    taking = start_blocked(queue, "dequeue")
    wait_until(lambda: queue.stats().dequeue_wait_s > 0.01, "the wait to be counted")
    assert queue.stats().enqueue_wait_s == 0
    queue.enqueue_many([[1, 2, 3, 4]])
    taking.result()
    ended = queue.stats().dequeue_wait_s
    assert ended > 0.01
    putting = start_blocked(queue, "enqueue", 5)
    wait_until(lambda: queue.stats().enqueue_wait_s > 0.01, "the wait to be counted")
    assert queue.stats().dequeue_wait_s == ended
    queue.dequeue()
    putting.result()
