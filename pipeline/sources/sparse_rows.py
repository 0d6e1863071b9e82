"""SparseRows: a column of the rows of a sparse matrix of SciPy, dense or as indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.nest import TupleParts
from pipeline.orders.numbered import digest


def is_sparse(given: Any) -> bool:
    """Return whether this is a sparse matrix or array of SciPy."""
    return hasattr(type(given), "tocsr") and hasattr(given, "nnz")


class SparseRows:
    """The rows of a sparse matrix.

    Args:
        given: The matrix, in any format of SciPy.
        where: Prefix of error messages.
        pairs: True if a row is (indices, values), and not an array with all zeros.

    Raises:
        ValueError: It has not two dimensions.
    """

    def __init__(self, given: Any, where: str, pairs: bool) -> None:
        if given.ndim != 2:
            raise ValueError(f"{where} is a sparse array of rank {given.ndim}: only those of rank 2 have sparse rows")
        rows = given.tocsr()
        if not rows.has_canonical_format:  # values that are there twice count as their sum
            rows = rows.copy()
            rows.sum_duplicates()
        self._starts, self._indices, self._values = rows.indptr, rows.indices, rows.data
        self._shape: tuple[int, int] = rows.shape
        self._pairs = pairs

    def __len__(self) -> int:
        return self._shape[0]

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows of these numbers."""
        first = self._starts[numbers]
        counts = self._starts[numbers + 1] - first
        ends = np.cumsum(counts)
        stored = np.arange(counts.sum()) + np.repeat(first - (ends - counts), counts)
        indices, values = self._indices[stored], self._values[stored]
        if self._pairs:
            return TupleParts([_cut(indices.astype(np.int64), ends), _cut(values, ends)])
        made = np.zeros((len(numbers), self._shape[1]), values.dtype)
        made[np.repeat(np.arange(len(numbers)), counts), indices] = values
        return made

    def facts(self) -> Any:
        """Return what tells the column from others."""
        return [list(self._shape), self._pairs, digest([self._starts, self._indices, self._values])]


def _cut(values: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of some values, each of which ends there."""
    rows, first = np.empty(len(ends), object), 0
    for i, end in enumerate(ends.tolist()):
        rows[i], first = values[first:end], end
    return rows
