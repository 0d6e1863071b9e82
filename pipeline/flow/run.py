"""Run: what the streams of one iterator share."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.errors import CancelledError, DeadlineExceededError
from pipeline.on_error import Skips
from pipeline.runners.stop_flag import StopFlag

if TYPE_CHECKING:
    from typing_extensions import Self

    from pipeline.runners.coordinator import Coordinator


class _Serving(threading.local):
    """The thread.

    Attributes:
        bell: That of the run that it works for now, as a worker or ahead of it; None for others.
    """

    bell: StopFlag | None = None


serving = _Serving()


class Run:
    """What the streams of one iterator share.

    Attributes:
        bell: Is raised when the iterator is closed; waits look at it.
        deadline: Until when `next` may wait, by `time.monotonic`; None for no limit.
        leave: If this is set, nobody waits for what `next` gives any longer; None for a call that is not awaited.
        overdue: The error that was raised last because the time was up.
        dropped: How many examples of a remainder were dropped, in a list that threads share.
        skipped: The errors that were skipped.
        grace: How many seconds threads get to end, in a list that threads share.
        stops_with: The user's Coordinator, which ends the iterator when it stops; None if there is none.
    """

    def __init__(self, name: str, stops_with: Coordinator | None = None) -> None:
        self.name, self.stops_with = name, stops_with
        self.deadline: float | None = None
        self.leave: StopFlag | None = None
        self.overdue: DeadlineExceededError | None = None
        self.dropped = [0]
        self.grace = [10.0]
        self.skipped = Skips("skip", None)
        self.bell = StopFlag()
        self._on_stop: list[Callable[[], object]] = []

    @property
    def stopped(self) -> bool:
        """Whether the iterator is closed."""
        return self.bell.raised

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for elements any more: it is closed, or its Coordinator has stopped."""
        return self.bell.raised or (self.stops_with is not None and self.stops_with.should_stop())

    def stop(self) -> None:
        """End all waits, those to come too."""
        self.bell.set()
        while calls := tuple(self._on_stop):
            for call in reversed(calls):
                call()  # an interrupt within it leaves it in the list, for the next `stop`
                with contextlib.suppress(ValueError):  # another thread or handler, in `stop` too, was first
                    self._on_stop.remove(call)

    def of_thread(self) -> Self:
        """Return the same for streams that a thread runs, where the time of `next` does not count."""
        other = copy.copy(self)
        other.deadline = other.leave = None
        return other

    def on_stop(self, call: Callable[[], object]) -> None:
        """Have something called at the end; at once if that has come."""
        self._on_stop.append(call)
        if self.bell.raised:
            self.stop()

    @property
    def hurried(self) -> bool:
        """Whether whoever waits may go away before the element is there."""
        return self.deadline is not None or self.leave is not None

    @property
    def late(self) -> bool:
        """Whether nobody waits any longer."""
        if self.leave is not None and self.leave.raised:
            return True
        return self.deadline is not None and time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise what ends a wait.

        Raises:
            CancelledError: The iterator was closed, or its Coordinator stopped.
            DeadlineExceededError: The time of `next` is up.
        """
        if self.bell.raised:
            raise CancelledError(None, None, f"{self.name}: the iterator was closed")
        if self.stops_with is not None and self.stops_with.should_stop():
            raise CancelledError(None, None, f"{self.name}: its Coordinator was stopped")
        if self.late:
            text = f"{self.name}: no element within the timeout; nothing was lost"
            self.overdue = DeadlineExceededError(None, None, text)
            raise self.overdue

    def unhurried(self) -> Unhurried:
        """Return a context in which the time of `next` does not count: for work that would begin anew if it ended."""
        return Unhurried(self)

    def left(self, at_most: float) -> float:
        """Return how many seconds to wait at once."""
        if self.deadline is None:
            return at_most
        return max(0.0, min(at_most, self.deadline - time.monotonic()))


class Unhurried:
    """Lets a run have no deadline within a `with` block."""

    __slots__ = ("_before", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before = run.deadline, run.leave

    def __enter__(self) -> None:
        self._run.deadline = self._run.leave = None

    def __exit__(self, *_: object) -> None:
        self._run.deadline, self._run.leave = self._before


class Limited(Skips):
    """Counts the errors of one transformation, and for the iterator."""

    def __init__(self, run: Run, on_error: str, max_errors: int | None) -> None:
        super().__init__(on_error, max_errors)
        self._run = run

    def note(self, error: Exception) -> None:
        super().note(error)
        self._run.skipped.note(error)

    def _keep(self, error: Exception) -> None:
        """Leave that to those of the iterator."""
