"""take: the first elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.transforms.selection import Selection, sliced
from pipeline.flow.block import Block, Numbers
from pipeline.flow.stream import Stream, place, seek_later, whole


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
        return min(self.n, length), sliced(0, 1)

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
        return place(self._taken, self._stream.position())

    def seek(self, position: Any) -> None:
        taken, inner = position
        self._taken = whole(taken, self._n)
        seek_later(self._stream, inner)

    def close(self) -> None:
        self._stream.close()
