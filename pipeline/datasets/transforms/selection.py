"""take, skip, shard, repeat, concatenate, shuffle of everything, sample: which elements come, and in which order.

Where elements can be had by number, only numbers are chosen, and nothing is made that does not come. A choice behind a
function is made before it: what the function would be called with is chosen, and keeps its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._random import permutation, philox
from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.steps import Steps
from pipeline.errors import invalid
from pipeline.flow.block import Block, Columns, Examples, Numbers, join, join_made
from pipeline.flow.ids import Parts, as_parts, marked, select
from pipeline.flow.stream import Stream, dropped
from pipeline.flow.table import Index, Indexed


class Picked:
    """Elements of an index, in another order.

    Args:
        index: The elements.
        length: How many there are here.
        pick: Returns which elements of the index those of a range, or of an array of numbers, are.
        keep: Whether they keep the numbers that they have there.
    """

    def __init__(self, index: Index, length: int, pick: Callable[[Any], Numbers], keep: bool) -> None:
        self._index, self._length, self._pick, self._keep = index, length, pick, keep

    def __len__(self) -> int:
        return self._length

    def block(self, numbers: Numbers) -> Block:
        block = self._index.block(self._pick(numbers))
        return block if self._keep else Block(block.values, block.ids, numbers)


def as_array(numbers: Numbers) -> NDArray[np.int64]:
    """Return numbers as an array."""
    return np.arange(numbers.start, numbers.stop, numbers.step) if isinstance(numbers, range) else numbers


class Selection(Node):
    """A choice among the elements of one input.

    Attributes:
        keep: Whether elements keep the numbers that they have in the input: where this stands before a function that
            it was written behind.
        counts: Whether it chooses by how many elements there were before, so that those that a function leaves out
            must not count.
    """

    keep = False
    counts = False
    stage = ""

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        if self._sinks and isinstance(source, Steps):
            sunk = self._over(source.inputs[0])
            return source.over(sunk.open(shared, epoch), shared, epoch)
        index = self.index(shared, epoch)
        if index is not None:
            return Indexed(index, len(index))
        return self.stream(source.open(shared, epoch), shared, epoch)

    @property
    def _sinks(self) -> bool:
        source = self.inputs[0]
        if not (self.can_sink and isinstance(source, Steps)):
            return False
        return source.fixed if self.counts else source.one_to_one

    @property
    def renumbers(self) -> bool:
        return self._sinks and self.indexed and not self.keep

    @property
    def can_sink(self) -> bool:
        """Whether it may be made before a function that it stands behind."""
        return True

    def _over(self, source: Node) -> Selection:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.inputs, other.keep, other.stands_for = (source,), True, self.stands_for or self
        return other

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the chosen elements of a stream that has no numbers to ask for."""
        raise NotImplementedError

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        """Return how many elements are chosen of so many, and what finds them by their numbers here."""
        raise NotImplementedError

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.inputs[0].indexed else None
        if index is None:
            return None
        return Picked(index, *self.pick(shared, epoch, len(index)), self.keep)


def _sliced(first: int, step: int) -> Callable[[Any], Numbers]:
    def pick(numbers: Any) -> Numbers:
        if isinstance(numbers, range):
            return range(first + numbers.start * step, first + numbers.stop * step, numbers.step * step)
        return first + numbers * step  # type: ignore[no-any-return]

    return pick


class Take(Selection):
    """The first elements."""

    kind = "take"
    counts = True

    def __init__(self, source: Node, n: int) -> None:
        super().__init__(source)
        self.n = n

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def length(self) -> int | None:
        known = self.inputs[0].length()
        return self.n if known == ENDLESS else None if known is None else min(self.n, known)

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        return min(self.n, length), _sliced(0, 1)

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return _Taking(stream, self.n)


class _Taking:
    def __init__(self, stream: Stream, n: int) -> None:
        self._stream, self._n, self._taken = stream, n, 0

    def take(self, n: int) -> Block | None:
        n = min(n, self._n - self._taken)
        block = self._stream.take(n) if n > 0 else None
        if block is not None:
            self._taken += len(block)
        return block

    def skip(self, n: int) -> int:
        skipped = self._stream.skip(min(n, self._n - self._taken))
        self._taken += skipped
        return skipped

    def position(self) -> Any:
        return [self._taken, self._stream.position()]

    def seek(self, position: Any) -> None:
        self._taken, inner = position
        self._stream.seek(inner)

    def close(self) -> None:
        self._stream.close()


class Skip(Selection):
    """All but the first elements."""

    kind = "skip"
    counts = True

    def __init__(self, source: Node, n: int) -> None:
        super().__init__(source)
        self.n = n

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def length(self) -> int | None:
        known = self.inputs[0].length()
        return known if known is None or known == ENDLESS else max(0, known - self.n)

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        return max(0, length - self.n), _sliced(self.n, 1)

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return _Skipping(stream, self.n, shared)


class _Skipping:
    def __init__(self, stream: Stream, n: int, shared: Opening) -> None:
        self._stream, self._left, self._shared = stream, n, shared

    def _begin(self) -> None:
        if not self._left:
            return
        with self._shared.unhurried():
            while self._left and (skipped := self._stream.skip(self._left)):
                self._left -= skipped
        self._left = 0

    def take(self, n: int) -> Block | None:
        self._begin()
        return self._stream.take(n)

    def skip(self, n: int) -> int:
        self._begin()
        with self._shared.unhurried():
            return self._stream.skip(n)

    def position(self) -> Any:
        return [self._left, self._stream.position()]

    def seek(self, position: Any) -> None:
        self._left, inner = position
        self._stream.seek(inner)

    def close(self) -> None:
        self._stream.close()


class Shard(Selection):
    """Every n-th element, from number i on."""

    kind = "shard"

    def __init__(self, source: Node, i: int, n: int, drop_remainder: bool) -> None:
        super().__init__(source)
        self.i, self.n, self.drop_remainder = i, n, drop_remainder
        self.counts = drop_remainder  # else hosts need not have equally many: each leaves out those of its own

    def options(self) -> dict[str, Any]:
        return {"i": self.i, "n": self.n, "drop_remainder": self.drop_remainder}

    def length(self) -> int | None:
        known = self.inputs[0].length()
        return known if known is None or known == ENDLESS else self._of(known)

    def _of(self, length: int) -> int:
        return length // self.n if self.drop_remainder else len(range(self.i, length, self.n))

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        return self._of(length), _sliced(self.i, self.n)

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return _Sharded(stream, self.i, self.n, self.drop_remainder, shared)


class _Sharded:
    """Every n-th element of a stream. The position is in rounds of all hosts, so any host's state serves all."""

    def __init__(self, stream: Stream, i: int, n: int, whole: bool, shared: Opening) -> None:
        self._stream, self._i, self._n, self._whole, self._shared = stream, i, n, whole, shared
        self._phase = 0  # elements of the round that were taken

    def take(self, n: int) -> Block | None:
        with self._shared.unhurried():
            return self._many(n) if n > 1 and not self._whole and self._phase == 0 else self._one()

    def _one(self) -> Block | None:
        """Take a whole round, and keep one element of it."""
        mine: Block | None = None
        while self._phase < self._n:
            if self._phase == self._i:
                mine = self._stream.take(1)
                count = 0 if mine is None else 1
            else:
                count = self._stream.skip(1 if self._phase > self._i else self._i - self._phase)
            if not count:
                break
            self._phase += count
        if self._phase < self._n and self._whole:
            return None
        self._phase = 0
        return mine

    def _many(self, n: int) -> Block | None:
        blocks: list[Block] = []
        block = self._one()
        while block is not None:
            blocks.append(block)
            if len(blocks) == min(n, 16):
                break
            block = self._one()
        return join(blocks) if blocks else None

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._stream.position()]  # a list: what comes later counts shares, not elements of all hosts

    def seek(self, position: Any) -> None:
        self._phase = 0
        (inner,) = position
        self._stream.seek(inner)

    def close(self) -> None:
        self._stream.close()


class Repeat(Node):
    """Several passes, one after the other."""

    kind = "repeat"
    stage = ""

    def __init__(self, source: Node, n: int | None) -> None:
        self.inputs, self.n = (source,), n
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    @property
    def indexed(self) -> bool:
        return self.n is not None and self.inputs[0].indexed

    def length(self) -> int | None:
        known = self.inputs[0].length()
        if self.n is None:
            return None if known is None else 0 if known == 0 else ENDLESS
        return known if known is None or known == ENDLESS else self.n * known

    def open(self, shared: Opening, epoch: int) -> Stream:
        return _Repeating(self.inputs[0], self.n, shared, epoch)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        if not self.indexed or self.n is None:
            return None
        parts = [self.inputs[0].index(shared, epoch * self.n + k) for k in range(self.n)]
        return _Chain([each for each in parts if each is not None], False)


class _Repeating:
    def __init__(self, source: Node, n: int | None, shared: Opening, epoch: int) -> None:
        self._source, self._n, self._shared, self._epoch = source, n, shared, epoch
        self._pass = 0
        self._before = 0  # elements of earlier passes
        self._taken = 0  # of this pass
        self._stream = self._open()

    def _open(self) -> Stream:
        return self._source.open(self._shared, self._epoch * (self._n or 1) + self._pass)

    def take(self, n: int) -> Block | None:
        while self._n is None or self._pass < self._n:
            block = self._stream.take(n)
            if block is not None:
                first = self._before + self._taken
                self._taken += len(block)
                return Block(block.values, block.ids, range(first, first + len(block)))
            self._next_pass()
        return None

    def _next_pass(self) -> None:
        if self._n is None and not self._taken:
            raise invalid("repeat: there are no elements, and repeat() without a number would look for one forever")
        self._stream.close()
        self._pass, self._before, self._taken = self._pass + 1, self._before + self._taken, 0
        if self._n is None or self._pass < self._n:
            self._stream = self._open()

    def skip(self, n: int) -> int:
        left = n
        while left and (self._n is None or self._pass < self._n):
            skipped = self._stream.skip(left)
            self._taken += skipped
            left -= skipped
            if left:
                self._next_pass()
        return n - left

    def position(self) -> Any:
        inner = self._stream.position() if self._n is None or self._pass < self._n else None
        return [self._pass, self._before, self._taken, inner]

    def seek(self, position: Any) -> None:
        number, self._before, self._taken, inner = position
        if number != self._pass:
            self._stream.close()
            self._pass = number
            if self._n is None or number < self._n:
                self._stream = self._open()
        if inner is not None:
            self._stream.seek(inner)

    def close(self) -> None:
        self._stream.close()


class Concatenate(Node):
    """One dataset after the other."""

    kind = "concatenate"
    stage = ""

    def __init__(self, first: Node, second: Node) -> None:
        self.inputs = (first, second)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return all(each.indexed for each in self.inputs)

    def length(self) -> int | None:
        known = [each.length() for each in self.inputs]
        if ENDLESS in known:
            return ENDLESS if known[0] is not None else None
        return None if None in known else sum(each for each in known if each is not None)

    def open(self, shared: Opening, epoch: int) -> Stream:
        return _Concatenated(self.inputs, shared, epoch)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        parts = [each.index(shared, epoch) for each in self.inputs] if self.indexed else [None]
        known = [each for each in parts if each is not None]
        return _Chain(known, True) if len(known) == len(parts) else None


class _Concatenated:
    def __init__(self, inputs: Sequence[Node], shared: Opening, epoch: int) -> None:
        self._inputs, self._shared, self._epoch = inputs, shared, epoch
        self._count = 0
        self._begin(0)

    def _begin(self, at: int) -> None:
        """Open an input; none after the last one."""
        self._at = at
        self._stream = self._inputs[at].open(self._shared, self._epoch) if at < len(self._inputs) else None

    def take(self, n: int) -> Block | None:
        while self._stream is not None:
            block = self._stream.take(n)
            if block is not None:
                first = self._count
                self._count += len(block)
                return Block(block.values, marked(block.ids, self._at), range(first, self._count))
            self._next()
        return None

    def _next(self) -> None:
        self.close()
        self._begin(self._at + 1)

    def skip(self, n: int) -> int:
        left = n
        while left and self._stream is not None:
            left -= self._stream.skip(left)
            if left:
                self._next()
        self._count += n - left
        return n - left

    def position(self) -> Any:
        return [self._at, self._count, None if self._stream is None else self._stream.position()]

    def seek(self, position: Any) -> None:
        at, self._count, inner = position
        if at != self._at:
            self.close()
            self._begin(at)
        if self._stream is not None:
            self._stream.seek(inner)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class _Chain:
    """The elements of several indices, one after the other.

    Args:
        parts: The indices.
        mark: Whether elements of different parts have different ids.
    """

    def __init__(self, parts: Sequence[Index], mark: bool) -> None:
        self._parts, self._mark = parts, mark
        self._ends = np.cumsum([len(each) for each in parts])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def block(self, numbers: Numbers) -> Block:
        wanted = as_array(numbers)
        which = np.searchsorted(self._ends, wanted, "right")
        blocks: list[tuple[NDArray[np.int64], Block]] = []
        for part in np.unique(which):
            places = np.flatnonzero(which == part)
            begin = int(self._ends[part]) - len(self._parts[part])
            block = self._parts[part].block(wanted[places] - begin)
            ids = marked(block.ids, int(part)) if self._mark else block.ids
            blocks.append((places, Block(block.values, ids, block.numbers)))
        if len(blocks) == 1:
            return Block(blocks[0][1].values, blocks[0][1].ids, numbers)
        return Block(_Scattered(blocks, len(wanted)), _scattered_ids(blocks, len(wanted)), numbers)


class _Scattered:
    """Elements of several blocks, each with the places where its elements are here."""

    def __init__(self, blocks: Sequence[tuple[NDArray[np.int64], Block]], count: int) -> None:
        self._blocks, self._count = blocks, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, which: slice) -> Columns | Examples:
        return self.made()[which]

    def made(self) -> Columns | Examples:
        order = np.argsort(np.concatenate([places for places, _ in self._blocks]), kind="stable")
        return join_made([block.made() for _, block in self._blocks]).picked(order)

    def name(self, i: int) -> str | None:
        for places, block in self._blocks:
            at = np.flatnonzero(places == i)
            if len(at):
                return block.values.name(int(at[0]))
        return None


def _scattered_ids(blocks: Sequence[tuple[NDArray[np.int64], Block]], count: int) -> Parts:
    order = np.argsort(np.concatenate([places for places, _ in blocks]), kind="stable")
    parts = [as_parts(block.ids) for _, block in blocks]
    merged = Parts(np.concatenate([each.hashes for each in parts]), np.concatenate([each.counts for each in parts]))
    found: Parts = select(merged, order)
    return found


class ShuffleAll(Selection):
    """All elements in a random order, another one in each pass."""

    kind = "shuffle"

    def __init__(self, source: Node, seed: int | None) -> None:
        super().__init__(source)
        self._seed = Seed(seed)

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"buffer_size": None}

    def length(self) -> int | None:
        return self.inputs[0].length()

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        blocks = max(0, -(-(length - 1) // 4))  # each pass uses up whole blocks of four words
        order = permutation(*shared.pair(self._seed), epoch * blocks, length)

        def pick(numbers: Any) -> Numbers:
            return order[numbers.start : numbers.stop : numbers.step] if isinstance(numbers, range) else order[numbers]

        return length, pick


class Sample(Selection):
    """Elements drawn with replacement, each as often as its weight says."""

    kind = "sample"

    def __init__(self, source: Node, weights: NDArray[np.float64], n: int, seed: int | None) -> None:
        super().__init__(source)
        self._weights, self.n = weights, n
        self._limits = np.cumsum(weights) / weights.sum()
        self._seed = Seed(seed)

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"n": self.n, "weights": float(self._weights.sum())}

    def length(self) -> int | None:
        return self.n

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        pair, before, limits = shared.pair(self._seed), epoch * self.n, self._limits

        def pick(numbers: Any) -> Numbers:
            return np.minimum(np.searchsorted(limits, uniform(pair, before + as_array(numbers)), "right"), length - 1)

        return self.n, pick


def uniform(pair: tuple[int, int], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the draws of these numbers, from 0 up to 1: each of 32 random bits."""
    first = int(numbers.min()) // 4
    words = philox(*pair, first, int(numbers.max()) + 1 - 4 * first)
    return (words[numbers - 4 * first].astype(np.float64) + 0.5) / 4294967296.0
