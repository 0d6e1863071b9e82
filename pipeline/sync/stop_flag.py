"""StopFlag: an Event that a signal handler or a finalizer may set.

`threading.Event` deadlocks there: its lock is not reentrant, and the handler runs in the main thread, perhaps while it
is inside `wait` or `set`. The same holds for finalizers, which the garbage collector runs anywhere. So there is no lock
for all here that one of them could find held, or leave held: each wait has a lock of its own.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque

from pipeline.dtypes import seconds

# Seconds between two looks of a wait: a handler that raises inside `set` may keep it from waking somebody.
_CHECK_INTERVAL = 1.0


class StopFlag:
    """As `threading.Event`. Thread safety: every method may be called from any thread, signal handler or finalizer.

    Attributes:
        raised: True if it is set; reading it saves the 25 ns of a call of `is_set`.
    """

    def __init__(self) -> None:
        self._bells: deque[threading.Lock] = deque()  # one for each wait, held until `set` takes it out and releases it
        self.raised = False

    def is_set(self) -> bool:
        """Return True if the flag is set."""
        return self.raised

    def set(self) -> None:
        """Set the flag and wake every thread in `wait`."""
        self.raised = True
        while True:
            try:
                bell = self._bells.popleft()  # only one thread or handler gets it
            except IndexError:
                return
            bell.release()

    def clear(self) -> None:
        """Reset the flag."""
        self.raised = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, for at most `timeout` seconds; return whether it is set.

        Raises:
            TypeError, ValueError: `timeout` is not a number.
        """
        deadline = math.inf if timeout is None else time.monotonic() + seconds(timeout, "timeout")
        while not self.raised:
            left = min(deadline - time.monotonic(), _CHECK_INTERVAL)
            if left <= 0:
                break
            if self._wait_once(left):
                return True  # also if it was cleared since
        return self.raised

    def _wait_once(self, seconds: float) -> bool:
        """Wait for `set`, at most so long; return whether it came."""
        bell = threading.Lock()
        bell.acquire()
        self._bells.append(bell)
        try:
            return self.raised or bell.acquire(timeout=seconds)  # `set` may have come before the bell was there
        finally:
            with contextlib.suppress(ValueError):  # `set` has taken it
                self._bells.remove(bell)
