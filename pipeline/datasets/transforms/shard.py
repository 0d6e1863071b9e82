"""shard: every n-th element, from number i on: the part of one host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.transforms.selection import Selection, sliced
from pipeline.flow.block import Block, Numbers
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
    """Every n-th element of a stream: one of each round of all hosts.

    The position is that of a round, or so many elements before the next one, so any host's state serves all.
    """

    def __init__(self, stream: Stream, i: int, n: int, whole: bool, shared: Opening) -> None:
        self._stream, self._i, self._n, self._whole, self._shared = stream, i, n, whole, shared
        self._left = 0  # elements before the next round: those of the hosts after this one

    def take(self, n: int) -> Block | None:
        with self._shared.unhurried():
            if not self._pass(self._left):  # only now: if one of them fails, that comes after mine
                return None
            self._left = 0
            mine = self._stream.take(1) if self._pass(self._i) else None
            self._left = self._n - self._i - 1
            if self._whole and mine is not None:  # only if the others have one too
                mine = mine if self._pass(self._left) else None
                self._left = 0
            return mine

    def _pass(self, n: int) -> bool:
        """Skip n elements; return whether there were as many."""
        return not n or self._stream.skip(n) == n

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        """Return where the round begins; in a list, as what comes later counts shares, not elements of all hosts."""
        return place(self._stream.position(), *([self._left] if self._left else []))

    def seek(self, position: Any) -> None:
        at, *left = position
        self._left = whole(left[0]) if left else 0
        seek_later(self._stream, at)

    def close(self) -> None:
        self._stream.close()
