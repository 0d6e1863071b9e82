"""SumTree: weights that can be changed one by one, and draws by weight; both look at a few blocks of weights only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Numbers a node adds up. NumPy's calls cost more than adding: with 16 a million weights are five levels, with 2 twenty.
_WIDTH = 16


class SumTree:
    """Weights, and sums of blocks of them, and sums of blocks of sums.

    Sums are added up again when a weight below changes, so rounding does not pile up.

    Args:
        size: How many weights; all are 0.
    """

    def __init__(self, size: int) -> None:
        self._levels: list[NDArray[np.float64]] = []  # blocks of weights, then of sums; the last is one block
        while True:
            blocks = -(-size // _WIDTH)
            self._levels.append(np.zeros((blocks, _WIDTH)))
            if blocks == 1:
                break
            size = blocks

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._levels[-1].sum())

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Change weights; of a place that comes twice the last one counts."""
        lowest = self._levels[0]
        lowest.reshape(-1)[places] = weights
        for level, above in zip(self._levels, self._levels[1:], strict=False):
            places = np.unique(places // _WIDTH)
            above.reshape(-1)[places] = level[places].sum(axis=1)

    def set_one(self, place: int, weight: float) -> None:
        """Change one weight."""
        block, inside = divmod(place, _WIDTH)
        self._levels[0][block, inside] = weight
        for level, above in zip(self._levels, self._levels[1:], strict=False):
            place, inside = divmod(block, _WIDTH)
            above[place, inside] = level[block].sum()
            block = place

    def get(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of some places."""
        return self._levels[0].reshape(-1)[places]

    def draw(self, fractions: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the places where fractions of the total, from 0 up to 1, are: each as often as its weight says."""
        places = np.zeros(len(fractions), np.int64)
        rows = np.arange(len(fractions))
        left = fractions * self.total
        for level in reversed(self._levels):
            ends = level[places].cumsum(axis=1)
            left = np.minimum(left, np.nextafter(ends[:, -1], 0))  # as sums are rounded
            inside = (ends <= left[:, None]).sum(axis=1)
            left = left - np.where(inside > 0, ends[rows, inside - 1], 0)
            places = places * _WIDTH + inside
        return places
