"""Hold: a batch on its way from the queue to whoever asked for it, so that Ctrl-C does not lose it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class Hold:
    """Keeps what was taken from a queue until it is given. For the thread that holds the lock of the takes.

    A signal handler may raise between any two steps of Python. What was taken then is fetched again by the next take,
    and not counted a second time.
    """

    def __init__(self) -> None:
        self._taken: list[Any] = []
        self._before = 0

    def fetch(self, batches: int, take: Callable[..., Any], *args: Any) -> Any:
        """What the queue gives, or what it gave to a take that a signal handler has ended.

        Args:
            batches: How many were counted so far.
            take: Takes from the queue.
            args: Its arguments.
        """
        if not self._taken:
            self._before = batches
            # In C from the queue to the list: between two steps of Python a batch could be lost.
            self._taken.extend(itertools.starmap(take, (args,)))
        return self._taken[0]

    def is_counted(self, batches: int) -> bool:
        """Whether what is held is among the batches counted so far."""
        return batches > self._before

    def give(self) -> None:
        """What was fetched is given now, or no good."""
        self._taken.clear()
