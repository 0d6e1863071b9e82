"""SparseRows: a column with a SciPy sparse matrix's rows, dense or as indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.nest import TupleParts
from pipeline.orders.numbered import digest


def is_sparse(given: Any) -> bool:
    """Return True for a SciPy sparse matrix or array."""
    return hasattr(type(given), "tocsr") and hasattr(given, "nnz")


class SparseRows:
    """A sparse matrix's rows.

    Args:
        given: The matrix, in any SciPy format.
        where: Prefix for error messages.
        pairs: True if a row is (indices, values), and not an array with all zeros.

    Raises:
        ValueError: It does not have two dimensions.
    """

    def __init__(self, given: Any, where: str, pairs: bool) -> None:
        if given.ndim != 2:
            raise ValueError(f"{where} is a sparse array of rank {given.ndim}: only those of rank 2 have sparse rows")
        rows = given.tocsr()
        if not rows.has_canonical_format:  # values stored twice count as their sum
            rows = rows.copy()
            rows.sum_duplicates()
        self._starts, self._indices, self._values = rows.indptr, rows.indices, rows.data
        self._shape: tuple[int, int] = rows.shape
        self._pairs = pairs

    def __len__(self) -> int:
        return self._shape[0]

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows by index."""
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
        """Return the column's identity."""
        return [list(self._shape), self._pairs, digest([self._starts, self._indices, self._values])]


def _cut(values: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """Split values into rows at the given ends."""
    rows, first = np.empty(len(ends), object), 0
    for i, end in enumerate(ends.tolist()):
        rows[i], first = values[first:end], end
    return rows
