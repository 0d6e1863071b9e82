"""SessionRun: a session run, as seen by its stateful operations; Resources: a session's objects."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from pipeline.errors import CancelledError, DeadlineExceededError
from pipeline.locks import Lock

T = TypeVar("T")

# Seconds between a waiting Python condition's checks for a cancelled run.
_POLL = 0.05


class SessionRun:
    """A session run: its state, its deadline, and whether it was cancelled.

    Thread safety: several threads may use one run.

    Args:
        resources: The session's resources.
        timeout: Maximum seconds for the run; None means no limit.
    """

    __slots__ = ("_cancelled", "_deadline", "resources")

    def __init__(self, resources: Resources, timeout: float | None = None) -> None:
        self.resources = resources
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._cancelled = False

    def state(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the session's object for `key`; the first call makes it with `make()`."""
        return self.resources.get(key, make)

    def remaining(self) -> float | None:
        """Return the remaining seconds; None if there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def hurried(self, timeout: float) -> SessionRun:
        """Return a run that ends after `timeout` seconds, or with this one if it ends sooner."""
        left = self.remaining()
        return SessionRun(self.resources, timeout if left is None else min(timeout, left))

    @property
    def cancelled(self) -> bool:
        """True if the run was cancelled, or its session closed."""
        return self._cancelled or self.resources.closed

    def cancel(self) -> None:
        """End all this run's waits with CancelledError."""
        self._cancelled = True
        self.resources.poke()

    def ended(self) -> None:
        """Check, after all operations, that the run may still return its results.

        Raises:
            CancelledError: The session was closed.
            DeadlineExceededError: The deadline has passed.
        """
        if self.resources.closed:
            raise CancelledError(None, None, "Run call was cancelled")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DeadlineExceededError(None, None, "Timed out waiting for notification")

    def wait_for(self, condition: threading.Condition, predicate: Callable[[], bool], what: str = "Dequeue") -> None:
        """Wait until `predicate()` is true; the caller holds `condition`.

        Args:
            condition: Notified when the result of `predicate` may have changed.
            predicate: The condition to wait for.
            what: The operation, for the error.

        Raises:
            CancelledError: The run was cancelled, or its session closed.
            DeadlineExceededError: The deadline has passed.
        """
        while not predicate():
            if self.cancelled:
                raise CancelledError(None, None, f"{what} operation was cancelled")
            left = self.remaining()
            if left == 0:
                raise DeadlineExceededError(None, None, "Timed out waiting for notification")
            condition.wait(_POLL if left is None else min(_POLL, left))


class Resources:
    """A session's resources: variables, queues, readers.

    Thread safety: all methods may be called from any thread.

    Attributes:
        closed: True if the session is closed; the session sets it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: dict[Hashable, Any] = {}
        self._waitables: list[Any] = []
        self.closed = False

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object for `key`; the first call makes it with `make()`."""
        try:
            return self._objects[key]  # type: ignore[no-any-return]
        except KeyError:
            pass
        with self._lock:
            if key not in self._objects:
                self._objects[key] = make()
            return self._objects[key]  # type: ignore[no-any-return]

    def find(self, key: Hashable) -> Any:
        """Return the object for `key`; None if there is none."""
        return self._objects.get(key)

    def wakes(self, waitable: Any) -> None:
        """Register an object with waiting calls; `poke` calls its `_poke()`."""
        with self._lock:
            self._waitables.append(waitable)

    def poke(self) -> None:
        """Make every waiting call check whether its run was cancelled."""
        with self._lock:
            waitables = list(self._waitables)
        for each in waitables:
            each._poke()


class _Current(threading.local):
    run: SessionRun | None = None


# This thread's current run; a queue checks it while a call waits.
current = _Current()
