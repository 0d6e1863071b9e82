"""shuffle with a buffer: elements drawn from a pool of a fixed size."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.selection import Selection
from pipeline.datasets.transforms.steps import Steps
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

    def length(self) -> int | None:
        return self.inputs[0].length()

    def index(self, shared: Opening, epoch: int) -> Any:
        return None

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        if isinstance(source, Steps) and source.orderable:  # only numbers are drawn
            sunk = self._over(source.inputs[0])
            return source.over(sunk.open(shared, epoch), shared, epoch)
        seed, seed2 = shared.pair(self._seed)
        pair = (seed, (seed2 + epoch) & (1 << 63) - 1)
        index = source.index(shared, epoch) if source.indexed else None
        if index is not None:
            return shared.gauged(self, IndexPool(index, self.buffer_size, pair, self.keep))
        return shared.gauged(self, Pool(source.open(shared, epoch), self.buffer_size, pair, shared))

    def label(self) -> str:
        return f"shuffle({self.buffer_size:,})"
