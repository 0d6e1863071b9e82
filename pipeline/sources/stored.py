"""Columns stored in pieces: HDF5, Zarr and dask arrays. They are read one piece at a time."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import native, object_vector
from pipeline.errors import DataLossError, invalid
from pipeline.foreign import numpy_of
from pipeline.locks import Lock
from pipeline.orders.numbered import digest
from pipeline.sources.extras import RowSelection, closed, is_closed, last_used, place_of
from pipeline.sources.strings import as_objects, decoded

# Minimum piece size over all stored arrays, in bytes; pieces are whole chunks.
_PIECE_BYTES = 1 << 20

# Pieces sampled by a stored array's digest, and their minimum size in bytes.
_SAMPLES, _SAMPLED_BYTES = 16, 64 << 10

# Maximum piece size for aligning all columns' chunks with the piece ends.
_ALIGNED_BYTES = 16 << 20

# Approximate minimum number of pieces per host, given enough chunks: then shards hardly differ in size.
_PIECES_OF_A_HOST = 8


def is_stored(given: Any) -> bool:
    """Return True for an array in a store, such as HDF5, Zarr or dask."""
    if hasattr(given, "chunksizes") and given.chunks is None:  # xarray: one array, loaded by NumPy
        return False
    return hasattr(given, "chunks") and isinstance(getattr(given, "shape", 0), (tuple, type(None)))


class InPieces(Protocol):
    """A column read in pieces with whole chunks.

    Attributes:
        chunk: Number of rows stored together.
        row_bytes: Bytes per row.
    """

    chunk: int
    row_bytes: int

    def pieces(self, step: int) -> Any:
        """Return the column, read in pieces with `step` rows each."""


def step_of(columns: Sequence[InPieces], rows: int, hosts: int) -> int:
    """Choose how many rows to read at once from stored columns, for `hosts` shards.

    Pieces end at chunk boundaries in all columns, unless they would become too large, or too few for the hosts. Then
    they end at chunk boundaries in the widest rows, because parts of narrower ones are cheap to read twice.
    """
    row_bytes = sum(each.row_bytes for each in columns)
    if not rows:
        return 1
    share = sys.maxsize if hosts == 1 else rows // (_PIECES_OF_A_HOST * hosts)
    unit = math.lcm(*(min(each.chunk, rows) for each in columns))
    if unit > min(share, _ALIGNED_BYTES // row_bytes):
        unit = max(columns, key=lambda each: each.row_bytes).chunk
    return unit * max(1, min(-(-_PIECE_BYTES // (unit * row_bytes)), share // unit))


def _rows_of_chunk(chunks: Any) -> int:
    """Return the number of rows stored together; dask's may differ, and are a tuple."""
    rows = chunks[0] if isinstance(chunks, tuple) else 1
    return max(1, int(max(rows) if isinstance(rows, tuple) else rows))


def _is_text(dtype: Any) -> bool:
    """Return True for HDF5's text dtype: h5py reads it as bytes."""
    told = getattr(dtype, "metadata", None) or {}
    return told.get("vlen") is str or told.get("h5py_encoding") == "utf-8"


class Stored:
    """An array in HDF5, Zarr, dask or a similar store.

    Attributes:
        dtype: The values' dtype.
        chunk: Number of rows stored together.
        row_bytes: Bytes per row.
    """

    def __init__(self, stored: Any, where: str) -> None:
        if not stored.shape:
            what = "the scalar" if stored.shape == () else "an empty one,"  # HDF5: it has no shape
            raise ValueError(f"arrays: {where} must have rank 1 or more, got {what} {stored!r:.80}")
        if not isinstance(stored.shape[0], (int, np.integer)):
            raise ValueError(f"arrays: {where} has an unknown number of rows: call its compute_chunk_sizes() before")
        self._stored = stored
        self._rows = int(stored.shape[0])
        self._where = f"arrays: {where}{place_of(stored)}"
        self._lock = Lock()  # stores differ in thread safety
        self._text = _is_text(stored.dtype)
        self.dtype = stored.dtype
        self.chunk = _rows_of_chunk(stored.chunks)
        self.row_bytes: int = max(1, math.prod(stored.shape[1:]) * np.dtype(stored.dtype).itemsize)

    def __len__(self) -> int:
        return self._rows

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows from the first number to the last.

        Raises:
            DataLossError: Its file is damaged, or a text is not UTF-8.
            InvalidArgumentError: Values are missing, or have another dtype than the array.
        """
        first, end = int(numbers[0]), int(numbers[-1]) + 1
        with self._lock:
            if is_closed(self._stored):
                raise closed(self._where)
            try:
                found = self._stored[first:end]
            except OSError as error:
                if error.errno is not None:
                    raise
                text = f"{self._where} rows {first:,} to {end - 1:,} cannot be read: {error}"
                raise DataLossError(None, None, text) from error
            if hasattr(type(found), "compute"):  # dask drops a mask when NumPy asks for the array
                found = found.compute()
            rows = numpy_of(found)
            if rows.shape != (end - first, *self._stored.shape[1:]):  # functions make dask's blocks
                raise self._of_block(first, end)
            rows = as_objects(self._of_its_dtype(rows, first), self._where)
            if not self._text:
                return native(rows)
            hint = "pass its bytes, such as dataset[:] of h5py"
            return decoded(rows, f"{self._where} rows {first:,} to {end - 1:,}", hint)

    def _of_its_dtype(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        """Cast rows to the array's declared dtype: dask blocks may have another one."""
        wanted = self._stored.dtype
        if rows.dtype == wanted or rows.dtype.kind not in "biufc" or not isinstance(wanted, np.dtype):
            return rows
        if not np.can_cast(rows.dtype, wanted, "same_kind"):
            text = f"{self._where} declares {wanted}, but rows from {first:,} on have {rows.dtype}"
            raise invalid(f"{text}: declare that dtype, for example with map_blocks(..., dtype=)")
        return rows.astype(wanted)

    def _of_block(self, first: int, end: int) -> DataLossError:
        """Return the error for rows with a block whose shape differs from the declared one."""
        sizes = self._stored.chunks[0]
        sizes = sizes if isinstance(sizes, tuple) else [int(sizes)] * -(-self._rows // int(sizes))
        text, begin = f"{self._where}: rows {first:,} to {end - 1:,} are not as the array declares", 0
        for number, size in enumerate(sizes):
            start, stop = max(first, begin), min(end, begin + size)
            wanted = (stop - start, *self._stored.shape[1:])
            if start < stop and (shape := numpy_of(self._stored[start:stop]).shape) != wanted:
                text += f": block {number} has rows of shape {list(shape)}, and {list(wanted)} were declared"
                break
            begin += size
        return DataLossError(None, None, text)

    def pieces(self, step: int) -> Pieces:
        """Return the column, read in pieces with `step` rows each."""
        return Pieces(self, step)

    def digest(self) -> str:
        """Digest up to 16 evenly spaced pieces, with whole chunks and at least 64 KiB each."""
        step = max(1, _SAMPLED_BYTES // self.row_bytes // self.chunk) * self.chunk
        pieces = max(1, -(-self._rows // step))
        starts = sorted({place * (pieces - 1) // (_SAMPLES - 1) * step for place in range(_SAMPLES)})
        bounds = [np.array([start, min(start + step, self._rows) - 1]) for start in starts if self._rows]
        return digest([object_vector([digest([self.take(each)]) for each in bounds])])

    def facts(self) -> Any:
        return [str(self._stored.dtype), list(self._stored.shape), self.digest()]


class Pieces:
    """A stored column, read in pieces with `step` rows each; the last few stay in memory.

    Rows are copies: writing to views would change the next epoch's rows.
    """

    def __init__(self, whole: Stored, step: int) -> None:
        self._whole = whole
        self._step = step
        self._load = last_used(self._piece)

    def __len__(self) -> int:
        return len(self._whole)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        piece = int(numbers[0]) // self._step
        rows: NDArray[Any] = RowSelection(numbers - piece * self._step).of(self._load(piece)).copy()
        if rows.dtype.hasobject:  # such as arrays with several lengths
            inside = rows.reshape(-1)
            for i, each in enumerate(inside):
                inside[i] = each.copy() if isinstance(each, np.ndarray) else each
        return rows

    def _piece(self, piece: int) -> NDArray[Any]:
        first = piece * self._step
        rows: NDArray[Any] = self._whole.take(np.array([first, min(first + self._step, len(self)) - 1]))
        return rows

    def facts(self) -> Any:
        return [*self._whole.facts(), self._step]  # random orders depend on it
