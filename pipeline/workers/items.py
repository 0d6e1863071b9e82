"""What `map_ahead` takes its items from: an iterable, a function that reads, a queue."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.errors import DeadlineExceededError
from pipeline.queues.base import QueueBase

# Seconds between two checks, in a thread that waits, of whether its loop has ended.
CHECK_INTERVAL = 0.1


class LoopLeft(Exception):
    """A wait for the next item is in vain."""


class Elements(Iterator[Any]):
    """The elements of a queue. Nothing wakes a thread that waits in a queue that is not its loop's own, so it checks.

    Attributes:
        stopped: Whether the loop has ended.
    """

    def __init__(self, queue: QueueBase) -> None:
        self.stopped: Callable[[], bool] = lambda: False
        self._queue = queue

    def __next__(self) -> Any:
        while True:
            try:
                return self._queue.dequeue(timeout=CHECK_INTERVAL)
            except DeadlineExceededError:
                if self.stopped():
                    raise LoopLeft from None


class Calls(Iterator[Any]):
    """What a function gives, call by call, such as records that it reads."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def __next__(self) -> Any:
        return self._function()


def items_of(source: Any) -> Iterator[Any]:
    """An iterator over items; it ends with StopIteration or OutOfRangeError. TypeError for what has none."""
    if isinstance(source, QueueBase):
        return Elements(source)
    if inspect.isgeneratorfunction(source):
        return iter(source())
    if callable(source) and not hasattr(type(source), "__iter__"):
        return Calls(source)
    if is_sequence(source) and not hasattr(type(source), "__iter__"):  # such as a Dataset of PyTorch: it knows no end
        return map(source.__getitem__, range(len(source)))
    return iter(source)


def is_sequence(items: Any) -> bool:
    """Whether the items can be had by number; a mapping's cannot."""
    return hasattr(items, "__len__") and hasattr(items, "__getitem__") and not hasattr(items, "keys")
