"""What the epochs of a producer are: how many there may be, and in which order each one gives the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline._queue import philox
from pipeline.errors import OutOfRangeError
from pipeline.seeds import generator_seeds


class EpochLimit:
    """Counts epochs up to a limit; not thread safe.

    Args:
        num_epochs: How many there may be; None is without end.

    Raises:
        ValueError: `num_epochs` is not above 0.
    """

    def __init__(self, num_epochs: int | None) -> None:
        if num_epochs is not None and num_epochs <= 0:
            raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
        self._limit = num_epochs
        self.begun = 0

    def begin(self) -> None:
        """Begin the next epoch; OutOfRangeError when all have been."""
        if self._limit is not None and self.begun >= self._limit:
            raise OutOfRangeError(None, None, f"Reached limit of {self._limit}")
        self.begun += 1


class EpochShuffle:
    """The shuffled orders of `rows` rows, a new one for each epoch; not thread safe.

    The same seeds give the orders of `tf.random_shuffle`: a Fisher-Yates shuffle with the words of a Philox generator,
    which every epoch advances by the whole blocks that it needed.

    Args:
        rows: Number of rows.
        seed: Seed of the operation; see `set_random_seed` for what None means.
    """

    def __init__(self, rows: int, seed: int | None = None) -> None:
        self._rows = rows
        self._seeds = generator_seeds(seed)
        self._blocks_used = 0

    def next(self) -> NDArray[np.int64]:
        """Return the order of the next epoch: a permutation of `rows` row numbers, int64."""
        order = list(range(self._rows))
        draws = self._rows - 1
        if draws > 0:
            words = philox(*self._seeds, self._blocks_used, draws).astype(np.int64)
            self._blocks_used += -(-draws // 4)
            first = np.arange(draws)
            swaps = first + words % (self._rows - first)
            for k, j in enumerate(swaps.tolist()):
                order[k], order[j] = order[j], order[k]
        return np.array(order, np.int64)
