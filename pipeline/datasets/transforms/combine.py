"""mix, zip and interleave: several datasets as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.selection import uniform
from pipeline.errors import invalid
from pipeline.flow.block import Block, Columns, Examples, join, join_made
from pipeline.flow.ids import Parts, as_parts, marked, select
from pipeline.flow.segment import position_of
from pipeline.flow.stream import Ahead, Stream, dropped, seek_later, shorter
from pipeline.nest import TupleParts

STOPS = ("all_exhausted", "first_exhausted")


class Mix(Node):
    """Elements of several datasets, drawn by weight.

    Args:
        inputs: The datasets.
        weights: How often each is drawn, relative to the others.
        seed: Of the draws.
        stop: "all_exhausted" or "first_exhausted".
    """

    kind = "mix"

    def __init__(self, inputs: Sequence[Node], weights: NDArray[np.float64], seed: int | None, stop: str) -> None:
        self.inputs, self._weights, self.stop = tuple(inputs), weights, stop
        self._seed = Seed(seed)
        self.note_place()

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"weights": [float(each) for each in self._weights], "stop": self.stop}

    def length(self) -> int | None:
        known = [each.length() for each in self.inputs]
        if self.stop != "all_exhausted" or None in known:
            return None
        return ENDLESS if ENDLESS in known else sum(each for each in known if each is not None)

    def open(self, shared: Opening, epoch: int) -> Stream:
        streams = [each.open(shared, epoch) for each in self.inputs]
        seed, seed2 = shared.pair(self._seed)
        pair = seed, (seed2 + epoch) & (1 << 63) - 1
        return shared.gauged(self, _Mixed(streams, self._weights, pair, self.stop == "all_exhausted"))


class _Mixed:
    """Elements drawn from streams. The draw of a number is the same whatever is taken at once."""

    _AT_ONCE = 256

    def __init__(
        self, streams: Sequence[Stream], weights: NDArray[np.float64], pair: tuple[int, int], whole: bool
    ) -> None:
        self._streams = [Ahead(each) for each in streams]
        self._weights, self._pair, self._whole = weights, pair, whole
        self._ended = np.zeros(len(streams), bool)
        self._count = 0
        self._over = False

    def take(self, n: int) -> Block | None:
        while not self._over:
            n = min(n, self._AT_ONCE)
            picks = self._picks(self._count, n)
            if picks is None:
                break
            got, drawn = self._look(picks, n)
            if drawn:
                return self._drawn(picks[:drawn], got, drawn)
        return None

    def _picks(self, first: int, n: int) -> NDArray[np.int64] | None:
        """Return which streams draws come from; None if all have ended."""
        weights = np.where(self._ended, 0.0, self._weights)
        if not weights.any():
            self._over = True
            return None
        limits = np.cumsum(weights) / weights.sum()
        draws = uniform(self._pair, np.arange(first, first + n))
        last = int(np.flatnonzero(weights)[-1])
        return np.minimum(np.searchsorted(limits, draws, "right"), last)

    def _look(self, picks: NDArray[np.int64], n: int) -> tuple[dict[int, list[Block]], int]:
        """Look at the elements of the draws; return them, and how many draws can be made before a stream ends."""
        got: dict[int, list[Block]] = {}
        for i in np.unique(picks).tolist():
            places = np.flatnonzero(picks[:n] == i)
            if not len(places):
                continue
            got[i] = self._streams[i].look(len(places))
            have = sum(map(len, got[i]))
            if have < len(places):
                n = int(places[have])  # the draw that finds it at its end
                if n == 0:
                    self._ended[i] = True
                    self._over = self._over or not self._whole
        return got, n

    def _drawn(self, picks: NDArray[np.int64], got: dict[int, list[Block]], n: int) -> Block:
        places, blocks = [], []
        for i, parts in got.items():
            mine = np.flatnonzero(picks == i)
            if len(mine):
                block = join(parts)
                blocks.append(
                    Block(block.values[: len(mine)], marked(select(block.ids, slice(0, len(mine))), i), range(0))
                )
                places.append(mine)
                self._streams[i].drop(len(mine))
        first, self._count = self._count, self._count + n
        numbers = range(first, self._count)
        if len(blocks) == 1:
            return Block(blocks[0].values, blocks[0].ids, numbers)
        order = np.argsort(np.concatenate(places), kind="stable")
        parts_of = [as_parts(each.ids) for each in blocks]
        ids = Parts(
            np.concatenate([p.hashes for p in parts_of])[order], np.concatenate([p.counts for p in parts_of])[order]
        )
        return Block(Merged(blocks, places, order), ids, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count, [int(each) for each in self._ended], [each.position() for each in self._streams]]

    def seek(self, position: Any) -> None:
        self._count, ended, inner = position
        self._ended = np.array(ended, bool)
        self._over = bool(self._ended.any()) if not self._whole else bool(self._ended.all())
        for stream, at in zip(self._streams, inner, strict=True):
            stream.seek(at)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


class Merged:
    """Elements of several blocks in the order of the draws, not made yet."""

    def __init__(self, blocks: Sequence[Block], places: Sequence[NDArray[np.int64]], order: NDArray[np.int64]) -> None:
        self._blocks, self._places, self._order = blocks, places, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, which: slice) -> Merged | Columns | Examples:
        begin, end, step = which.indices(len(self))
        if step != 1:
            return self.made()[which]
        blocks, places = [], []
        for block, at in zip(self._blocks, self._places, strict=True):
            first, last = np.searchsorted(at, [begin, end]).tolist()
            if last > first:
                blocks.append(block[first:last])
                places.append(at[first:last] - begin)
        return Merged(blocks, places, np.argsort(np.concatenate(places), kind="stable"))

    def made(self) -> Columns | Examples:
        return join_made([block.made() for block in self._blocks]).picked(self._order)

    def name(self, i: int) -> str | None:
        for block, places in zip(self._blocks, self._places, strict=True):
            at = np.flatnonzero(places == i)
            if len(at):
                return block.values.name(int(at[0]))
        return None


class Zip(Node):
    """Tuples of elements of several datasets, as long as all have one."""

    kind = "zip"

    def __init__(self, inputs: Sequence[Node]) -> None:
        self.inputs = tuple(inputs)
        self.note_place()

    def length(self) -> int | None:
        known = [each.length() for each in self.inputs]
        if None in known:
            return None
        ends = [each for each in known if each is not None and each != ENDLESS]
        return min(ends) if ends else ENDLESS

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Zipped([Ahead(each.open(shared, epoch)) for each in self.inputs]))


class _Zipped:
    def __init__(self, streams: Sequence[Ahead]) -> None:
        self._streams, self._count = streams, 0

    def take(self, n: int) -> Block | None:
        looked = []
        for stream in self._streams:
            blocks = stream.look(n)
            n = min(n, sum(map(len, blocks)))
            if not n:
                return None
            looked.append(blocks)
        blocks = []
        for i, (stream, parts) in enumerate(zip(self._streams, looked, strict=True)):
            block = join(parts)[:n]
            stream.drop(n)
            blocks.append(Block(block.values, marked(block.ids, i), range(0)))
        first, self._count = self._count, self._count + n
        ids = [as_parts(each.ids) for each in blocks]
        hashes = ids[0].hashes.copy()
        for each in ids[1:]:
            hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + each.hashes
        return Block(Tuples(blocks), Parts(hashes, np.ones(n, np.int64)), range(first, self._count))

    def skip(self, n: int) -> int:
        skipped = min(stream.skip(n) for stream in self._streams)
        self._count += skipped
        return skipped

    def position(self) -> Any:
        return [self._count, [each.position() for each in self._streams]]

    def seek(self, position: Any) -> None:
        self._count, inner = position
        for stream, at in zip(self._streams, inner, strict=True):
            stream.seek(at)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


class Tuples:
    """Tuples of the elements of several blocks, not made yet."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks[0])

    def __getitem__(self, which: slice) -> Tuples:
        return Tuples([Block(each.values[which], range(0), range(0)) for each in self._blocks])

    def made(self) -> Columns | Examples:
        made = [each.made() for each in self._blocks]
        if all(isinstance(each, Columns) for each in made):
            return Columns(TupleParts([each.block for each in made]), len(self))  # type: ignore[union-attr]
        return Examples(list(zip(*(each.examples() for each in made), strict=True)))

    def name(self, i: int) -> str | None:
        return self._blocks[0].values.name(i)


class Interleave(Node):
    """Elements of several datasets in turn.

    Args:
        inputs: The datasets; one, if it is a dataset of datasets.
        nested: Whether elements of the only input are datasets themselves.
        cycle_length: How many are open at once.
        block_length: How many elements to take of one in a turn.
    """

    kind = "interleave"

    def __init__(self, inputs: Sequence[Node], nested: bool, cycle_length: int, block_length: int) -> None:
        self.inputs, self.nested = tuple(inputs), nested
        self.cycle_length, self.block_length = cycle_length, block_length
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"cycle_length": self.cycle_length, "block_length": self.block_length}

    def length(self) -> int | None:
        known = [None] if self.nested else [each.length() for each in self.inputs]
        if None in known:
            return None
        return ENDLESS if ENDLESS in known else sum(each for each in known if each is not None)

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Interleaved(self, shared, epoch))


class _Slot:
    """One open dataset.

    Attributes:
        number: Which one it is.
        found_at: Where the dataset of datasets has it; None if there is no such.
        stream: Its elements.
    """

    def __init__(self, number: int, found_at: Any, stream: Stream) -> None:
        self.number, self.found_at, self.stream = number, found_at, stream


class _Interleaved:
    def __init__(self, node: Interleave, shared: Opening, epoch: int) -> None:
        self._node, self._shared, self._epoch = node, shared, epoch
        self._outer = node.inputs[0].open(shared, epoch) if node.nested else None  # of datasets
        self._slots: list[_Slot] = []
        self._following = 0  # the number of the next dataset
        self._at = 0  # whose turn it is
        self._turn = 0  # elements of the turn
        self._count = 0

    def _next_slot(self) -> _Slot | None:
        """Open the next dataset; None after the last one."""
        number, found_at = self._following, None
        if self._outer is not None:
            found_at = position_of(self._outer)
            node = self._inner()
        else:
            node = self._node.inputs[number] if number < len(self._node.inputs) else None
        if node is None:
            return None
        self._following += 1
        return _Slot(number, found_at, node.open(self._shared, self._epoch))

    def _inner(self) -> Node | None:
        assert self._outer is not None
        block = self._outer.take(1)
        if block is None:
            return None
        (made,) = block.made().examples()
        node = getattr(made, "_node", made)
        if not isinstance(node, Node):
            raise invalid(f"interleave: expected a dataset of datasets, and an element is {made!r:.80}")
        return node

    def take(self, n: int) -> Block | None:
        while len(self._slots) < self._node.cycle_length and (more := self._next_slot()) is not None:
            self._slots.append(more)
        while self._slots:
            slot = self._slots[self._at]
            block = slot.stream.take(min(n, self._node.block_length - self._turn))
            if block is None:
                self._replace()
                continue
            self._turn += len(block)
            if self._turn == self._node.block_length:
                self._at, self._turn = (self._at + 1) % len(self._slots), 0
            first, self._count = self._count, self._count + len(block)
            return Block(block.values, marked(block.ids, slot.number), range(first, self._count))
        return None

    def _replace(self) -> None:
        """Put the next dataset in the place of the one that has ended."""
        self._slots[self._at].stream.close()
        self._turn = 0
        following = self._next_slot()
        if following is not None:
            self._slots[self._at] = following
        else:
            del self._slots[self._at]
            self._at = self._at % len(self._slots) if self._slots else 0

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        outer = None if self._outer is None else self._outer.position()
        slots = [[slot.number, slot.found_at, slot.stream.position()] for slot in self._slots]
        return [self._count, self._following, self._at, self._turn, slots, outer]

    def seek(self, position: Any) -> None:
        for slot in self._slots:
            slot.stream.close()
        self._count, following, self._at, self._turn, slots, outer = position
        self._slots = []
        for number, found_at, at in slots:
            self._following = number
            if self._outer is not None:
                seek_later(self._outer, found_at)
            again = self._next_slot()
            if again is None:
                raise shorter()
            seek_later(again.stream, at)
            self._slots.append(again)
        self._following = following
        if self._outer is not None:
            seek_later(self._outer, outer)

    def close(self) -> None:
        for slot in self._slots:
            slot.stream.close()
        if self._outer is not None:
            self._outer.close()
