"""Count a producer's epochs, and shuffle its rows again for each epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline._random import permutation
from pipeline.diagnostics.ends import end_of_input
from pipeline.dtypes import integer
from pipeline.locks import Lock
from pipeline.orders.seeds import entropy_if_zero, get_seed


class EpochLimit:
    """Counts epochs up to a limit.

    Thread safety: every thread may begin an epoch; a lock guards the count.

    Attributes:
        limit: Maximum number of epochs, or None.
        begun: Epochs begun so far.

    Args:
        num_epochs: Maximum number of epochs; None means no limit.

    Raises:
        ValueError: `num_epochs` is not above 0.
        TypeError: It is not an integer.
    """

    def __init__(self, num_epochs: int | None) -> None:
        self.limit = None if num_epochs is None else integer(num_epochs, "num_epochs")
        if self.limit is not None and self.limit <= 0:
            raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
        self._lock = Lock()
        self.begun = 0

    def begin(self) -> int:
        """Begin the next epoch; return its index, from 0. OutOfRangeError if all epochs are over."""
        with self._lock:
            if self.limit is not None and self.begun >= self.limit:
                raise end_of_input(f"Reached limit of {self.limit}", epochs=self.limit)
            self.begun += 1
            return self.begun - 1


class EpochShuffle:
    """A new random row order for each epoch.

    The same seeds give the same orders as `tf.random_shuffle`: a Fisher-Yates shuffle with the words from a Philox
    generator. Each epoch uses up whole four-word blocks, so any epoch's order can be computed directly.

    Attributes:
        seeds: The generator's two seeds.
        drawn: True if they are random: neither the operation nor the process has a seed.

    Args:
        rows: The number of rows.
        seed: The operation's seed; for None see `set_random_seed`.
    """

    def __init__(self, rows: int, seed: int | None = None) -> None:
        self._rows = rows
        self._blocks = max(0, -(-(rows - 1) // 4))  # one word per row except the last, in blocks of four
        given = get_seed(seed)
        self.seeds = entropy_if_zero(given)
        self.drawn = self.seeds != given

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return an epoch's order: a permutation of `rows` row numbers, int64."""
        return permutation(*self.seeds, epoch * self._blocks % (1 << 64), self._rows)
