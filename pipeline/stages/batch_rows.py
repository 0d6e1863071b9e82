"""BatchRows: memory of the next batches, to which threads write the results of a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline.stages.block import Block, Columns, Examples, concatenated, is_plain, joined

Empty: TypeAlias = "Callable[[Sequence[int], np.dtype[Any]], NDArray[Any]]"

Kind: TypeAlias = "tuple[tuple[int, ...], np.dtype[Any]]"  # shape and dtype of a row

# Bytes of a row from which a copy costs more than the calls that save it. Rows of 16 KB gain nothing, of 150 KB 45 %.
_LARGE = 1 << 16


class _Whole:
    """The memory of one component of a batch.

    Attributes:
        array: The whole.
        pieces: The parts handed out so far, in order.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.pieces: list[NDArray[Any]] = []

    def piece(self, begin: int, end: int) -> NDArray[Any]:
        self.pieces.append(self.array[begin:end])
        return self.pieces[-1]


class BatchRows:
    """Memory of the next batches, in pieces for the chunks of examples that workers compute.

    A worker copies each large result into its piece right after the function has returned it, while it is in the
    processor's cache. Pieces that fill a batch are then the batch, without another copy; all others are copied as
    usual. Only the stage that computes the results and the stage that makes batches of them ever have a piece.

    Args:
        size: The number of examples per batch.
        empty: Makes the array of a batch.

    Thread safety: all methods are called by the thread that consumes the results.
    """

    def __init__(self, size: int, empty: Empty) -> None:
        self.size, self.empty = size, empty
        self._next = 0  # the row of the next result: of batch 0 up to `size`, then of batch 1
        self._joined = 0  # the next batch to be joined
        self._wholes: dict[int, list[_Whole]] = {}  # the memory of batches
        self._kinds: list[Kind] = []  # of the large components of the last results

    def begin(self, drop: int) -> None:
        """Begin with batch 0.

        Args:
            drop: The number of results to come before that batch.
        """
        self._next, self._joined = -drop, 0
        self._wholes.clear()

    def fitting(self, count: int) -> int:
        """Return the size of the next chunk: `count`, or less, so that a chunk is part of one batch if it may be."""
        return min(count, self.size - self._next % self.size) if self._kinds and count <= self.size else count

    def learn(self, values: Columns | Examples) -> None:
        """Note shapes and dtypes of results, for the batches that begin later."""
        columns = values.arrays if isinstance(values, Columns) else [values.items]
        self._kinds = [kind for column in columns if (kind := _kind_of(column)) is not None]

    def next(self, count: int) -> Empty | None:
        """Return what makes the arrays of the next `count` results; None if they get no memory of a batch."""
        batch, begin = divmod(self._next, self.size)
        self._next += count
        if begin + count > self.size:
            return None
        if not begin and self._kinds:
            self._wholes[batch] = [_Whole(self.empty((self.size, *shape), dtype)) for shape, dtype in self._kinds]
        wholes = self._wholes.get(batch)
        return functools.partial(_taken, [each.piece(begin, begin + count) for each in wholes]) if wholes else None

    def joined(self, blocks: Sequence[Block]) -> Block:
        """Return the blocks of the next batch as one."""
        wholes = self._wholes.pop(self._joined, None)
        self._joined += 1
        return joined(blocks, functools.partial(_whole_of, wholes)) if wholes else joined(blocks)


def _kind_of(column: Any) -> Kind | None:
    """Return the shape and dtype of the rows of a column if they are large arrays that stack by copying bytes."""
    first: Any = column[0] if len(column) else None
    return (first.shape, first.dtype) if is_plain(first) and first.nbytes >= _LARGE else None


def _taken(pieces: list[NDArray[Any]], shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the piece with this shape and dtype, once; a new array if there is none."""
    for i, piece in enumerate(pieces):
        if piece.shape == tuple(shape) and piece.dtype == dtype:
            return pieces.pop(i)
    return np.empty(shape, dtype)


def _whole_of(wholes: list[_Whole], parts: list[Any]) -> Any:
    """Return the memory that these parts fill, or a copy of them."""
    for whole in wholes:
        pieces = whole.pieces
        if parts[0] is pieces[0] and len(parts) == len(pieces):
            filled = all([part is piece for part, piece in zip(parts, pieces, strict=True)])
            return whole.array if filled and sum(map(len, parts)) == len(whole.array) else concatenated(parts)
    return concatenated(parts)
