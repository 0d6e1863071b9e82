"""A flag to wait for that a signal handler may set.

`threading.Event` is not one: its lock is not reentrant, and the handler runs in the main thread, maybe while that is in
`wait` or `set` itself; then both would wait for ever. The same goes for what the garbage collector runs.
"""

from __future__ import annotations

import threading
import time

# Seconds after which a wait looks again: a handler may set the flag just before the wait can be told of it.
_LOOK = 1.0


class StopFlag:
    """As `threading.Event`. Thread safety: every method may be called from everywhere, signal handlers included.

    Attributes:
        raised: Whether it is set, for those who ask so often that a call matters (25 ns).
    """

    def __init__(self) -> None:
        # Entered by itself, not through the condition: an exception of a handler cannot come between and leave it held.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)  # a notification says that the flag was set
        self.raised = False

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self.raised

    def set(self) -> None:
        """Set it and wake all that wait."""
        self.raised = True
        with self._lock:
            self._condition.notify_all()

    def clear(self) -> None:
        """Make it as new."""
        self.raised = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or `timeout` seconds are over; return whether it is set."""
        if self.raised:
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self.raised:
                left = _LOOK if deadline is None else min(deadline - time.monotonic(), _LOOK)
                if left <= 0:
                    break
                self._condition.wait(left)
        return self.raised
