"""Run: what an operation with state knows of the session run that it is part of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from pipeline.errors import CancelledError, DeadlineExceededError

T = TypeVar("T")

# How often a wait on a Python condition looks whether its run was cancelled (seconds).
_SLICE = 0.05


class Run:
    """One run of a session: its state, its deadline, and whether it was cancelled.

    Thread safety: several threads may use one run.

    Args:
        resources: What the session holds.
        timeout: Seconds that the run may take; None is without limit.
    """

    __slots__ = ("_cancelled", "_deadline", "resources")

    def __init__(self, resources: Resources, timeout: float | None = None) -> None:
        self.resources = resources
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._cancelled = False

    def state(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the session's object for `key`, made by `make()` when it is first asked for."""
        return self.resources.get(key, make)

    def remaining(self) -> float | None:
        """Seconds left; None if there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the run, or the whole session, is to end."""
        return self._cancelled or self.resources.closed

    def cancel(self) -> None:
        """End every wait of this run with CancelledError."""
        self._cancelled = True
        self.resources.poke()

    def ended(self) -> None:
        """What a run whose operations are done says that was to end before.

        Raises:
            CancelledError: The session was closed.
            DeadlineExceededError: The time is over.
        """
        if self.resources.closed:
            raise CancelledError(None, None, "Run call was cancelled")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DeadlineExceededError(None, None, "Timed out waiting for notification")

    def wait_for(self, condition: threading.Condition, predicate: Callable[[], bool], what: str = "Dequeue") -> None:
        """Wait, with `condition` held, until `predicate()` is true.

        Raises:
            CancelledError: The run was cancelled, or the session closed.
            DeadlineExceededError: The time is over.
        """
        while not predicate():
            if self.cancelled:
                raise CancelledError(None, None, f"{what} operation was cancelled")
            left = self.remaining()
            if left == 0:
                raise DeadlineExceededError(None, None, "Timed out waiting for notification")
            condition.wait(_SLICE if left is None else min(_SLICE, left))


class Resources:
    """What lives as long as a session: variables, queues, readers.

    Thread safety: every method may be called from every thread.

    Attributes:
        closed: Whether the session is closed; the session sets it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._objects: dict[Hashable, Any] = {}
        self._waitables: list[Any] = []
        self.closed = False

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object for `key`, made by `make()` when it is first asked for."""
        try:
            return self._objects[key]  # type: ignore[no-any-return]
        except KeyError:
            pass
        with self._lock:
            if key not in self._objects:
                self._objects[key] = make()
            return self._objects[key]  # type: ignore[no-any-return]

    def wakes(self, waitable: Any) -> None:
        """Let `poke` reach an object: its `_poke()` makes calls that wait in it look at their runs."""
        with self._lock:
            self._waitables.append(waitable)

    def poke(self) -> None:
        """Make all calls that wait look whether their run was cancelled."""
        with self._lock:
            waitables = list(self._waitables)
        for each in waitables:
            each._poke()


class _Current(threading.local):
    run: Run | None = None


# The run that this thread works for; queues ask it when a call waits.
current = _Current()
