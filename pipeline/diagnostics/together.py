"""Iterators that take turns in one thread, such as in `zip(a, b)`: time in one's `next` is no work between the other's.

Nothing here costs anything for each element.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

_LEFT = 3  # times the mean time between two elements: a loop that ends so long after its last one was left before


class Together:
    """The iterators that a thread has begun, without those inside `next` of another one.

    Attributes:
        newest: When the last one began, by `time.perf_counter`.
    """

    def __init__(self) -> None:
        self.newest = 0.0
        self._running: dict[int, weakref.ref[Any]] = {}
        self._ended = 0.0  # seconds in `next` of those that have ended

    def _alive(self) -> list[Any]:
        return [loop for ref in list(self._running.values()) if (loop := ref()) is not None]

    def seconds(self) -> float:
        """Return how many seconds the thread has spent in `next`."""
        return sum((loop._waited for loop in self._alive()), start=self._ended)

    def enter(self, loop: Any) -> bool:
        """Add an iterator; return False if this thread is inside `next` of another one."""
        if any(each._owner == threading.get_ident() for each in self._alive() if each is not loop):
            return False
        self._running[id(loop)], self.newest = weakref.ref(loop), time.perf_counter()
        return True

    def leave(self, loop: Any) -> None:
        """Keep an ended iterator's seconds only."""
        if self._running.pop(id(loop), None) is not None:
            self._ended += loop._waited


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.together = Together()


_of_thread = _OfThread()


class Turns:
    """An iterator's turns in the thread that begins it, most likely its consumer.

    Args:
        loop: The iterator. Its `_waited` counts the seconds in its `next`, and `_taken_at` is when the last call ended.
    """

    def __init__(self, loop: Any) -> None:
        self._thread = together = _of_thread.together
        self._together: Together | None = together if together.enter(loop) else None
        self._before = together.seconds() - loop._waited  # of others, until it began
        self._elsewhere = 0.0  # until it ended

    def elsewhere(self, loop: Any) -> float:
        """Return how many seconds the thread has spent in `next` of other iterators, from its begin to its end."""
        together = self._together
        return self._elsewhere if together is None else max(0.0, together.seconds() - loop._waited - self._before)

    def idle(self, loop: Any) -> float:
        """Return for how many seconds an iterator has been left for one that began later; 0 if it was not."""
        return time.perf_counter() - loop._taken_at if 0 < loop._taken_at < self._thread.newest else 0.0

    def left(self, loop: Any, seconds: float, elements: int) -> float:
        """Return how long before its end an iterator was left, such as one closed long after its only element.

        Args:
            loop: The iterator; no call of its `next` ends it.
            seconds: From its begin to its end.
            elements: The number of its elements.
        """
        since = time.perf_counter() - loop._taken_at
        return since if since > _LEFT * (seconds - since) / max(1, elements) else self.idle(loop)

    def end(self, loop: Any) -> None:
        """Note the end; a second call changes nothing."""
        together = self._together
        if together is not None:
            self._elsewhere, self._together = self.elsewhere(loop), None
            together.leave(loop)
