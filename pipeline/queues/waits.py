"""Watchdog: raise when a dequeue would wait forever, log a slow fill, and remember why its queue was closed."""

from __future__ import annotations

import time
from typing import Protocol

from pipeline.diagnostics.ends import EndOfInput
from pipeline.diagnostics.frames import shown
from pipeline.diagnostics.wording import count
from pipeline.diagnostics.workers import WorkerGroup, WorkerRecord, current_worker
from pipeline.errors import FailedPreconditionError
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.queues.causes import Cause, InputUsedUp
from pipeline.stats import QueueStats

# Seconds between checks during a dequeue, and before a filling shuffle queue is logged.
CHECK_INTERVAL = 2.0

_log = logger("pipeline.queues")


class WatchedQueue(Protocol):
    """A queue's interface for its watchdog."""

    @property
    def name(self) -> str: ...

    @property
    def _kind_name(self) -> str: ...

    def stats(self) -> QueueStats: ...

    def is_closed(self) -> bool: ...


class Watchdog:
    """Watches one queue: checks whether a waiting dequeue can end, and explains why the queue is closed.

    Thread safety: you may call every method from every thread; a lock guards the cause and the list of groups.

    Args:
        min_after_dequeue: Elements retained by a shuffle queue; 0 for other queues.
    """

    def __init__(self, min_after_dequeue: int) -> None:
        self.min_after_dequeue = min_after_dequeue
        self._lock = Lock()
        self._groups: tuple[WorkerGroup, ...] = ()
        self._cause: Cause | None = None
        self._filling_since: tuple[float, int] | None = None  # the time, and the enqueued count at that time
        self._reported = min_after_dequeue == 0

    def filled_by(self, group: WorkerGroup) -> None:
        """Record a QueueRunner's filling threads."""
        with self._lock:
            self._groups += (group,)

    def closing(self, cause: Cause) -> bool:
        """Record why the queue is about to be closed; return False if a cause is known already."""
        with self._lock:
            first = self._cause is None
            if first:
                self._cause = cause
            return first

    def cut_off(self) -> bool:
        """Return whether the queue was closed before the end of its input."""
        return self._cause is not None and not isinstance(self._cause, InputUsedUp)

    def not_closed(self) -> None:
        """Forget the cause: closing the queue failed."""
        with self._lock:
            self._cause = None

    def why_closed(self, queue: WatchedQueue) -> tuple[str, BaseException | None, EndOfInput]:
        """Return why the queue is closed: a line of text, the exception to blame, and its input's end."""
        cause, groups = self._cause, self._groups
        if cause is None:
            return "", None, EndOfInput()
        stats = queue.stats()
        end = cause.end
        text = cause.text(list(groups), stats)
        if stats.enqueued == 0 and end.failed is None and end.why is None:
            end = end._replace(why=f"nothing was ever enqueued into {queue._kind_name} '{queue.name}'")
        return "\n" + text, cause.error, end

    def about_to_wait(self, queue: WatchedQueue, call: str) -> float | None:
        """Check, before a dequeue waits, whether anything can end the wait; return the seconds until the next check.

        Raises:
            FailedPreconditionError: The queue's runners were never started, or all their threads failed; or this thread
                is one of those that fill the queue.
        """
        groups = self._groups
        if not groups and self._reported:
            return None
        if groups:
            worker = current_worker()
            if worker is not None and worker.group.of_loop and worker.group in groups:
                self._asks_itself(queue, call, worker)
            # Another QueueRunner's thread may run before the call that starts all runners reaches this one.
            if worker is None and not any(group.begun for group in groups):
                self._never_started(queue, call)
            self._all_lost(queue, call)
        if not self._reported and self._filling_since is None:
            self._filling_since = time.monotonic(), queue.stats().enqueued
        return CHECK_INTERVAL

    def still_waiting(self, queue: WatchedQueue, call: str) -> float | None:
        """Check a dequeue that is waiting; return the seconds until the next check. Raises as `about_to_wait`."""
        groups = self._groups
        if groups:
            if all(group.idle() for group in groups):
                self._never_started(queue, call)
            self._all_lost(queue, call)
        if not self._reported:
            self._report_filling(queue)
        return None if not groups and self._reported else CHECK_INTERVAL

    def _never_started(self, queue: WatchedQueue, call: str) -> None:
        """Raise, unless elements arrived from elsewhere."""
        if queue.stats().enqueued:
            return
        groups = self._groups
        threads = count(sum(group.size for group in groups), "thread")
        made = next((f" made at {shown(group.made_at)}" for group in groups if group.made_at is not None), "")
        which = f"its QueueRunner ({threads})" if len(groups) == 1 else f"its {len(groups)} QueueRunners ({threads})"
        verb = "was" if len(groups) == 1 else "were"
        text = f"{call} of {queue._kind_name} '{queue.name}' would wait forever: {which}{made} {verb} never started."
        raise FailedPreconditionError(None, None, f"{text}\n{_missing_call(groups[0])}")

    def _asks_itself(self, queue: WatchedQueue, call: str, worker: WorkerRecord) -> None:
        who = worker.group.member(worker.number, own=True)
        text = f"{call} of {queue._kind_name} '{queue.name}' would wait forever: {who}"
        hint = "A source must not request batches from its own loop, and neither may a finalizer that runs in it."
        raise FailedPreconditionError(None, None, f"{text} requests batches that it makes itself.\n{hint}")

    def _all_lost(self, queue: WatchedQueue, call: str) -> None:
        """Raise if all runner threads are gone, the queue is still open, and a failure went unreported."""
        failures = [group.lost() for group in self._groups]
        failure = failures[0]
        if failure is None or None in failures or queue.is_closed():
            return
        text = f"{call} of {queue._kind_name} '{self._name_of(queue)}' would wait forever: {failure.text(own=True)}"
        hint = "With a Coordinator the failure would have closed the queue."
        raise FailedPreconditionError(None, None, f"{text}\n{hint}") from failure.error

    def _name_of(self, queue: WatchedQueue) -> str:
        """Return the public name."""
        return queue.name

    def _report_filling(self, queue: WatchedQueue) -> None:
        """Log once how far an open shuffle queue is from `min_after_dequeue`, and how fast it fills."""
        stats = queue.stats()
        if stats.closed or stats.size >= self.min_after_dequeue or self._filling_since is None:
            return
        self._reported = True
        since, before = self._filling_since
        rate = (stats.enqueued - before) / max(time.monotonic() - since, 1e-9)
        missing = self.min_after_dequeue - stats.size
        left = f"{rate:,.0f}/s, about {missing / rate:,.0f} s left" if rate else "none arrived recently"
        text = "filling %s '%s': %s elements of min_after_dequeue=%s (%s)%s"
        # The user's own threads are unknown here, and may have ended.
        hint = (
            "" if self._groups or rate else ". coord.close_on_stop(queue) ends this wait when a thread of yours fails"
        )
        _log.info(text, queue._kind_name, queue.name, f"{stats.size:,}", f"{self.min_after_dequeue:,}", left, hint)


def _missing_call(group: WorkerGroup) -> str:
    if group.begun:
        return "Its threads were created but not started: call start() on each, or pass start=True to create_threads."
    if group.listed is None:
        return (
            "Call runner.create_threads(coord=coord, start=True) first, "
            "or pipeline.add_queue_runner(runner) and then pipeline.start_queue_runners(coord=coord)."
        )
    collection = "" if group.listed else ", collection=the list it is on"
    return f"Call pipeline.start_queue_runners(coord=coord{collection}) first."
