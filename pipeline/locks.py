"""Lock and ReentrantCondition: never left locked by Ctrl-C."""

from __future__ import annotations

import _thread
import collections
import sys
import threading
from typing import Any

if sys.version_info < (3, 14):
    Lock = _thread.RLock
else:

    class Lock(_thread.RLock):  # type: ignore[misc]
        """A lock that its thread may take again, as a signal handler or a finalizer does.

        From Python 3.14 on, `with` checks for signals between a compiled `__enter__` and the block: Ctrl-C there would
        leave the lock locked forever. Python does not check after an operator, or when a Python function returns.
        """

        __pos__ = _thread.RLock.acquire

        def __enter__(self) -> bool:  # type: ignore[override]
            return +self


class ReentrantCondition(Lock, threading.Condition):  # type: ignore[misc]
    """A Condition that is its own lock.

    A Condition's `__enter__` is Python code that calls its lock's: Ctrl-C between the two would leave it locked.
    """

    def __init__(self) -> None:
        self._waiters: collections.deque[Any] = collections.deque()

    def notify_all(self) -> None:
        if self._waiters:  # otherwise it takes 0.6 us
            super().notify_all()
