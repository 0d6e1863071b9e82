"""concatenate: one dataset after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.datasets.early import Early
from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.flow.block import Block
from pipeline.flow.chained import Chain
from pipeline.flow.ids import marked
from pipeline.flow.stream import Stream, place, seek_later, whole
from pipeline.flow.table import Index


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
        return Chain(known) if len(known) == len(parts) else None


class _Concatenated:
    def __init__(self, inputs: Sequence[Node], shared: Opening, epoch: int) -> None:
        self._size = len(inputs)
        self._early = Early(inputs, shared, epoch)
        self._count = 0
        self._begin(0)

    def _begin(self, at: int) -> None:
        """Open an input; none after the last one."""
        self._at = at
        self._stream = self._early.open(at) if at < self._size else None

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
        self._leave()
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
        inner, early = None if self._stream is None else self._stream.position(), self._early.position()
        return place(self._at, self._count, inner, *([early] if early else []))

    def seek(self, position: Any) -> None:
        at, count, inner, *early = position
        at, self._count = whole(at, self._size), whole(count)
        if at != self._at:
            self._leave()
            self._early.seek(at, ())
            self._begin(at)
        if self._stream is not None:
            seek_later(self._stream, inner)
        if early:
            self._early.seek(at + 1, early[0])

    def _leave(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def close(self) -> None:
        self._leave()
        self._early.close()
