"""OfQueue: the elements of a queue that others fill."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from pipeline._queue import Engine
from pipeline.datasets.node import Node, Opening
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import DeadlineExceededError, OutOfRangeError
from pipeline.flow.block import Block, Columns, Examples, tuple_of
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
    """Elements of a queue, at once as many as are there. What was taken out stays here until the next call, or `done`;
    see Prefetch."""

    def __init__(self, queue: Any, shared: Opening) -> None:
        self._queue, self._shared, self._count = queue, shared, 0
        self._taken: list[Any] = []  # what a dequeue returned, if it was the last call
        self._size: int | None = None  # how many elements that are, in a block; None for one alone
        self._first = 0  # the number of the first of them
        # Made once: of each batch somebody asks where it came from.
        self._nowhere = nowhere(f"'{queue.name}' is a queue that others fill, which cannot go back")

    def take(self, n: int) -> Block | None:
        number = self._count
        self._forget(number)
        if not self._taken and not self._fetch(n):
            return None
        values = _values(self._taken[0], self._size)
        begin = number - self._first
        if begin or n < len(values):
            values = values[begin : begin + n]
        self._count = number + len(values)
        return Block(values, range(number, self._count), range(number, self._count))

    def _fetch(self, n: int) -> bool:
        """Take up to n elements out of the queue; return whether there was one."""
        queue, most = self._queue, n if _stacks(self._queue) else 1
        while not self._taken:
            self._shared.check()
            size = min(most, queue._flow()[0]) if most > 1 else 1
            if size > 1:
                dequeue = functools.partial(queue.dequeue_up_to, size, timeout=0)
            else:
                dequeue = functools.partial(queue.dequeue, timeout=self._shared.left(_LOOK))
            self._size = size if size > 1 else None
            try:
                self._taken.extend(itertools.starmap(dequeue, ((),)))  # no interrupt comes in between
            except DeadlineExceededError:
                most = 1  # others take from it too, and were faster; or nothing is there
            except OutOfRangeError as error:
                raise_why(error)
                return False
        return True

    def _forget(self, number: int) -> None:
        """Forget the elements before one."""
        if self._taken and self._first + (self._size or 1) <= number:
            self._taken.clear()
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


def _stacks(queue: Any) -> bool:
    """Whether a queue gives several elements as arrays of their rows: it is one here, and says all shapes."""
    here, shapes = isinstance(queue, Engine), queue.shapes
    return here and bool(shapes) and all(shape is not None and None not in shape for shape in shapes)


def _values(taken: Any, size: int | None) -> Columns | Examples:
    """Return what a dequeue has returned: one element, or a block of so many. A list is one of components."""
    if size is None:
        return Examples([tuple(taken) if type(taken) is list else taken])
    columns = taken.values() if type(taken) is dict else taken if type(taken) is list else [taken]
    if not any(column.dtype.hasobject for column in columns):
        return Columns(tuple_of(taken) if type(taken) is list else taken, size)
    if type(taken) is dict:  # objects may be anything, also a dict that has to become the structure of a batch
        return Examples([dict(zip(taken, row, strict=True)) for row in zip(*columns, strict=True)])
    return Examples(list(zip(*columns, strict=True)) if type(taken) is list else list(taken))
