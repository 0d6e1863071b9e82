"""Draws by number: each of the same value, whatever is drawn at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline._random import philox


def uniform(pair: tuple[int, int], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the draws of these numbers, from 0 up to 1: each of 32 random bits."""
    first = int(numbers.min()) // 4
    words = philox(*pair, first, int(numbers.max()) + 1 - 4 * first)
    return (words[numbers - 4 * first].astype(np.float64) + 0.5) / 4294967296.0
