"""The reason why a queue was closed, for the second line in its errors: "closed because ...", "closed by ..." etc.

Code with a reason calls `close` within `because(cause)`. The queue then reads the reason from `cause_of_closing`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pipeline.diagnostics.ends import EndOfInput
from pipeline.diagnostics.frames import Place, caller, shown
from pipeline.diagnostics.wording import count, named
from pipeline.diagnostics.workers import WorkerGroup, current_worker
from pipeline.stats import QueueStats


class Cause:
    """Why a queue was closed.

    Attributes:
        error: The exception to blame, if any: it becomes the `__cause__` of the queue's errors.
        end: The facts in the queue's OutOfRangeErrors, for queues further down.
    """

    error: BaseException | None = None
    end = EndOfInput()

    def text(self, groups: list[WorkerGroup], stats: QueueStats) -> str:
        """Return the cause as one line for a message.

        Args:
            groups: The filling threads.
            stats: The queue's statistics.
        """
        raise NotImplementedError


class ClosedByCall(Cause):
    """The user called `close`."""

    def __init__(self, cancel: bool) -> None:
        self._call = "close(cancel_pending_enqueues=True)" if cancel else "close()"
        self._place = caller()

    def text(self, groups: list[WorkerGroup], stats: QueueStats) -> str:
        return f"{_if_empty(stats)}closed by {self._call}{_at(self._place)}"


class LeftBlock(Cause):
    """The queue's `with` block ended by an exception.

    Args:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        name, place = threading.current_thread().name, caller()
        self._text = f"thread '{name}' left the queue's `with` block{_at(place)} by {named(error)}"
        self.error = error
        self.end = EndOfInput(failed=self._text)

    def text(self, groups: list[WorkerGroup], stats: QueueStats) -> str:
        return f"closed because {self._text}"


class StoppedByCoordinator(Cause):
    """A Coordinator was asked to stop, perhaps after a failure.

    Args:
        error: The reported exception; None if there was none, or only a clean stop.
    """

    def __init__(self, error: BaseException | None) -> None:
        worker = current_worker()
        failure = None if worker is None else worker.failure
        known = error is not None and failure is not None and failure.error is error
        self._failure = failure if known else None
        self._place = caller()
        self._thread = threading.current_thread().name
        self.error = error
        if error is not None:
            self.end = EndOfInput(failed=self._failed(own=False))

    def _failed(self, own: bool) -> str:
        assert self.error is not None
        if self._failure is not None:
            return self._failure.text(own)
        return f"thread '{self._thread}' reported an error to its Coordinator{_at(self._place)}: {named(self.error)}"

    def text(self, groups: list[WorkerGroup], stats: QueueStats) -> str:
        if self.error is not None:
            return "closed because " + self._failed(self._failure is not None and self._failure.group in groups)
        by = "" if self._place else f" in thread '{self._thread}'"
        return f"{_if_empty(stats)}closed by coord.request_stop(){by}{_at(self._place)}"


class InputUsedUp(Cause):
    """A QueueRunner's threads reached the end of their input."""

    def __init__(self, group: WorkerGroup) -> None:
        ends, self._failures = group.ends()
        self._group = group
        self._reached = len(ends)
        epochs = [end.epochs for end, _ in ends if end.epochs is not None]
        whys = [end.why for end, _ in ends if end.why is not None]
        failed, error = next(((end.failed, error) for end, error in ends if end.failed is not None), (None, None))
        if failed is None and self._failures:
            failed, error = self._failures[0].text(own=False), self._failures[0].error
        self.error = error
        self.end = EndOfInput(max(epochs, default=None), whys[0] if whys else None, failed)

    def text(self, groups: list[WorkerGroup], stats: QueueStats) -> str:
        if self.end.failed is not None and not self._failures:
            return f"closed because {self.end.failed}"
        if self._failures:
            own = self._group in groups
            reached = f"{self._reached} of {count(self._group.size, 'thread')} reached the end of the input"
            return f"{reached}, but {self._failures[0].text(own)}"
        if stats.enqueued == 0 and self.end.why is not None:
            return f"no element was ever enqueued: {self.end.why}"
        who = self._group.at_end()
        after = "" if self.end.epochs is None else f" after {count(self.end.epochs, 'epoch')}"
        if stats.enqueued == 0:
            return f"no element was ever enqueued: {who} input{after} without one"
        return f"{who} input{after}: {count(stats.enqueued, 'element')} in, {stats.dequeued:,} out"


_thread = threading.local()


@contextlib.contextmanager
def because(cause: Cause | None) -> Iterator[None]:
    """Record a cause for every queue closed by this thread within the body."""
    outer = getattr(_thread, "cause", None)  # from a body interrupted by a signal handler
    _thread.cause = cause
    try:
        yield
    finally:
        _thread.cause = outer


def cause_of_closing(cancel: bool) -> Cause:
    """Return why this thread closes a queue now; outside of `because`, the user called `close`."""
    return getattr(_thread, "cause", None) or ClosedByCall(cancel)


def _at(place: Place | None) -> str:
    return "" if place is None else f" at {shown(place)}"


def _if_empty(stats: QueueStats) -> str:
    return "" if stats.enqueued else "no element was ever enqueued; "
