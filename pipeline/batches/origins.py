"""Datasets over queues and producers: the meeting point of the package's two halves."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any

import numpy as np

from pipeline._queue import Engine
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import DeadlineExceededError, InvalidArgumentError, OpError, OutOfRangeError
from pipeline.nest import ListParts, Nest, TupleParts
from pipeline.orders.seeds import Seed
from pipeline.producers.queue import ProducerQueue
from pipeline.producers.slices import SliceSource
from pipeline.queues.base import QueueBase
from pipeline.sources.iterables import Named
from pipeline.sources.nodes import OrderSeed
from pipeline.stages.block import Block, Columns, Examples, as_columns, join_values
from pipeline.stages.node import Node, OneInput, opened
from pipeline.stages.run import Limited, Run
from pipeline.stages.stream import Stage, Stream, whole

# Seconds between checks for `close` while a queue is empty.
_LOOK = 0.1


class OfQueue(Named):
    """The elements of a queue filled by other threads.

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
        return f"'{self.name}' is a queue filled by your program, which cannot be rewound"

    def text(self) -> str:
        return f"dataset(queue '{self.name}')"

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        return Dequeued(self.queue, run)


class Dequeued(Stream):
    """A queue's elements, as many at once as are available."""

    def __init__(self, queue: Any, run: Run) -> None:
        self._queue, self._clock, self._count = queue, run.clock, 0
        shapes = queue.shapes
        self._stacks = (
            isinstance(queue, Engine)
            and bool(shapes)
            and all(shape is not None and None not in shape for shape in shapes)
        )
        self._found: list[Any] = []  # taken out by `wait`, not delivered yet
        self._ended: OpError | None = None  # raised after these elements

    def take(self, n: int) -> Block | None:
        while not self.wait(_LOOK):
            self._clock.check()
        if self._ended is not None:
            if not isinstance(self._ended, OutOfRangeError):
                raise self._ended
            raise_why(self._ended)
            return None
        taken = self._found.pop()
        values: Columns | Examples = Examples([_element(taken)])
        if n > 1 and self._stacks and (more := self._more(n - 1)) is not None:
            if type(more) is Columns:  # otherwise it would be taken apart
                values = _values(_as_rows(taken), 1)
            values = join_values([values, more])
        first, self._count = self._count, self._count + len(values)
        return Block(values, np.arange(first, self._count))

    def _more(self, n: int) -> Columns | Examples | None:
        """Return up to n available elements; None if there are none."""
        size = min(n, self._queue._flow()[0])
        if size < 1:
            return None
        try:
            return _values(self._queue.dequeue_up_to(size, timeout=0), size)
        except (DeadlineExceededError, OutOfRangeError):  # another consumer was faster
            return None

    def wait(self, timeout: float) -> bool:
        if not self._found and self._ended is None:
            dequeue = functools.partial(self._queue.dequeue, timeout=timeout)
            try:
                # In one call, so an interrupt comes either before the element is taken or after it is kept.
                self._found.extend(itertools.starmap(dequeue, ((),)))
            except DeadlineExceededError:
                return False
            except OpError as error:
                self._ended = error
        return True

    def state(self) -> Any:
        return self._count


def _as_rows(taken: Any) -> Any:
    """Return one element in the form of `dequeue_many`."""
    if type(taken) is dict:
        return {name: np.asarray(value)[np.newaxis] for name, value in taken.items()}
    if type(taken) is list:
        return [np.asarray(value)[np.newaxis] for value in taken]
    return np.asarray(taken)[np.newaxis]


def _element(taken: Any) -> Any:
    return tuple(taken) if type(taken) is list else taken


def _values(taken: Any, size: int) -> Columns | Examples:
    """Return a dequeued block. A list contains components."""
    columns = taken.values() if type(taken) is dict else taken if type(taken) is list else [taken]
    if not any(column.dtype.hasobject for column in columns):
        return as_columns(TupleParts(taken) if type(taken) is list else taken, size)
    if type(taken) is dict:  # objects may be anything, even a dict, and it must become the batch's structure
        return Examples([dict(zip(taken, row, strict=True)) for row in zip(*columns, strict=True)])
    return Examples(list(zip(*columns, strict=True)) if type(taken) is list else list(taken))


def node_of(given: Any) -> Node | None:
    """Return the node for a queue or producer; None for anything else.

    For `slice_input_producer`, this node yields only row numbers; the rows follow later.
    """
    if isinstance(given, SliceSource):
        return OfRows(OfProducer(given))
    if isinstance(given, ProducerQueue):
        return OfProducer(given)
    return OfQueue(given) if isinstance(given, QueueBase) else None


class OfProducer(Named):
    """A producer's elements; for `slice_input_producer`, the row numbers.

    Args:
        producer: Returns them in blocks.
    """

    kind = "producer"

    def __init__(self, producer: Any) -> None:
        super().__init__(producer.name)
        self.producer = producer
        shuffle = producer.numbered.shuffle
        self._seed = None if shuffle is None else OrderSeed(shuffle)
        self._errors: tuple[str, int | None] = ("raise", None)

    def skipping(self, on_error: str, max_errors: int | None) -> OfProducer:
        """Return a copy with this setting for rows missing in an array."""
        other = copy.copy(self)
        other._errors = on_error, max_errors
        return other

    @property
    def live(self) -> bool:
        return not self.producer.at_hand

    def seed(self) -> Seed | None:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in self.producer._facts().items() if name != "seeds"}

    def once(self) -> str | None:
        return f"'{self.name}' is a producer, whose elements are taken"

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        count, position = (0, None) if state is None else state
        if position is not None:
            seeds = None if self._seed is None else run.seeds.pair(self._seed)
            self.producer._go_to(whole(position), seeds)
        return Produced(self.producer, whole(count), Limited(run, *self._errors))


class Produced(Stream):
    """Blocks from a producer. The state is [elements so far, the producer's position].

    Args:
        producer: The source.
        count: Elements taken before.
        limit: Counts skipped rows.
    """

    def __init__(self, producer: Any, count: int, limit: Limited) -> None:
        self._producer, self._count, self._limit = producer, count, limit
        self._taken = producer.row_numbers if isinstance(producer, SliceSource) else producer.block

    def take(self, n: int) -> Block | None:
        while True:
            try:
                taken = self._taken(n)
                break
            except OutOfRangeError as error:
                raise_why(error)
                return None
            except InvalidArgumentError as error:
                if not self._limit.active:
                    raise
                self._limit.note(error)
        first, self._count = self._count, self._count + len(taken)
        return Block(Columns([taken], len(taken)), np.arange(first, self._count))

    def state(self) -> Any:
        return [self._count, self._producer._position()]


class OfRows(OneInput):
    """Rows of arrays, selected by the input's numbers. A choice, such as shuffling, works on the numbers.

    Args:
        source: The row numbers.
    """

    kind = "rows"
    stage = ""
    choices_below = True

    def __init__(self, source: OfProducer) -> None:
        super().__init__(source)
        self.producer = source.producer

    def skipping(self, on_error: str, max_errors: int | None) -> OfRows:
        """Return a copy with this setting for rows missing in an array."""
        assert isinstance(self.source, OfProducer)
        return self.over(self.source.skipping(on_error, max_errors))  # type: ignore[no-any-return]

    def text(self) -> str:
        return ""

    def stream(self, run: Run, state: Any = None) -> Stream:
        return Gathering(opened(self.source, run, state), self.producer)


class Gathering(Stage):
    """Rows gathered from arrays by index. The state is the input's."""

    def __init__(self, source: Stream, producer: SliceSource) -> None:
        super().__init__(source)
        self._producer, self._structure = producer, Nest(ListParts(producer.rows_at(np.empty(0, np.int64))), True)

    def take(self, n: int) -> Block | None:
        block = self.source.take(n)
        if block is None:
            return None
        assert isinstance(block.values, Columns)
        rows = self._producer.rows_at(block.values.arrays[0])
        return Block(Columns(rows, len(block), self._structure), block.numbers)

    def wait(self, timeout: float) -> bool:
        return self.source.wait(timeout)

    def begin(self) -> None:
        self.source.begin()
