"""ReentrantCondition: a Condition for signal handlers, never left locked by Ctrl-C."""

from __future__ import annotations

import _thread
import collections
import threading
from typing import Any


class ReentrantCondition(_thread.RLock, threading.Condition):  # type: ignore[misc]
    """A Condition that is its own lock, so `with` enters it in C.

    A Condition's `__enter__` is Python code: Ctrl-C there, after the lock is taken and before the `with` begins, would
    leave it locked forever.
    """

    def __init__(self) -> None:
        self._waiters: collections.deque[Any] = collections.deque()

    def notify_all(self) -> None:
        if self._waiters:  # otherwise it takes 0.6 us
            super().notify_all()
