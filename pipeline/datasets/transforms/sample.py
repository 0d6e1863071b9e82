"""sample: elements drawn with replacement, each as often as its weight says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.datasets.transforms.selection import Selection
from pipeline.flow.block import Numbers
from pipeline.flow.draws import uniform
from pipeline.flow.ids import as_array


class WeightedSample(Selection):
    """Elements drawn with replacement, each as often as its weight says."""

    kind = "sample"
    needs_index = True

    def __init__(self, source: Node, weights: NDArray[np.float64], n: int, seed: int | None) -> None:
        super().__init__(source)
        self._weights, self.n = weights, n
        self._limits = np.cumsum(weights) / weights.sum()
        self._seed = Seed(seed, self.kind)

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"n": self.n, "weights": float(self._weights.sum())}

    def parted(self) -> tuple[Node, Node] | None:
        """As for other choices, but each draw has a number of its own, so that `example_rng` differs for each."""
        parts = self.inputs[0].parted()
        if parts is None or not parts[0].fixed or parts[0].kind == "enumerate":  # whose numbers are the elements
            return None
        function, source = parts
        return function, self._behind(source)

    def length(self) -> int | None:
        return self.n

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        pair, before, limits = shared.pair(self._seed), epoch * self.n, self._limits

        def pick(numbers: Any) -> Numbers:
            return np.minimum(np.searchsorted(limits, uniform(pair, before + as_array(numbers)), "right"), length - 1)

        return self.n, pick
