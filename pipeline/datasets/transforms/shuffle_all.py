"""shuffle without a size: all elements in a random order, by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline._random import permutation
from pipeline.datasets.node import Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.selection import Selection
from pipeline.flow.block import Numbers


class ShuffleAll(Selection):
    """All elements in a random order, another one in each pass."""

    kind = "shuffle"
    needs_index = True

    def __init__(self, source: Node, seed: int | None) -> None:
        super().__init__(source)
        self._seed = Seed(seed, self.kind)

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"buffer_size": None}

    def length(self) -> int | None:
        return self.inputs[0].length()

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        blocks = max(0, -(-(length - 1) // 4))  # each pass uses up whole blocks of four words
        order = permutation(*shared.pair(self._seed), epoch * blocks, length)

        def pick(numbers: Any) -> Numbers:
            return order[numbers.start : numbers.stop : numbers.step] if isinstance(numbers, range) else order[numbers]

        return length, pick
