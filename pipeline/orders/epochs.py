"""Counts the epochs of a producer, and shuffles the rows anew for each epoch."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from pipeline._random import permutation
from pipeline.diagnostics.ends import end_of_input
from pipeline.dtypes import integer
from pipeline.orders.seeds import entropy_if_zero, get_seed


class EpochLimit:
    """Counts epochs up to a limit.

    Thread safety: every thread may begin an epoch; a lock guards the count.

    Attributes:
        limit: The number of epochs, or None.
        begun: Epochs begun so far.

    Args:
        num_epochs: The number of epochs; None means no limit.

    Raises:
        ValueError: `num_epochs` is not above 0.
        TypeError: It is not an integer.
    """

    def __init__(self, num_epochs: int | None) -> None:
        self.limit = None if num_epochs is None else integer(num_epochs, "num_epochs")
        if self.limit is not None and self.limit <= 0:
            raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
        self._lock = threading.Lock()
        self.begun = 0

    def begin(self) -> int:
        """Begin the next epoch; return its number, from 0. OutOfRangeError if all epochs are over."""
        with self._lock:
            if self.limit is not None and self.begun >= self.limit:
                raise end_of_input(f"Reached limit of {self.limit}", epochs=self.limit)
            self.begun += 1
            return self.begun - 1


class EpochShuffle:
    """A new random order of the rows for each epoch.

    The same seeds give the orders of `tf.random_shuffle`: a Fisher-Yates shuffle with the words of a Philox generator.
    Each epoch uses up whole blocks of four words, so the order of any epoch can be had at once.

    Attributes:
        seeds: The two seeds of the generator.
        drawn: True if they were drawn by chance: neither the operation has a seed nor the process.

    Args:
        rows: The number of rows.
        seed: Seed of the operation; see `set_random_seed` for the meaning of None.
    """

    def __init__(self, rows: int, seed: int | None = None) -> None:
        self._rows = rows
        self._blocks = max(0, -(-(rows - 1) // 4))  # one word for each row but the last, in blocks of four
        given = get_seed(seed)
        self.seeds = entropy_if_zero(given)
        self.drawn = self.seeds != given

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch: a permutation of `rows` row numbers, int64."""
        return permutation(*self.seeds, epoch * self._blocks % (1 << 64), self._rows)
