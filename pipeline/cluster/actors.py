"""Actors shared by several programs: they hold references, and the object store has the data."""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable
from typing import Any

from pipeline.cluster.connect import LEFT, bare
from pipeline.conditions import ReentrantCondition
from pipeline.errors import AbortedError, FailedPreconditionError
from pipeline.workers.chunks import FailedItem

# Namespace for actor names, independent of the job.
NAMESPACE = "pipeline"

# Seconds until a call waiting in an actor asks again, because actors do not notice dead callers.
POLL = 1.0

_TAKEN_OVER = "another program consumes under the same shard or consumer= and has taken over: each needs its own"


class Lanes:
    """The actor behind `serve`: references to waiting batches, and to each consumer's current one.

    Args:
        consumers: Number of shards; None: the first consumer to ask gets the next batch.
        ahead: Number of batches that may wait for a consumer.
    """

    def __init__(self, consumers: int | None, ahead: int) -> None:
        self.consumers = consumers
        self._lanes: list[collections.deque[Any]] = [collections.deque() for _ in range(consumers or 1)]
        self._ahead = ahead
        self._in_work: dict[Hashable, tuple[int, Any]] = {}
        self._came = 0  # number of consumers so far
        self._asking: dict[Hashable, tuple[int, object]] = {}  # the latest ticket and call per consumer
        self._ended: FailedItem | bool = False
        self._changed = ReentrantCondition()

    def come(self) -> tuple[int | None, int]:
        """Return the number of shards (None: the first to ask gets the next batch), and a new consumer's ticket."""
        with self._changed:
            self._came += 1
            return self.consumers, self._came

    def put(self, number: int, references: list[Any]) -> bool:
        """Store a batch for its consumer; return False if there is no room within POLL."""
        lane = self._lanes[number % len(self._lanes)]
        return self._until(lambda: len(lane) < self._ahead, lambda: lane.append((number, references)))

    def end(self, error: FailedItem | None) -> None:
        """Mark the end of the batches."""
        with self._changed:
            self._ended = error or True
            self._changed.notify_all()

    def take(self, consumer: Hashable, share: int, ticket: int, done: int | None) -> Any:
        """Return the number and reference of a consumer's next batch.

        A consumer with an unfinished batch has come back: it gets the same batch again. From then on its earlier
        process, or another using the same name, gets an error.

        Only a consumer's latest call may take a batch, because an earlier one may still be waiting in a dead process.
        False: no batch within POLL. A FailedItem or None: there are no more.
        """
        lane, call = self._lanes[share], object()
        found: Any = False

        def replaced() -> bool:
            return self._asking[consumer][1] is not call

        def hand_out() -> None:
            nonlocal found
            if replaced():
                return
            if lane:
                found = self._in_work[consumer] = lane.popleft()
            else:
                found = self._ended if isinstance(self._ended, FailedItem) else None

        with self._changed:
            if ticket < self._asking.get(consumer, (0, None))[0]:
                return FailedItem(FailedPreconditionError(None, None, _TAKEN_OVER))
            self._asking[consumer] = ticket, call
            self._changed.notify_all()
            held = self._in_work.get(consumer)
            if held is not None and held[0] != done:
                return held
            self._in_work.pop(consumer, None)
        self._until(lambda: bool(lane or self._ended) or replaced(), hand_out)
        return found

    def through(self) -> bool:
        """Return whether all batches were taken and the consumers are done with them; waits for POLL."""
        return self._until(lambda: not self._in_work and not any(self._lanes), lambda: None)

    def _until(self, ready: Callable[[], bool], then: Callable[[], None]) -> bool:
        with self._changed:
            done = self._changed.wait_for(ready, POLL)
            if done:
                then()
                self._changed.notify_all()
            return done


def place(ray: Any, kind: type, name: str | None, found: bool, *args: Any) -> Any:
    """Make an actor; if `found`, or find the existing one by name. It ends with its program.

    Raises:
        ValueError: The name exists, and `found` is False.
    """
    options = {"name": name, "namespace": NAMESPACE, "get_if_exists": found, "num_cpus": 0, "max_concurrency": 64}
    return ray.remote(kind).options(**options).remote(*args)


def ask(ray: Any, what: str, method: Any, *args: Any) -> Any:
    """Call an actor's method and return its result.

    Raises:
        AbortedError: The actor has ended, or this process has left the cluster.
        Exception: The exception in its FailedItem.
    """
    if not ray.is_initialized():
        raise AbortedError(None, None, f"{what} cannot be reached: {LEFT}")
    try:
        result = bare(ray.get)(bare(type(method)._remote)(method, args, {}))
    except ray.exceptions.RayActorError as error:
        text = f"{what} ended with the program or machine that held it, and its contents are lost"
        raise AbortedError(None, None, text) from error
    except (Exception, SystemExit) as error:  # Ray raises SystemExit in calls when it shuts down
        if ray.is_initialized() and type(error) is not Exception:  # Exception: another cluster's actor
            raise
        raise AbortedError(None, None, f"{what} cannot be reached: {LEFT}") from error
    if isinstance(result, FailedItem):
        raise result.error
    return result
