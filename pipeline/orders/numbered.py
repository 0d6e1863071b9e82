"""Numbered: find the input row for any element of a producer, in any epoch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import as_bytes, integer
from pipeline.orders.epochs import EpochShuffle

# Number of array rows in a digest.
_SAMPLED = 1024


class Numbered:
    """A producer's elements, numbered from 0 through all epochs.

    `numbers` is for one thread at a time, because it caches one epoch's order.

    Attributes:
        rows: Row count of the input.
        length: Elements per epoch: all rows, or this host's shard.
        num_epochs: None means no limit.
        shuffle: Provides each epoch's order; None keeps the rows in order.
        shard: This host's index and the host count; the shard has the rows `index`, `index + count`, ... in each
            epoch's order.
    """

    def __init__(self, rows: int, num_epochs: int | None, shuffle: EpochShuffle | None, shard: tuple[int, int]) -> None:
        self.rows = rows
        self.num_epochs = num_epochs
        self.shuffle = shuffle
        self.shard = shard
        self.length = len(range(shard[0], rows, shard[1]))
        self._epoch = -1
        self._order: NDArray[np.int64] | None = None

    @property
    def total(self) -> int | None:
        """The element count over all epochs; None if they never end."""
        return None if self.num_epochs is None else self.num_epochs * self.length

    def order(self, epoch: int) -> NDArray[np.int64] | None:
        """Return an epoch's row numbers, in order; None for the input's order."""
        if self.shuffle is None:
            return None
        return np.ascontiguousarray(self.shuffle.order(epoch)[self.shard[0] :: self.shard[1]])  # for the compiled core

    def part(self, order: NDArray[np.int64] | None, begin: int, end: int) -> NDArray[np.int64] | slice:
        """Return the selection for elements `begin` up to `end` in an epoch with this order."""
        index, count = self.shard
        return slice(index + begin * count, index + end * count, count) if order is None else order[begin:end]

    def numbers(self, first: int, count: int) -> NDArray[np.int64]:
        """Return `count` row numbers from element `first` on; fewer at the end of the epochs."""
        if self.total is not None:
            count = min(count, self.total - first)
        parts = [np.empty(0, np.int64)]
        while count > 0:
            epoch, begin = divmod(first, self.length)
            end = min(begin + count, self.length)
            part = self.part(self._order_of(epoch), begin, end)
            parts.append(np.arange(part.start, part.stop, part.step) if isinstance(part, slice) else part)
            first, count = first + end - begin, count - (end - begin)
        return parts[1] if len(parts) == 2 else np.concatenate(parts)

    def _order_of(self, epoch: int) -> NDArray[np.int64] | None:
        if self._epoch != epoch:
            self._epoch, self._order = epoch, self.order(epoch)
        return self._order

    def reseed(self, seeds: Sequence[int]) -> None:
        """Shuffle with other seeds."""
        assert self.shuffle is not None
        self.shuffle.seeds = (int(seeds[0]), int(seeds[1]))
        self._epoch = -1

    def facts(self) -> dict[str, Any]:
        """Return everything that determines the order, as plain data."""
        facts: dict[str, Any] = {
            "rows": self.rows,
            "seeds": None if self.shuffle is None else list(self.shuffle.seeds),
            "shuffle": self.shuffle is not None,
            "num_epochs": self.num_epochs,
        }
        if self.shard != (0, 1):
            facts["shard"] = list(self.shard)
        return facts


class RowSource(Protocol):
    """An array, or an object with the same row access."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __len__(self) -> int: ...

    def __getitem__(self, numbers: NDArray[np.int64], /) -> NDArray[Any]: ...


def digest(arrays: Sequence[NDArray[Any] | RowSource]) -> str:
    """Return a digest for arrays, 16 hex digits: all strings in order; for others shape, dtype and sampled rows.

    Objects other than strings count by class name. Only strings in memory are digested in full.
    """
    import hashlib  # 3 ms, as it loads OpenSSL: only for programs that save a state

    state = hashlib.blake2b(digest_size=8)
    for array in arrays:
        state.update(repr((array.dtype.str, array.shape)).encode())
        if isinstance(array, np.ndarray) and array.dtype == object:
            for value in array.flat:
                known = value if isinstance(value, (bytes, str)) else type(value).__qualname__
                data = as_bytes(known, "an array")
                state.update(b"%d:" % len(data))
                state.update(data)
        elif isinstance(array, np.ndarray) and array.dtype.kind in "SU":
            state.update(array.tobytes())
        elif len(array):
            state.update(array[sampled(len(array))].tobytes())
    return state.hexdigest()


def sampled(rows: int, most: int = _SAMPLED) -> NDArray[np.int64]:
    """Return the row numbers for a digest: evenly spaced, including the first and the last."""
    picked = min(rows, most)
    return np.arange(picked, dtype=np.int64) * (rows - 1) // max(1, picked - 1)


def at_least_one(n: int) -> int:
    """Return `n` as an int, or raise ValueError if it is less than 1."""
    number = operator.index(n)
    if number < 1:
        raise ValueError(f"a block has at least 1 row, not {number}")
    return number


def parse_shard(shard: Any, rows: int, what: str) -> tuple[int, int]:
    """Return this host's index and the host count."""
    if shard is None:
        return 0, 1
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"shard must be (index, count), such as (0, 8), not {shard!r:.80}")
    index, count = integer(shard[0], "the index in shard"), integer(shard[1], "the count in shard")
    if count < 1 or not 0 <= index < count:
        raise ValueError(f"shard must be (index, count) with 0 <= index < count, not ({index}, {count})")
    if rows < count and count > 1:
        there = f"is only 1 {what.removesuffix('s')}" if rows == 1 else f"are only {rows} {what}"
        raise ValueError(
            f"shard=({index}, {count}): there {there}, fewer than hosts, so some would get none. "
            f"Use more {what}, or read all of them on each host and split the examples with `.shard({index}, {count})` "
            "of a dataset"
        )
    return index, count
