"""What a queue knows about those who fill it: why it was closed, and whether a wait can end at all."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from pipeline.errors import FailedPreconditionError
from pipeline.explain.causes import Cause
from pipeline.explain.ends import End
from pipeline.explain.frames import shown
from pipeline.explain.wording import count
from pipeline.explain.workers import Crew, current_worker

if TYPE_CHECKING:
    from pipeline.queues.typed import TypedQueue

# Seconds after which a wait is looked at again; also how long the filling of a pool may take without a word.
LOOK = 2.0

_log = logging.getLogger("pipeline")


class Watch:
    """Kept by a queue, asked when a call waits or fails.

    Thread safety: every method may be called from every thread; a lock guards the cause and the list of crews.

    Args:
        minimum: The elements that a shuffle queue keeps back; 0 for other queues.
    """

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._lock = threading.RLock()  # reentrant: a signal handler, or an object that dies, may close the queue
        self._crews: tuple[Crew, ...] = ()
        self._cause: Cause | None = None
        self._filling_since: tuple[float, int] | None = None  # time, and the elements that had come
        self._told = minimum == 0

    def filled_by(self, crew: Crew) -> None:
        """Note that there is a QueueRunner for this queue."""
        with self._lock:
            self._crews += (crew,)

    def closing(self, cause: Cause) -> bool:
        """Note why the queue is about to be closed; False if a cause is known already."""
        with self._lock:
            first = self._cause is None
            if first:
                self._cause = cause
            return first

    def not_closed(self) -> None:
        """Forget the cause: the queue was not closed after all."""
        with self._lock:
            self._cause = None

    def explain(self, queue: TypedQueue) -> tuple[str, BaseException | None, End]:
        """Return why the queue is closed: as a line, the exception that is to blame, and what to hand on."""
        cause, crews = self._cause, self._crews
        if cause is None:
            return "", None, End()
        stats = queue.stats()
        end = cause.end
        text = cause.text(list(crews), stats)
        if stats.enqueued == 0 and end.failed is None and end.why is None:
            end = end._replace(why=f"nothing ever came into {queue._kind} '{queue.name}'")
        return "\n" + text, cause.error, end

    def about_to_wait(self, queue: TypedQueue, call: str) -> float | None:
        """Check that a dequeue has somebody to wait for; return when to look again.

        Raises:
            FailedPreconditionError: The queue's runners were never started, or all of their threads failed.
        """
        crews = self._crews
        if not crews and self._told:
            return None
        if crews:
            # A thread of a QueueRunner may only be ahead of the one that starts them all, one after the other.
            if current_worker() is None and not any(crew.begun for crew in crews):
                self._never_started(queue, call)
            self._all_lost(queue, call)
        if not self._told and self._filling_since is None:
            self._filling_since = time.monotonic(), queue.stats().enqueued
        return LOOK

    def still_waiting(self, queue: TypedQueue, call: str) -> float | None:
        """Look at a dequeue that has waited for some time; return when to look again."""
        crews = self._crews
        if crews:
            if all(crew.idle() for crew in crews):
                self._never_started(queue, call)
            self._all_lost(queue, call)
        if not self._told:
            self._tell_filling(queue)
        return None if not crews and self._told else LOOK

    def _never_started(self, queue: TypedQueue, call: str) -> None:
        """Raise, unless somebody else enqueues as well."""
        if queue.stats().enqueued:
            return
        crews = self._crews
        threads = count(sum(crew.size for crew in crews), "thread")
        made = next((f" made at {shown(crew.made_at)}" for crew in crews if crew.made_at is not None), "")
        which = f"its QueueRunner ({threads})" if len(crews) == 1 else f"its {len(crews)} QueueRunners ({threads})"
        verb = "was" if len(crews) == 1 else "were"
        text = f"{call} of {queue._kind} '{queue.name}' would wait for ever: {which}{made} {verb} never started."
        raise FailedPreconditionError(None, None, f"{text}\n{_missing_call(crews[0])}")

    def _all_lost(self, queue: TypedQueue, call: str) -> None:
        """Raise if no thread is left to fill the queue or close it, and one failed without anybody hearing of it."""
        failures = [crew.lost() for crew in self._crews]
        failure = failures[0]
        if failure is None or None in failures or queue.is_closed():
            return
        text = f"{call} of {queue._kind} '{queue.name}' would wait for ever: {failure.text(own=True)}"
        hint = "With a Coordinator the failure would have closed the queue."
        raise FailedPreconditionError(None, None, f"{text}\n{hint}") from failure.error

    def _tell_filling(self, queue: TypedQueue) -> None:
        stats = queue.stats()
        if stats.closed or stats.size >= self._minimum or self._filling_since is None:
            return
        self._told = True
        since, before = self._filling_since
        rate = (stats.enqueued - before) / max(time.monotonic() - since, 1e-9)
        left = f"{rate:,.0f}/s, about {(self._minimum - stats.size) / rate:,.0f} s left" if rate else "none came lately"
        text = "filling %s '%s': %s of the %s elements that it keeps to draw from (%s)"
        _log.info(text, queue._kind, queue.name, f"{stats.size:,}", f"{self._minimum:,}", left)


def _missing_call(crew: Crew) -> str:
    if crew.begun:
        return "Its threads were made: call start() of each, or make them with create_threads(coord=coord, start=True)."
    if crew.listed is None:
        return (
            "Call runner.create_threads(coord=coord, start=True) first, "
            "or pipeline.add_queue_runner(runner) and then pipeline.start_queue_runners(coord=coord)."
        )
    collection = "" if crew.listed else ", collection=the list that it is on"
    return f"Call pipeline.start_queue_runners(coord=coord{collection}) first."
