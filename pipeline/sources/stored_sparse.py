"""Sparse matrices in HDF5 and Zarr groups, in AnnData's format: CSR, read in pieces with several rows each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError
from pipeline.orders.numbered import digest
from pipeline.sources.extras import is_closed, last_used, needs, place_of
from pipeline.sources.sparse_rows import SparseRows
from pipeline.sources.stored import Stored, is_stored

_PARTS = ("data", "indices", "indptr")

# Group attributes: AnnData's current ones, and its first versions'.
_FORMATS = ("encoding-type", "h5sparse_format")
_SHAPES = ("shape", "h5sparse_shape")


def is_sparse_group(given: Any) -> bool:
    """Return True for an HDF5 or Zarr group with a sparse matrix's arrays, by rows or columns."""
    if not (hasattr(type(given), "keys") and hasattr(given, "attrs")) or is_closed(given):
        return False
    return all(name in given and is_stored(given[name]) for name in _PARTS)


class SparseGroup:
    """A group with a sparse matrix's arrays, as a value without structure."""

    def __init__(self, group: Any) -> None:
        self.group = group


class StoredSparse:
    """The rows of a sparse matrix in a group.

    Args:
        group: The group.
        where: Its name in errors.
        pairs: True if a row is (indices, values), and not an array with all zeros.

    Raises:
        ValueError: It has no shape, or is stored by columns.
        DataLossError: Its arrays do not fit together.
        ImportError: SciPy is missing.

    Attributes:
        chunk: Approximate number of rows stored together.
        row_bytes: Average bytes per row.
    """

    def __init__(self, group: Any, where: str, pairs: bool) -> None:
        self._where, self._pairs = f"arrays: {where}{place_of(group)}", pairs
        self._values, self._indices, starts = (Stored(group[name], f"{where}, {name!r}") for name in _PARTS)
        self._shape = _shape_of(group, len(starts) - 1, self._where)
        self._starts: NDArray[np.int64] = starts.take(np.array([0, len(starts) - 1])).astype(np.int64)
        rows, count = len(self), len(self._values)
        if len(self._indices) != count or self._starts[0] != 0 or self._starts[-1] != count or self._falls():
            text = f"{count:,} data, {len(self._indices):,} indices and an indptr that ends with {self._starts[-1]:,}"
            raise DataLossError(None, None, f"{self._where} has arrays that do not fit together: {text}")
        needs("scipy.sparse", "arrays: a sparse matrix of a group")
        self.chunk = max(1, self._values.chunk * rows // max(1, count))
        self.row_bytes = max(1, (self._values.row_bytes + self._indices.row_bytes) * count // max(1, rows))

    def _falls(self) -> bool:
        return bool((np.diff(self._starts) < 0).any())

    def __len__(self) -> int:
        return self._shape[0]

    def take(self, numbers: NDArray[np.int64]) -> SparseRows:
        """Return the rows from the first number to the last, in memory.

        Raises:
            DataLossError: A value is in no column; or as for `Stored.take`.
        """
        first, end = int(numbers[0]), int(numbers[-1]) + 1
        begin, last = int(self._starts[first]), int(self._starts[end]) - 1
        # If there are no values, read no rows from the arrays.
        found = [
            each.take(np.array([begin, last])) if last >= begin else np.empty(0, each.dtype)
            for each in (self._values, self._indices)
        ]
        matrix = needs("scipy.sparse", "arrays").csr_matrix
        try:
            rows = matrix((*found, self._starts[first : end + 1] - begin), (end - first, self._shape[1]))
            rows.check_format(full_check=True)
        except ValueError as error:
            text = f"{self._where} rows {first:,} to {end - 1:,} are damaged: {error}"
            raise DataLossError(None, None, text) from error
        return SparseRows(rows, self._where, self._pairs)

    def pieces(self, step: int) -> SparsePieces:
        """Return the column, read in pieces with `step` rows each."""
        return SparsePieces(self, step)

    def facts(self) -> Any:
        parts = [self._values.digest(), self._indices.digest()]
        return [str(self._values.dtype), list(self._shape), self._pairs, digest([self._starts]), *parts]


def _shape_of(group: Any, rows: int, where: str) -> tuple[int, int]:
    """Return a matrix's shape, given its row or column count.

    Raises:
        ValueError: It has none, or is stored by columns.
    """
    attributes: Mapping[str, Any] = group.attrs
    found = next((attributes[name] for name in _SHAPES if name in attributes), None)
    if found is None and "shape" in group:
        found = group["shape"][:]
    if found is None or len(found) != 2:
        raise ValueError(f"{where} is a group with a sparse matrix and has no attribute 'shape'")
    shape = int(found[0]), int(found[1])
    told = next((attributes[name] for name in _FORMATS if name in attributes), "")
    kind = told.decode() if isinstance(told, bytes) else str(told)
    if "csc" in kind or (rows != shape[0] and rows == shape[1]):
        text = f"{where} is a sparse matrix by columns (CSC), of which rows cannot be read: write it by rows (CSR)"
        raise ValueError(f"{text}, as SciPy's tocsr() makes it")
    if rows != shape[0]:
        raise DataLossError(None, None, f"{where} has the shape {list(shape)} and an indptr of {rows:,} rows")
    return shape


class SparsePieces:
    """A sparse matrix's rows, read in pieces with `step` rows each; the last few stay in memory."""

    def __init__(self, whole: StoredSparse, step: int) -> None:
        self._whole, self._step = whole, step
        self._load = last_used(self._piece)

    def __len__(self) -> int:
        return len(self._whole)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        piece = int(numbers[0]) // self._step
        return self._load(piece).take(numbers - piece * self._step)

    def _piece(self, piece: int) -> SparseRows:
        first = piece * self._step
        return self._whole.take(np.array([first, min(first + self._step, len(self)) - 1]))

    def facts(self) -> Any:
        return [*self._whole.facts(), self._step]  # random orders depend on it
