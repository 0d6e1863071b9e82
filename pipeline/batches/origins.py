"""Datasets of queues and producers: where the two halves of the package meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._queue import Engine
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import DeadlineExceededError, OutOfRangeError
from pipeline.nest import ListParts, TupleParts, length
from pipeline.producers.slices import SliceSource
from pipeline.sources.iterables import Named
from pipeline.stages.block import Block, Columns, Examples, gathered
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream

# Seconds between two looks, while a queue has nothing, whether the iterator was closed.
_LOOK = 0.1


class OfQueue(Named):
    """The elements of a queue that others fill.

    Args:
        queue: The queue.
    """

    kind = "queue"
    live = True
    waits = True

    def __init__(self, queue: Any) -> None:
        super().__init__(queue.name)
        self.queue = queue

    def once(self) -> str | None:
        return f"'{self.name}' is a queue"

    def no_state(self) -> str | None:
        return f"'{self.name}' is a queue that others fill, which cannot go back"

    def text(self) -> str:
        return f"dataset(queue '{self.name}')"

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.hook()
        return Dequeued(self.queue, run)


class Dequeued(Stream):
    """Elements of a queue, as many at once as are there."""

    def __init__(self, queue: Any, run: Run) -> None:
        self._queue, self._clock, self._count = queue, run.clock, 0
        shapes = queue.shapes
        self._stacks = isinstance(queue, Engine) and bool(shapes) and all(
            shape is not None and None not in shape for shape in shapes
        )
        self._found: list[Any] = []  # what `wait` has taken out, before anybody asks for it
        self._ended = False

    def take(self, n: int) -> Block | None:
        while not self.wait(_LOOK):
            self._clock.check()
        if self._ended:
            return None
        values: Columns | Examples = Examples([self._found.pop()])
        if n > 1 and self._stacks and (more := self._more(n - 1)) is not None:
            from pipeline.stages.block import join_values

            values = join_values([values, more])
        first, self._count = self._count, self._count + len(values)
        return Block(values, np.arange(first, self._count))

    def _more(self, n: int) -> Columns | Examples | None:
        """Return up to n elements that are there already; None if there are none."""
        size = min(n, self._queue._flow()[0])
        if size < 1:
            return None
        try:
            return _values(self._queue.dequeue_up_to(size, timeout=0), size)
        except (DeadlineExceededError, OutOfRangeError):  # others take from it too, and were faster
            return None

    def wait(self, timeout: float) -> bool:
        if not self._found and not self._ended:
            try:
                self._found.append(_element(self._queue.dequeue(timeout=timeout)))
            except DeadlineExceededError:
                return False
            except OutOfRangeError as error:
                raise_why(error)
                self._ended = True
        return True

    def state(self) -> Any:
        return self._count


def _element(taken: Any) -> Any:
    return tuple(taken) if type(taken) is list else taken


def _values(taken: Any, size: int) -> Columns | Examples:
    """Return a block that a dequeue has returned. A list is one of components."""
    columns = taken.values() if type(taken) is dict else taken if type(taken) is list else [taken]
    if not any(column.dtype.hasobject for column in columns):
        return Columns(TupleParts(taken) if type(taken) is list else taken, size)
    if type(taken) is dict:  # objects may be anything, also a dict that has to become the structure of a batch
        return Examples([dict(zip(taken, row, strict=True)) for row in zip(*columns, strict=True)])
    return Examples(list(zip(*columns, strict=True)) if type(taken) is list else list(taken))


class OfProducer(Named):
    """The elements of a producer, such as that of `slice_input_producer`.

    Args:
        producer: Gives them in blocks.
    """

    kind = "producer"

    def __init__(self, producer: Any) -> None:
        super().__init__(producer.name)
        self.producer = producer

    @property
    def live(self) -> bool:
        return not self.producer.at_hand

    def once(self) -> str | None:
        return f"'{self.name}' is a producer, whose elements are taken"

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.hook()
        return Produced(self.producer, state)


class Produced(Stream):
    """Blocks of a producer. The state is [how many elements came, the position of the producer]."""

    def __init__(self, producer: Any, state: Any) -> None:
        self._producer, self._count = producer, 0
        self._slices = isinstance(producer, SliceSource)
        if state is not None:
            self._count, position = state
            producer._go_to(position)

    def take(self, n: int) -> Block | None:
        try:
            taken = self._producer.block(n)
        except OutOfRangeError as error:
            raise_why(error)
            return None
        columns = gathered(ListParts(taken) if isinstance(taken, list) else taken)
        count = length(columns)
        first, self._count = self._count, self._count + count
        return Block(Columns(columns, count), np.arange(first, self._count))

    def state(self) -> Any:
        return [self._count, list(self._producer._position())]
