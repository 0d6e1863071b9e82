"""Orders: the row for each element in each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._random import permutation
from pipeline.dtypes import integer, truth
from pipeline.errors import invalid
from pipeline.orders.epochs import EpochLimit, EpochShuffle
from pipeline.orders.numbered import Numbered, parse_shard

# Separates the random words for rows in a group from those for the group order; both use the same seeds.
_OF_ROWS = 0x5851F42D4C957F2D


class Epochs(NamedTuple):
    """How often and in which order to read a source: the arguments shared by all sources.

    Attributes:
        num_epochs: Number of epochs; None repeats forever.
        shuffle: True for a random order, different in each epoch.
        seed: Seed for random orders.
        shard: (index, count) of the shard to read.
    """

    num_epochs: int | None = 1
    shuffle: bool = False
    seed: int | None = None
    shard: tuple[int, int] | None = None


class Order:
    """A table's row order, for any number of epochs. Each reader gets its own from `numbered`.

    Attributes:
        num_epochs: None means no limit.
        rows: Number of rows.
        length: Number of elements per epoch.
        shuffle: The shuffle; None keeps the table's order.

    Args:
        rows: Number of rows.
        sizes: Rows per group, if groups are read as a whole: then the groups are shuffled, and the rows within each.
            None shuffles all rows.
        epochs: The requested epochs.
        what: Name of the units that `shard` splits, for messages.

    Raises:
        ValueError: `num_epochs` is less than 1; the shard does not exist, or there are fewer rows or groups than
            shards; there are no rows and no limit on epochs; or a random order split among hosts has no seed.
        TypeError: A number is not an integer.
    """

    def __init__(self, rows: int, sizes: Sequence[int] | None, epochs: Epochs, what: str) -> None:
        self.num_epochs = EpochLimit(epochs.num_epochs).limit
        if self.num_epochs is None and rows == 0:
            raise ValueError("the input has no rows, and num_epochs=None would look for one forever")
        count = rows if sizes is None else len(sizes)
        shard = parse_shard(epochs.shard, count, what)
        if sizes is not None:
            count = len(range(shard[0], count, shard[1]))
        if epochs.seed is not None:
            integer(epochs.seed, "seed")
        self.shuffle = EpochShuffle(count, epochs.seed) if truth(epochs.shuffle, "shuffle") else None
        if sizes is None and shard[1] > 1 and self.shuffle is not None and self.shuffle.drawn:
            text = f"shuffle: with shard={shard} and no seed each host would draw a different order: pass seed="
            raise invalid(text)
        self.rows, self._sizes, self._shard = rows, sizes, shard
        self.length = self.numbered().length

    def numbered(self) -> Numbered:
        """Return the elements by index, through any number of epochs; for one thread at a time."""
        if self._sizes is None:
            return Numbered(self.rows, None, self.shuffle, self._shard)
        return _Groups(self.rows, self._sizes, self.shuffle, self._shard)

    def facts(self) -> dict[str, Any]:
        """Return everything affecting the order, as plain data."""
        return {**self.numbered().facts(), "num_epochs": self.num_epochs}


class _Groups(Numbered):
    """As Numbered, group by group. A host gets the groups `index`, `index + count`, ... in every epoch."""

    def __init__(self, rows: int, sizes: Sequence[int], shuffle: EpochShuffle | None, shard: tuple[int, int]) -> None:
        super().__init__(rows, None, shuffle, shard)
        ends = np.cumsum(np.asarray(sizes, np.int64))
        self._sizes = np.asarray(sizes, np.int64)[shard[0] :: shard[1]]
        self._starts = (ends - np.asarray(sizes, np.int64))[shard[0] :: shard[1]]
        self._ends = np.cumsum(self._sizes)  # group ends in the epoch's order, in elements
        self._rows_of: tuple[int, int, NDArray[np.int64]] | None = None  # by epoch and group
        self.length = int(self._sizes.sum())

    def numbers(self, first: int, count: int) -> NDArray[np.int64]:
        """As Numbered, but returns fewer at a group's end."""
        if count < 1 or not self.length:
            return np.empty(0, np.int64)
        epoch, begin = divmod(first, self.length)
        groups = self._order_of(epoch)
        place = int(np.searchsorted(self._ends, begin, "right"))
        group = place if groups is None else int(groups[place])
        inside = begin - int(self._ends[place] - self._sizes[group])
        end = min(inside + count, int(self._sizes[group]))
        start = int(self._starts[group])
        if groups is None:
            return np.arange(start + inside, start + end)
        return start + self._shuffled(epoch, group)[inside:end]

    def order(self, epoch: int) -> NDArray[np.int64] | None:
        """Return an epoch's group indices, in order; None if they are in input order."""
        if self.shuffle is None:
            return None
        groups = self.shuffle.order(epoch)
        self._ends = np.cumsum(self._sizes[groups])
        return groups

    def reseed(self, seeds: Sequence[int]) -> None:
        super().reseed(seeds)
        self._rows_of = None

    def _shuffled(self, epoch: int, group: int) -> NDArray[np.int64]:
        if self._rows_of is None or self._rows_of[:2] != (epoch, group):
            assert self.shuffle is not None
            size, (seed, seed2) = int(self._sizes[group]), self.shuffle.seeds
            words = -(-size // 4)  # each epoch uses up whole blocks with four words, as in EpochShuffle
            key = (seed2 + group + 1) & ((1 << 64) - 1)
            self._rows_of = epoch, group, permutation(seed ^ _OF_ROWS, key, epoch * words % (1 << 64), size)
        return self._rows_of[2]
