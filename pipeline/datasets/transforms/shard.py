"""shard: every n-th element, from number i on: the part of one host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.transforms.selection import Selection, sliced
from pipeline.flow.block import Block, Numbers, join
from pipeline.flow.stream import Stream, dropped, place, seek_later, whole


class Shard(Selection):
    """Every n-th element, from number i on."""

    kind = "shard"

    def __init__(self, source: Node, i: int, n: int, drop_remainder: bool, alike: bool = False) -> None:
        super().__init__(source)
        self._alike = alike  # whether the others have a copy of this, with its seeds
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
        return self._of(length), sliced(self.i, self.n)

    def whole(self, source: Node, shared: Opening, epoch: int) -> Stream:
        before = shared.hosts
        shared.hosts = before or (self.n > 1 and not self._alike)
        try:
            return super().whole(source, shared, epoch)
        finally:
            shared.hosts = before

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return _Sharded(stream, self.i, self.n, self.drop_remainder, shared)


class _Sharded:
    """Every n-th element of a stream. The position is in rounds of all hosts, so any host's state serves all."""

    def __init__(self, stream: Stream, i: int, n: int, whole: bool, shared: Opening) -> None:
        self._stream, self._i, self._n, self._whole, self._shared = stream, i, n, whole, shared
        self._phase = 0  # elements of the round that were taken
        self._error: Exception | None = None  # raised after the elements of mine that came before it
        self._at: Any = None  # the position after these, or why there is none
        self._left = 0  # elements before the next round there

    def take(self, n: int) -> Block | None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        with self._shared.unhurried():
            if self._left:
                self._left -= self._stream.skip(self._left)
            return self._many(n) if n > 1 and not self._whole and self._phase == 0 else self._one()

    def _one(self) -> Block | None:
        """Take a whole round, and keep one element of it."""
        mine: Block | None = None
        while self._phase < self._n:
            if self._phase == self._i:
                mine = self._stream.take(1)
                count = 0 if mine is None else 1
            elif self._phase < self._i:
                count = self._stream.skip(self._i - self._phase)
            else:
                count = self._rest_of_round(mine)
            if not count:
                break
            self._phase += count
        if self._phase < self._n and self._whole:
            return None
        self._phase = 0
        return mine

    def _rest_of_round(self, mine: Block | None) -> int:
        """Skip the elements of the hosts after this one."""
        left = self._n - self._phase
        if mine is None or self._whole:
            return self._stream.skip(left)
        at = self._stream.position()
        try:
            return self._stream.skip(left)
        except Exception as error:
            self._error, self._at, self._left = error, at, left
            return left

    def _many(self, n: int) -> Block | None:
        blocks: list[Block] = []
        block = self._one()
        while block is not None:
            blocks.append(block)
            if len(blocks) == min(n, 16) or self._error is not None:
                break
            at = self._stream.position()
            try:
                block = self._one()
            except Exception as error:
                self._error, self._at, self._left = error, at, 0
                break
        return join(blocks) if blocks else None

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        """Return where the round begins.

        In a list: what comes later counts shares, not elements of all hosts. With the elements before the round if one
        of them fails.
        """
        if self._error is None and not self._left:
            return place(self._stream.position())
        return place(self._at, self._left) if self._left else place(self._at)

    def seek(self, position: Any) -> None:
        self._phase, self._error = 0, None
        self._at, *left = position
        self._left = whole(left[0]) if left else 0
        seek_later(self._stream, self._at)

    def close(self) -> None:
        self._stream.close()
