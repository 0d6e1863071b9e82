"""OfQueue: the elements of a queue that others fill."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import DeadlineExceededError, OutOfRangeError
from pipeline.flow.block import Block, Examples
from pipeline.flow.stream import Stream, dropped, nowhere

# Seconds between two looks, while a queue has nothing, whether the iterator was closed.
_LOOK = 0.1


class OfQueue(Node):
    """The elements of a queue that others fill."""

    kind = "queue"
    stage = "source"
    live = True

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"'{self.queue.name}' is a queue"

    @property
    def prompt(self) -> bool:
        return True

    def options(self) -> dict[str, Any]:
        return {"name": self.queue.name}

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset(queue '{self.queue.name}')"

    def label(self) -> str:
        return str(self.queue.name)

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Dequeued(self.queue, shared))


class _Dequeued:
    """Elements of a queue. What was taken out stays here until the next call, or `done`; see Prefetch."""

    def __init__(self, queue: Any, shared: Opening) -> None:
        self._queue, self._shared, self._count = queue, shared, 0
        self._elements: list[Any] = []  # number `_first`, if there is one
        self._first = 0
        # Made once: of each batch somebody asks where it came from.
        self._nowhere = nowhere(f"'{queue.name}' is a queue that others fill, which cannot go back")

    def take(self, n: int) -> Block | None:
        number = self._count
        self._forget(number)
        while not self._elements:
            self._shared.check()
            dequeue = functools.partial(self._queue.dequeue, timeout=self._shared.left(_LOOK))
            try:
                self._elements.extend(itertools.starmap(dequeue, ((),)))  # no interrupt comes in between
            except DeadlineExceededError:
                continue
            except OutOfRangeError as error:
                raise_why(error)
                return None
        self._count = number + 1
        element = self._elements[0]
        if type(element) is list:  # of components; a list inside an example is an array
            element = tuple(element)
        return Block(Examples([element]), range(number, number + 1), range(number, number + 1))

    def _forget(self, number: int) -> None:
        """Forget the elements before one."""
        if self._first < number:
            self._elements.clear()
            self._first = number

    def done(self) -> None:
        self._forget(self._count)

    def again(self, taken: int) -> bool:
        """After an interrupt: go on after so many elements."""
        if self._first <= taken:
            self._count = taken
        return self._count == taken

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return self._nowhere

    def seek(self, position: Any) -> None:
        raise self._nowhere

    def close(self) -> None:
        pass
