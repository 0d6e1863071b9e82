"""zip: tuples of elements of several datasets, as long as all have one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.flow.block import Block, Columns, Examples, Numbers, join
from pipeline.flow.ids import PartHashes, as_parts, marked
from pipeline.flow.stream import Ahead, Stream, place, seek_later, whole
from pipeline.flow.table import Index
from pipeline.nest import TupleParts


class Zip(Node):
    """Tuples of elements of several datasets, as long as all have one."""

    kind = "zip"

    def __init__(self, inputs: Sequence[Node]) -> None:
        self.inputs = tuple(inputs)
        self.note_place()

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        known = [each.length() for each in self.inputs]
        if None in known:
            return None
        ends = [each for each in known if each is not None and each != ENDLESS]
        return min(ends) if ends else ENDLESS

    @property
    def indexed(self) -> bool:
        return all(each.indexed for each in self.inputs)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        parts = [each.index(shared, epoch) for each in self.inputs] if self.indexed else [None]
        known = [each for each in parts if each is not None]
        return _ZippedIndex(known) if len(known) == len(parts) else None

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Zipped([Ahead(each.open(shared, epoch)) for each in self.inputs]))


class _Zipped:
    def __init__(self, streams: Sequence[Ahead]) -> None:
        self._streams, self._count = streams, 0

    def take(self, n: int) -> Block | None:
        looked = []
        for stream in self._streams:
            blocks = stream.ready(n)
            n = min(n, sum(map(len, blocks)))
            if not n:
                stream.raise_error()
                return None
            looked.append(blocks)
        blocks = []
        for stream, parts in zip(self._streams, looked, strict=True):
            block = join(parts)[:n]
            stream.drop(n)
            blocks.append(block)
        first, self._count = self._count, self._count + n
        return _zipped(blocks, range(first, self._count))

    def skip(self, n: int) -> int:
        skipped = min(stream.skip(n) for stream in self._streams)
        self._count += skipped
        return skipped

    def position(self) -> Any:
        return place(self._count, place(*[each.position() for each in self._streams]))

    def seek(self, position: Any) -> None:
        count, inner = position
        self._count = whole(count)
        for stream, at in zip(self._streams, inner, strict=True):
            seek_later(stream, at)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


class _ZippedIndex:
    """Tuples of the elements of several indices, as long as all have one."""

    def __init__(self, parts: Sequence[Index]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return min(map(len, self._parts))

    def block(self, numbers: Numbers) -> Block:
        return _zipped([each.block(numbers) for each in self._parts], numbers)


def _zipped(blocks: Sequence[Block], numbers: Numbers) -> Block:
    """Return tuples of the elements of several blocks."""
    ids = [as_parts(marked(each.ids, i)) for i, each in enumerate(blocks)]
    hashes = ids[0].hashes.copy()
    for each in ids[1:]:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + each.hashes
    return Block(Tuples(blocks), PartHashes(hashes, np.ones(len(numbers), np.int64)), numbers)


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
