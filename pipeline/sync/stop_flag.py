"""StopFlag: an Event for signal handlers and finalizers.

`threading.Event` deadlocks there: its lock is not reentrant, and the handler runs in the main thread, perhaps while it
is inside `wait` or `set`. The same holds for finalizers, because the garbage collector runs them anywhere. So there is
no shared lock for them to find held, or leave held: each wait has its own lock.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque

from pipeline.dtypes import seconds

# Seconds between checks in a wait: if a handler raises inside `set`, a thread may not be woken.
_CHECK_INTERVAL = 1.0


class StopFlag:
    """A `threading.Event` replacement. Thread safety: any thread, signal handler or finalizer may call every method.

    Attributes:
        raised: True if it is set; reading it saves the 25 ns for calling `is_set`.
    """

    __slots__ = ("_bells", "raised")  # steps read `raised` before each call

    def __init__(self) -> None:
        self._bells: deque[threading.Lock] = deque()  # one per wait, held until `set` takes it out and releases it
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
                return True  # even if it was cleared in the meantime
        return self.raised

    def _wait_once(self, seconds: float) -> bool:
        """Wait for `set`, at most `seconds`; return whether it was called."""
        bell = threading.Lock()
        bell.acquire()
        self._bells.append(bell)
        try:
            return self.raised or bell.acquire(timeout=seconds)  # `set` may have run before the bell was added
        finally:
            with contextlib.suppress(ValueError):  # taken by `set`
                self._bells.remove(bell)
