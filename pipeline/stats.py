"""QueueStats: a queue's statistics."""

from __future__ import annotations

from typing import NamedTuple


class QueueStats(NamedTuple):
    """A queue's statistics since its creation: a consistent snapshot.

    Attributes:
        capacity: Elements that fit; 2147483647 if unbounded.
        size: Elements in the queue now.
        closed: True if it is closed.
        enqueued, dequeued: Elements enqueued and dequeued so far.
        high_water: The largest size so far.
        enqueue_waits, dequeue_waits: Calls that had to wait.
        enqueue_wait_s, dequeue_wait_s: Seconds spent waiting, summed over all calls.
        empty_s: Seconds with no element available; an open shuffle queue holds back min_after_dequeue elements.
        full_s: Seconds with the queue full.
        age_s: Seconds since the queue was created.
        waiting_enqueues, waiting_dequeues: Calls waiting now.

    Examples:
        >>> queue = pipeline.FIFOQueue(10, "int32", [()])
        >>> queue.enqueue_many(np.arange(3))
        >>> stats = queue.stats()
        >>> stats.size, stats.high_water, stats.full_s
        (3, 3, 0.0)
    """

    capacity: int
    size: int
    closed: bool
    enqueued: int
    dequeued: int
    high_water: int
    enqueue_waits: int
    dequeue_waits: int
    enqueue_wait_s: float
    dequeue_wait_s: float
    empty_s: float
    full_s: float
    age_s: float
    waiting_enqueues: int
    waiting_dequeues: int
