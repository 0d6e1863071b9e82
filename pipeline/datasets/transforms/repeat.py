"""repeat: several passes, one after the other."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.node import ENDLESS, Node, Opening, note_written
from pipeline.errors import invalid
from pipeline.flow.block import Block
from pipeline.flow.chained import Passes
from pipeline.flow.stream import Stream, is_lazy, place, seek_later, whole
from pipeline.flow.table import Index


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
        first, length = self.inputs[0].open(shared, epoch * (self.n or 1)), self.inputs[0].length()
        if getattr(first, "chooses", False) and length is not None and length > 0:
            return _Choosing(self, shared, epoch, first)
        return _Repeating(self, shared, epoch, first)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        if not self.indexed or self.n is None:
            return None
        source, before = self.inputs[0], epoch * self.n
        first = source.index(shared, before)
        if first is None:
            return None

        def opened(number: int) -> Index:
            index = source.index(shared, before + number)
            assert index is not None  # as the first pass had one
            return index

        return Passes(opened, self.n, len(first))


class _Repeating:
    def __init__(self, node: Repeat, shared: Opening, epoch: int, first: Stream) -> None:
        self._node, self._shared, self._epoch = node, shared, epoch
        self._source, self._n = node.inputs[0], node.n
        self._pass = 0
        self._before = 0  # elements of earlier passes
        self._taken = 0  # of this pass
        self._stream = first

    @property
    def lazy(self) -> bool:
        """Whether taking elements makes none of them."""
        return is_lazy(self._stream)

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
            error = invalid("repeat: there are no elements, and repeat() without a number would look for one forever")
            note_written(self._node, error)
            raise error
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
        return place(self._pass, self._before, self._taken, inner)

    def seek(self, position: Any) -> None:
        number, before, taken, inner = self._of_passes(position)
        number, self._before, self._taken = whole(number, self._n), whole(before), whole(taken)
        if number != self._pass:
            self._stream.close()
            self._pass = number
            if self._n is None or number < self._n:
                self._stream = self._open()
        if inner is not None:
            seek_later(self._stream, inner)

    def _of_passes(self, position: Any) -> list[Any]:
        """Return a position as one in a pass, if it counts the elements of all passes, as without a prefetch."""
        length = self._source.length()
        if isinstance(position, list) or length is None or length < 1:
            return list(position)
        number, taken = divmod(whole(position), length)
        return [number, number * length, taken, None if number == self._n else taken]

    def close(self) -> None:
        self._stream.close()


class _Choosing(_Repeating):
    """Passes that only choose numbers, and have one length: so does this, and the numbers of all count on."""

    chooses = True

    def position(self) -> Any:
        return self._before + self._taken
