"""shuffle with a buffer: elements drawn from a pool of a fixed size."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.selection import Selection
from pipeline.flow.pool import IndexPool, Pool
from pipeline.flow.stream import Stream


class Shuffle(Selection):
    """Elements drawn from a pool.

    Args:
        source: The elements.
        buffer_size: How many the pool holds.
        seed: Of the draws; each pass has others.
    """

    kind = "shuffle"
    stage = "step"

    def __init__(self, source: Node, buffer_size: int, seed: int | None) -> None:
        super().__init__(source)
        self.buffer_size = buffer_size
        self._seed = Seed(seed, self.kind)

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"buffer_size": self.buffer_size}

    @property
    def indexed(self) -> bool:
        return False

    @property
    def orderable(self) -> bool:
        return False

    def length(self) -> int | None:
        return self.inputs[0].length()

    def index(self, shared: Opening, epoch: int) -> Any:
        return None

    def parted(self) -> tuple[Node, Node] | None:
        parts = super().parted()
        if parts is None or not isinstance(parts[1], Shuffle) or not parts[1]._draws_numbers:
            return None  # a pool of elements numbers them anew, for which the function would take them
        return parts

    @property
    def _draws_numbers(self) -> bool:
        """Whether only numbers are drawn."""
        source = self.inputs[0]
        if source.transparent:
            return self._behind(source.inputs[0])._draws_numbers  # type: ignore[attr-defined,no-any-return]
        return source.by_index or self.parted() is not None

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return Pool(stream, self.buffer_size, self._pair(shared, epoch), shared, self.inputs[0].placed)

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        if source.transparent or self.parted() is not None:
            return super().open(shared, epoch)
        index = source.index(shared, epoch) if source.by_index else None
        if index is not None:
            pool = IndexPool(index, self.buffer_size, self._pair(shared, epoch), self.keep)
            return shared.gauged(self, pool)
        return shared.gauged(self, self.stream(source.open(shared, epoch), shared, epoch))

    def _pair(self, shared: Opening, epoch: int) -> tuple[int, int]:
        seed, seed2 = shared.pair(self._seed)
        return seed, (seed2 + epoch) & (1 << 63) - 1

    def label(self) -> str:
        return f"shuffle({self.buffer_size:,})"
