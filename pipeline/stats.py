"""QueueStats: what a queue counts."""

from __future__ import annotations

from typing import NamedTuple


class QueueStats(NamedTuple):
    """What a queue has seen since it was made; one moment's consistent picture.

    Attributes:
        capacity: Elements that fit; 2147483647 if unbounded.
        size: Elements in the queue.
        closed: Whether it is closed.
        enqueued, dequeued: Elements that went in and came out.
        high_water: The largest size so far.
        enqueue_waits, dequeue_waits: Calls that could not be served at once.
        enqueue_wait_s, dequeue_wait_s: Seconds that calls spent blocked, summed over calls.
        empty_s: Seconds in which no element was available (a shuffle queue keeps its minimum back while it is open).
        full_s: Seconds in which the queue was full.
        age_s: Seconds since the queue was made.
        waiting_enqueues, waiting_dequeues: Calls that are blocked at this moment.
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
