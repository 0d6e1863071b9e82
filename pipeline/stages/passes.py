"""repeat, concatenate and enumerate: one pass or recipe after another, and numbered elements."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline._block import bounds
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.stages.block import Block, Examples, Numbers, joined
from pipeline.stages.index import ENDLESS, Index
from pipeline.stages.node import Moves, Node, OneForOne, OneInput, index_of, indexed, note_written, opened, total
from pipeline.stages.run import Run
from pipeline.stages.stream import Stage, Stream, whole


class Repeat(OneInput):
    """Several passes, one after another.

    Args:
        source: The elements of a pass.
        n: Number of passes; None for no end.
    """

    kind = "repeat"
    stage = ""
    keeps_elements = by_number = True

    def __init__(self, source: Node, n: int | None) -> None:
        super().__init__(source)
        self.n = n

    @property
    def endless(self) -> bool:
        return self.n is None

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def length(self) -> int | None:
        length = self.source.length()
        if not length:
            return length
        return min(ENDLESS, length * (ENDLESS if self.n is None else self.n))

    def _first(self, run: Run) -> int:
        """Return the first pass's number."""
        return run.epoch * (self.n or 1)

    def index(self, run: Run) -> Index:
        passes = Passes(self.source, self._first(run), run)
        size = len(passes[0])
        if not size and self.n is None:
            raise _no_elements(self)
        return Chained(passes, [size], min(ENDLESS, size * (ENDLESS if self.n is None else self.n)), self.inputs)

    def stream(self, run: Run, state: Any = None) -> Stream:
        first = self._first(run)
        return OneByOne(lambda i, at: opened(self.source, run.of(first + i), at), self.n, self, state)

    def name_of(self, number: int) -> str | None:
        return None  # epochs are mixed into the numbers

    def state_at(self, place: int) -> Any:
        length = self.source.length()
        if length is None:
            return None
        number, at = divmod(place, length or 1)
        if self.n is not None and number >= self.n:  # past the last batch
            number, at = self.n, 0
        return [number, at * self.source.step]


def _no_elements(node: Node) -> InvalidArgumentError:
    """Return the error for an endless repeat without elements."""
    error = invalid("repeat: there are no elements, and repeat() without a number would look for one forever")
    note_written(node.written, error)
    return error


class Concatenate(Node):
    """One recipe after another."""

    kind = "concatenate"
    stage = ""
    by_number = True

    def __init__(self, first: Node, second: Node) -> None:
        self.inputs = (first, second)
        self.indexed = first.indexed and second.indexed
        self.note_place()

    def length(self) -> int | None:
        return total(self.inputs)

    def index(self, run: Run) -> Index:
        indexes = [index_of(each, run.inner(i)) for i, each in enumerate(self.inputs)]
        sizes = [len(each) for each in indexes]
        return Chained(indexes, sizes, min(ENDLESS, sum(sizes)), self.inputs)

    def stream(self, run: Run, state: Any = None) -> Stream:
        return OneByOne(lambda i, at: opened(self.inputs[i], run.inner(i), at), len(self.inputs), self, state)

    def state_at(self, place: int) -> Any:
        first, second = self.inputs
        size = first.length()
        if size is None:
            return None
        return [0, place * first.step] if place < size else [1, (place - size) * second.step]


class Passes:
    """The indexes for all passes of a recipe. The last two are kept, because blocks may span two passes."""

    def __init__(self, node: Node, first: int, run: Run) -> None:
        self._node, self._first, self._run = node, first, run
        self._kept: dict[int, Index] = {}

    def __getitem__(self, i: int) -> Index:
        found = self._kept.get(i)
        if found is None:
            found = index_of(self._node, self._run.of(self._first + i))
            self._kept = {**dict(list(self._kept.items())[-1:]), i: found}
        return found


class Chained(Index):
    """One index after another.

    Args:
        indexes: The indexes.
        sizes: Their lengths, or one length for all.
        length: Their total length.
        inputs: The inputs of the indexes, or one input for all.
    """

    def __init__(
        self, indexes: Sequence[Index] | Passes, sizes: Sequence[int], length: int, inputs: Sequence[Node]
    ) -> None:
        self._indexes, self._name_of = indexes, [each.name_of for each in inputs]
        self._size = sizes[0] if len(sizes) == 1 else 0
        self._starts, self._length = [*itertools.accumulate(sizes, initial=0)], length
        some = [indexes[0]] if isinstance(indexes, Passes) else indexes
        self.ahead = all(each.ahead for each in some)
        self.of_numbers = len(some) == 1 and some[0].of_numbers
        self.of_sources = all(each.of_sources for each in some)

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        low, high = bounds(places)
        first, start = self._which(low)
        if self._which(high)[0] == first:
            return self._of(first, places - start if start else places)
        found, order, failed = [], [], len(places)
        error: Exception | None = None
        which = np.array([self._which(place) for place in places.tolist()], np.int64)
        for i in sorted(set(which[:, 0].tolist())):
            mine = np.flatnonzero(which[:, 0] == i)
            block = self._of(i, (places - which[:, 1])[mine])
            if block.error is not None and int(mine[len(block)]) < failed:
                failed, error = int(mine[len(block)]), block.error
            found.append(block)
            order.append(mine[: len(block)])
        places_of = np.concatenate(order)
        made = joined(found).picked(np.argsort(places_of, kind="stable"))
        if error is not None:  # drop results after the first failure
            made = made.part(0, failed)
        made.error = error
        return made

    def _which(self, place: int) -> tuple[int, int]:
        """Return the index that contains a position, and its start."""
        if self._size:
            return place // self._size, place - place % self._size
        i = bisect.bisect_right(self._starts, place) - 1
        return i, self._starts[i]

    def _of(self, i: int, places: Numbers) -> Block:
        block = self._indexes[i].block(places)
        return block.renumbered(i, self._name_of[i % len(self._name_of)])


class OneByOne(Stream):
    """One stream after another. The state is [current stream's index, its state].

    Args:
        part: Opens stream i at a state.
        count: The number of streams; None for no end.
        node: The step.
        state: Start position; None for the beginning.
    """

    def __init__(self, part: Callable[[int, Any], Stream], count: int | None, node: Node, state: Any) -> None:
        self._part, self._count, self._node = part, count, node
        which, at = (0, None) if state is None else state
        self._state: Any = at
        self._which = whole(which) if count is None else whole(which, count)
        self._empty = self._state is None
        self._stream: Stream | None = None

    def take(self, n: int) -> Block | None:
        while (stream := self._due()) is not None:
            block = stream.take(n)
            if block is not None:
                self._empty = False
                inputs = self._node.inputs
                return block.renumbered(self._which, inputs[self._which % len(inputs)].name_of)
            self._pass_on(stream)
        return None

    def drop(self, n: int) -> int:
        left = n
        while left and (stream := self._due()) is not None:
            count = stream.drop(left)
            left -= count
            self._empty = self._empty and not count
            if left:
                self._pass_on(stream)
        return n - left

    def _due(self) -> Stream | None:
        """Return the stream for the next elements; None after the last."""
        if self._stream is None and (self._count is None or self._which < self._count):
            self._stream, self._state = self._part(self._which, self._state), None
        return self._stream

    def _pass_on(self, stream: Stream) -> None:
        """Go to the next stream, because this one has ended."""
        if self._count is None and self._empty:
            raise _no_elements(self._node)
        stream.close()
        self._stream, self._which, self._empty = None, self._which + 1, True

    def state(self) -> Any:
        return [self._which, self._state if self._stream is None else self._stream.state()]

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class Enumerated(OneForOne):
    """Pairs (number, element)."""

    kind = "enumerate"
    stage = ""
    carries_on = True

    def index(self, run: Run) -> Index:
        return EnumeratedIndex(indexed(self.source, run))

    def stream(self, run: Run, state: Any = None) -> Stream:
        count, before = (0, None) if state is None else state
        return Enumerating(opened(self.source, run, before), whole(count))

    def state_at(self, place: int) -> Any:
        return [place // self.step, place]

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        if not moves.differs_below(self):
            return super().moved(state, more, moves)
        count, before = state
        was, now = moves.hosts_below(self)
        return [(whole(count) + more) * was // now, moves.moved(self.source, before, more)]


def paired(numbers: Numbers, block: Block) -> Block:
    """Pair numbers with a block's examples."""
    pairs = Examples(list(zip(numbers.tolist(), block.values.examples(), strict=True)))
    return Block(pairs, block.numbers, block.error, block.names, block.sizes)


class EnumeratedIndex(Index):
    """Pairs (number, element) over an index."""

    def __init__(self, source: Index) -> None:
        self._source, self.ahead, self.step = source, source.ahead, source.step

    def __len__(self) -> int:
        return len(self._source)

    @property
    def stop(self) -> int:
        return self._source.stop

    def block(self, places: Numbers) -> Block:
        block = self._source.block(places)
        return paired(places[: len(block)] // self.step, block)


class Enumerating(Stage):
    """Pairs (number, element) over a stream. The state is [next number, input state]."""

    def __init__(self, source: Stream, count: int) -> None:
        super().__init__(source)
        self._count = count

    def take(self, n: int) -> Block | None:
        block = self.source.take(n)
        if block is None:
            return None
        first, self._count = self._count, self._count + len(block)
        return paired(np.arange(first, self._count), block)

    def state(self) -> Any:
        return [self._count, self.source.state()]
