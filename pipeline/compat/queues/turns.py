"""Turns: threads that take blocks from one place put them into a queue in the order in which they took them.

Without them a thread that took its block later may be faster, and whole files swap places.
"""

from __future__ import annotations

import threading


class Turns:
    """Numbers that threads draw when they take something, and are served by when they store it.

    Attributes:
        taking: Held while a thread takes something and draws its number.
    """

    def __init__(self) -> None:
        self.taking = threading.Lock()
        self._drawn = 0
        self._next = 0
        self._ended: set[int] = set()
        self._changed = threading.Condition()

    def draw(self) -> int:
        """Return the next number; call this with `taking` held."""
        self._drawn += 1
        return self._drawn - 1

    def wait(self, number: int) -> None:
        """Wait until all lower numbers have ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number)

    def end(self, number: int) -> None:
        """Let the numbers after this one go on; also if its thread failed before its turn came."""
        with self._changed:
            self._ended.add(number)
            while self._next in self._ended:
                self._ended.remove(self._next)
                self._next += 1
            self._changed.notify_all()
