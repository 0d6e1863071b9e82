"""StopFlag: an Event that a signal handler or a finalizer may set.

`threading.Event` deadlocks there: its lock is not reentrant, and the handler runs in the main thread, perhaps while it
is inside `wait` or `set`. The same holds for finalizers, which the garbage collector runs anywhere.
"""

from __future__ import annotations

import threading
import time

# Seconds between two looks of a wait: a handler may set the flag just before the wait can be notified.
_CHECK_INTERVAL = 1.0


class StopFlag:
    """As `threading.Event`. Thread safety: every method may be called from any thread, signal handler or finalizer.

    Attributes:
        raised: Whether it is set; reading it saves the 25 ns of a call of `is_set`.
    """

    def __init__(self) -> None:
        # Entered directly, not through the condition: a handler's exception cannot strike in between and leave it held.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)  # notified when the flag is set
        self.raised = False

    def is_set(self) -> bool:
        """Return True if the flag is set."""
        return self.raised

    def set(self) -> None:
        """Set the flag and wake every thread in `wait`."""
        self.raised = True
        with self._lock:
            self._condition.notify_all()

    def clear(self) -> None:
        """Reset the flag."""
        self.raised = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, for at most `timeout` seconds; return whether it is set."""
        if self.raised:
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self.raised:
                left = _CHECK_INTERVAL if deadline is None else min(deadline - time.monotonic(), _CHECK_INTERVAL)
                if left <= 0:
                    break
                self._condition.wait(left)
        return self.raised
