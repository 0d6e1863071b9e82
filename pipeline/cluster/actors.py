"""What several programs share: actors that hold references, while the data lie in the object store."""

from __future__ import annotations

import collections
import importlib
import itertools
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from pipeline.cluster.connect import LEFT
from pipeline.errors import AbortedError, DeadlineExceededError
from pipeline.queues.kinds import FIFOQueue, RandomShuffleQueue
from pipeline.workers.chunks import FailedItem

# Where names of actors are looked up, whatever the job.
NAMESPACE = "pipeline"

# Seconds after which a call that waits in an actor asks again: nobody knows there that a caller has died.
POLL = 1.0


class Rows:
    """The actor behind a RemoteQueue: a queue of which row of which block comes next, and the references to the blocks.

    Args:
        what: What must be the same for all who use the queue by this name: capacity, dtypes, ...
        capacity, min_after_dequeue, seed: Of the queue; `min_after_dequeue` is None for one in order.
    """

    def __init__(self, what: Any, capacity: int, min_after_dequeue: int | None, seed: int | None) -> None:
        self._what = what
        form: tuple[Any, Any] = (["int64", "int64"], [(), ()])
        self._queue = (
            FIFOQueue(capacity, *form)
            if min_after_dequeue is None
            else RandomShuffleQueue(capacity, min_after_dequeue, *form, seed=seed)
        )
        self._lock = threading.Lock()
        self._number = 0
        self._blocks: dict[int, list[Any]] = {}  # by number: the reference, and how many rows are still in the queue

    def what(self) -> Any:
        """What it was made with."""
        return self._what

    def add(self, block: Any, rows: int) -> int:
        """Hold a block, whose rows are to be enqueued; return its number."""
        reference = importlib.import_module("ray").put(block)  # this actor owns it, so it outlives who enqueues it
        with self._lock:
            self._number += 1
            self._blocks[self._number] = [reference, rows]
            return self._number

    def enqueue(self, block: int, first: int, end: int) -> Any:
        """Enqueue rows of a block, as many as fit within POLL; return the next one, or a FailedItem."""
        deadline = time.monotonic() + POLL
        for row in range(first, end):
            try:
                self._queue.enqueue((block, row), timeout=max(0.0, deadline - time.monotonic()))
            except DeadlineExceededError:
                return row
            except Exception as error:
                self._drop(block, end - row)
                return FailedItem(error)
        return end

    def give_up(self, block: int, rows: int) -> None:
        """So many rows of a block will not be enqueued."""
        self._drop(block, rows)

    def dequeue(self, n: int, up_to: bool, timeout: float) -> Any:
        """Dequeue n rows, or at the end fewer: references and the rows of each; or a FailedItem."""
        try:
            taken = (self._queue.dequeue_up_to if up_to else self._queue.dequeue_many)(n, timeout=timeout)
        except Exception as error:
            return FailedItem(error)
        numbers, rows = (np.asarray(each) for each in taken)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        found = []
        for begin, end in itertools.pairwise(starts):
            if begin < end:
                found.append((self._drop(int(numbers[begin]), end - begin), rows[begin:end]))
        return found

    def size(self) -> int:
        """How many rows are there."""
        return int(self._queue.size())

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Close the queue."""
        self._queue.close(cancel_pending_enqueues)

    def is_closed(self) -> bool:
        """Whether it is closed."""
        return bool(self._queue.is_closed())

    def _drop(self, block: int, rows: int) -> Any:
        with self._lock:
            held = self._blocks[block]
            held[1] -= rows
            if held[1] == 0:
                del self._blocks[block]
            return held[0]


class Lanes:
    """The actor behind `serve`: references to batches that nobody has taken yet, and to those that each has in work.

    Args:
        consumers: How many shares there are; None: whoever asks first gets the next batch.
        ahead: How many batches may wait for a consumer.
    """

    def __init__(self, consumers: int | None, ahead: int) -> None:
        self.consumers = consumers
        self._lanes: list[collections.deque[Any]] = [collections.deque() for _ in range(consumers or 1)]
        self._ahead = ahead
        self._in_work: dict[Hashable, tuple[int, Any]] = {}
        self._ended: FailedItem | bool = False
        self._changed = threading.Condition()

    def shares(self) -> int | None:
        """How many shares there are; None: whoever asks first gets the next batch."""
        return self.consumers

    def put(self, number: int, references: list[Any]) -> bool:
        """Have a batch wait for its consumer; return False if there is no room within POLL."""
        lane = self._lanes[number % len(self._lanes)]
        return self._until(lambda: len(lane) < self._ahead, lambda: lane.append((number, references)))

    def end(self, error: FailedItem | None) -> None:
        """There are no more batches."""
        with self._changed:
            self._ended = error or True
            self._changed.notify_all()

    def take(self, consumer: Hashable, share: int, done: int | None) -> Any:
        """The next batch of a consumer, after the one that it is done with: its number and reference.

        A consumer that has one in work and does not say that it is done with it has come back: it gets the same again.
        False: none came within POLL. A FailedItem or None: there are no more.
        """
        lane = self._lanes[share]
        found: Any = False

        def hand_out() -> None:
            nonlocal found
            if lane:
                found = self._in_work[consumer] = lane.popleft()
            else:
                found = self._ended if isinstance(self._ended, FailedItem) else None

        with self._changed:
            held = self._in_work.get(consumer)
            if held is not None and held[0] != done:
                return held
            self._in_work.pop(consumer, None)
            self._changed.notify_all()
        self._until(lambda: bool(lane or self._ended), hand_out)
        return found

    def through(self) -> bool:
        """Whether all batches were taken, and the consumers are done with them; waits for POLL."""
        return self._until(lambda: not self._in_work and not any(self._lanes), lambda: None)

    def _until(self, ready: Callable[[], bool], then: Callable[[], None]) -> bool:
        with self._changed:
            done = self._changed.wait_for(ready, POLL)
            if done:
                then()
                self._changed.notify_all()
            return done


def place(ray: Any, kind: type, name: str | None, found: bool, *args: Any) -> Any:
    """Make an actor; if `found`, or find that of the name. It ends with the program that made it.

    Raises:
        ValueError: There is one of that name, and it may not be found.
    """
    options = {"name": name, "namespace": NAMESPACE, "get_if_exists": found, "num_cpus": 0, "max_concurrency": 64}
    return ray.remote(kind).options(**options).remote(*args)


def ask(ray: Any, what: str, method: Any, *args: Any) -> Any:
    """Return what a method of an actor returns.

    Raises:
        AbortedError: The actor has ended, or this process has left the cluster.
        Exception: What its FailedItem holds.
    """
    if not ray.is_initialized():  # Ray would make another cluster
        raise AbortedError(None, None, f"{what} cannot be asked: {LEFT}")
    try:
        result = ray.get(method.remote(*args))
    except ray.exceptions.RayActorError as error:
        text = f"{what} has ended, with the program or the machine that held it, and what was in it is gone"
        raise AbortedError(None, None, text) from error
    if isinstance(result, FailedItem):
        raise result.error
    return result
