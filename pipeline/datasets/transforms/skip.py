"""skip: all but the first elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.transforms.selection import Selection, sliced
from pipeline.flow.block import Block, Numbers
from pipeline.flow.stream import Stream, place, seek_later, whole


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
        return max(0, length - self.n), sliced(self.n, 1)

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
        return place(self._left, self._stream.position())

    def seek(self, position: Any) -> None:
        left, inner = position
        self._left = whole(left)
        seek_later(self._stream, inner)

    def close(self) -> None:
        self._stream.close()
