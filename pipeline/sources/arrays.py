"""arrays: rows of arrays in memory, in `.npy` files, in HDF5 and Zarr, and of other sequences."""

from __future__ import annotations

import functools
import io
import math
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import gathers
from pipeline.dtypes import file_name, native, object_vector, refuse_missing, strings_as_bytes, truth
from pipeline.files.npy import NpyFile, checked_header
from pipeline.files.opening import read_whole
from pipeline.keywords import tells_keywords
from pipeline.memory import in_memory
from pipeline.nest import ListValue, Nest, parts_of
from pipeline.orders.numbered import digest, parse_shard
from pipeline.sources.extras import MANY, RowSelection, closed, is_closed, last_used, place_of, stacked
from pipeline.sources.nodes import Table
from pipeline.sources.order import Epochs
from pipeline.sources.paths import at_home
from pipeline.sources.source import TableSource
from pipeline.stages.block import flat

# Stored arrays are read in pieces of at least this many bytes of all of them: whole chunks.
_PIECE_BYTES = 1 << 20

# Files of up to so many bytes are read at once: then no row costs a call of the system.
_WHOLE_BYTES = 64 << 20

# How many pieces of a stored array its digest reads, and of how many bytes at least.
_SAMPLES, _SAMPLED_BYTES = 16, 64 << 10

# Pieces do not become larger than this only for the chunks of all columns to end where they do.
_ALIGNED_BYTES = 16 << 20

# Each host gets at least about so many pieces, if there are chunks enough: then shares hardly differ in size.
_PIECES_OF_A_HOST = 8


class ArrayColumn(Protocol):
    """A column of a table of arrays."""

    def __len__(self) -> int: ...

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows of these numbers."""

    def facts(self) -> Any:
        """What tells the column from others; plain data."""


@tells_keywords
def arrays(
    tensors: Any,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    memory_map: bool = False,
) -> TableSource:
    """Read rows of arrays: example i is row i of each, in your structure.

    A column may be an array, a PyTorch or JAX tensor, a Series, a `.npy` file's
    path, an HDF5 or Zarr array, a list, or an object with `__len__` and
    `__getitem__`. Do not change columns while you read them.

    Args:
        tensors: A column, or a dict, tuple or dataclass of columns.
        num_epochs: How often to read the rows; None repeats for ever.
        shuffle, seed: Read in random order, another one each epoch.
        shard: (index, count): read every count-th row, or stored piece.
        memory_map: Map `.npy` files. Truncating one then ends the process.

    Raises:
        ValueError, TypeError: Columns are missing, masked or unequally long, or
            an option is wrong.
        NotFoundError, DataLossError: A `.npy` file is missing or damaged.
        FailedPreconditionError: An HDF5 array's file is closed.

    Examples:
        >>> data = pipeline.arrays({"x": np.ones((3, 2)), "y": [0, 1, 0]})
        >>> [batch["y"].tolist() for batch in data.batch(2)]
        [[0, 1], [0]]
    """
    mapped = truth(memory_map, "arrays: memory_map")
    return TableSource(_Arrays(tensors, shard, mapped), Epochs(num_epochs, shuffle, seed, shard))


class _Arrays(Table):
    kind = "arrays"
    most = MANY

    def __init__(self, tensors: Any, shard: tuple[int, int] | None, mapped: bool) -> None:
        group = hasattr(type(tensors), "keys") and not isinstance(tensors, dict)  # one of zarr is a dataclass too
        single = group or isinstance(tensors, list) or parts_of(tensors) is None
        self._nest = None if single else Nest(tensors, True)
        names = [""] if self._nest is None else self._nest.names
        given = [tensors] if self._nest is None else self._nest.flatten(tensors)
        if not given:
            raise ValueError("arrays: there are no arrays")
        if mapped and not any(isinstance(each, (str, os.PathLike)) for each in given):
            raise ValueError("arrays: memory_map=True is for paths of .npy files, and there is none: leave it out")
        self._columns = [
            column(each, f"component {name!r}" if name else "the input", mapped)
            for name, each in zip(names, given, strict=True)
        ]
        self.one_by_one = any(isinstance(each, _Items) for each in self._columns)
        rows = [len(each) for each in self._columns]
        if len(set(rows)) > 1:
            listed = ", ".join(f"{name!r} has {count:,}" for name, count in zip(names, rows, strict=True))
            raise ValueError(f"arrays: all must have the same number of rows: {listed}")
        self._rows = rows[0]
        stored = [each for each in self._columns if isinstance(each, _Stored)]
        step = _step(stored, self._rows, parse_shard(shard, sys.maxsize, "rows")[1]) if stored else None
        self.unit = "rows" if step is None else "chunks"
        self.sizes: Sequence[int] | None = None
        if step is not None:
            self.sizes = [min(step, self._rows - first) for first in range(0, self._rows, step)]
            self._columns = [_Pieces(each, step) if isinstance(each, _Stored) else each for each in self._columns]

    @functools.cached_property
    def at_hand(self) -> bool:  # type: ignore[override]
        """Whether a block of rows has only to be gathered; objects may be of several shapes, and come one by one."""
        found = [each.array for each in self._columns if type(each) is _InMemory]
        arrays = tuple(each for each in found if each.dtype.isnative and not each.dtype.hasobject)
        alike = len(arrays) == len(self._columns) and gathers(arrays, self._rows)
        return alike and in_memory(arrays)

    def __len__(self) -> int:
        return self._rows

    def take(self, numbers: NDArray[np.int64]) -> Any:
        taken = [each.take(numbers) for each in self._columns]
        return taken[0] if self._nest is None else self._nest.pack(taken, True)

    def columns(self) -> tuple[tuple[NDArray[Any], ...], Any]:
        arrays = [each.array for each in self._columns if isinstance(each, _InMemory)]
        structure, found = flat(arrays[0] if self._nest is None else self._nest.pack(arrays, True))
        return tuple(found), structure

    def facts(self) -> dict[str, Any]:
        names = [""] if self._nest is None else self._nest.names
        return {"arrays": [[name, each.facts()] for name, each in zip(names, self._columns, strict=True)]}


def column(given: Any, where: str, mapped: bool = False) -> ArrayColumn:
    """Make a column of what `arrays` takes for one; `mapped` is for files."""
    if isinstance(given, (np.ndarray, list)):
        return _InMemory(_as_array(given, where))
    if isinstance(given, (str, os.PathLike)):
        return _of_file(at_home(file_name(given, f"arrays: {where}")), where, mapped)
    if is_closed(given):
        raise closed(f"arrays: {where}")
    if is_stored(given):
        return _Stored(given, where)
    kind = type(given)
    if hasattr(kind, "__dataframe__"):
        raise TypeError(f"arrays: {where} is a {kind.__name__}, whose items are columns: pass a dict of its columns")
    if hasattr(kind, "__array__"):
        return _InMemory(_as_array(given, where))
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):  # groups of h5py and zarr, and `.npz` files
        raise TypeError(
            f"arrays: {where} is a {kind.__name__}, which has arrays by name: pass a dict of those that are to be "
            'read, such as {"x": data["x"]}'
        )
    if hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not isinstance(given, (bytes, bytearray)):
        return _Items(given, where)
    raise TypeError(f"arrays: {where} is neither an array nor a sequence: {given!r:.80}")


def is_stored(given: Any) -> bool:
    """Whether this is an array of a store, such as HDF5 or Zarr."""
    return hasattr(given, "chunks") and isinstance(getattr(given, "shape", 0), (tuple, type(None)))


def stored_digest(stored: Any) -> str:
    """Return what tells an array of a store from others: a digest of its rows at up to 16 places, 16 hex digits."""
    return _Stored(stored, "the source").digest()


def _step(columns: Sequence[_Stored], rows: int, hosts: int) -> int:
    """Return how many rows of stored columns to read at once, for `hosts` that share them.

    Chunks of all columns end where a piece does, unless the pieces would be too large, or too few for the hosts. Then
    the chunks of the widest rows do: parts of the narrower ones are cheap to read twice.
    """
    row_bytes = sum(each.row_bytes for each in columns)
    if not rows:
        return 1
    share = sys.maxsize if hosts == 1 else rows // (_PIECES_OF_A_HOST * hosts)
    unit = math.lcm(*(min(each.chunk, rows) for each in columns))
    if unit > min(share, _ALIGNED_BYTES // row_bytes):
        unit = max(columns, key=lambda each: each.row_bytes).chunk
    return unit * max(1, min(-(-_PIECE_BYTES // (unit * row_bytes)), share // unit))


def _as_array(given: Any, where: str) -> NDArray[Any]:
    refuse_missing(given, f"arrays: {where}")
    if isinstance(given, list) and any(isinstance(row, ListValue) for row in given):
        return object_vector(given)
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ValueError(
            f"arrays: {where} is a list of rows of different shapes: use pipeline.dataset(rows).batch(n, pad=0)"
        ) from error
    if array.ndim == 0:
        raise ValueError(f"arrays: {where} must have rank 1 or more, got the scalar {given!r:.40}")
    return strings_as_bytes(array, f"arrays: {where}")


class _InMemory:
    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        # `take` is the faster one, but copies an array whole first that is not contiguous.
        rows = self.array.take(numbers, axis=0) if self.array.flags.c_contiguous else self.array[numbers]
        return native(rows)

    def facts(self) -> Any:
        return digest([self.array])


class _Mapped(_InMemory):
    """A mapped file. Its rows are read by the thread that takes them, not by the one that gets the batch."""

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return native(self.array[numbers])


class _InFile:
    """A file whose rows are read when they are taken."""

    def __init__(self, file: NpyFile) -> None:
        self._file = file

    def __len__(self) -> int:
        return len(self._file)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return native(self._file[numbers])

    def facts(self) -> Any:
        return digest([self._file])


def _of_file(path: str, where: str, mapped: bool) -> ArrayColumn:
    """Open a local file, map it into memory, or read a remote one."""
    name, remote = os.fsencode(path), b"://" in os.fsencode(path)
    text, where_of = os.fsdecode(name), f"arrays: {where}: {os.fsdecode(name)}"
    if not name.endswith(b".npy"):
        raise ValueError(f"arrays: {where} is the path {text!r}: only .npy files can be read by row")
    if remote:
        if mapped:
            raise ValueError(f"arrays: memory_map=True is for local files, and {text!r} is a URL: leave it out")
        data = read_whole(name, sys.maxsize)
        checked_header(io.BytesIO(data), len(data), where_of)
        return _InMemory(_as_array(np.load(io.BytesIO(data), allow_pickle=False), f"{where}: {text}"))
    file, where = NpyFile(name, f"arrays: {where}"), f"{where}: {text}"
    if mapped and file.dtype.kind not in "SU":  # strings become objects, wherever they lie
        return _Mapped(_as_array(np.load(text, mmap_mode="r", allow_pickle=False), where))
    if file.nbytes <= _WHOLE_BYTES or file.fortran or not file.shape or file.dtype.kind in "SU":
        return _InMemory(_as_array(file.whole(), where))
    return _InFile(file)


class _Stored:
    """An array of HDF5, Zarr or the like.

    Attributes:
        chunk: How many rows are stored together.
        row_bytes: How many bytes a row has.
    """

    def __init__(self, stored: Any, where: str) -> None:
        if not stored.shape:
            what = "the scalar" if stored.shape == () else "an empty one,"  # of HDF5: it has no shape
            raise ValueError(f"arrays: {where} must have rank 1 or more, got {what} {stored!r:.80}")
        self._stored = stored
        self._rows = int(stored.shape[0])
        self._where = f"arrays: {where}{place_of(stored)}"
        self._lock = threading.Lock()  # what is thread safe differs from store to store
        self.chunk: int = int(stored.chunks[0]) if isinstance(stored.chunks, tuple) else 1
        self.row_bytes: int = max(1, math.prod(stored.shape[1:]) * np.dtype(stored.dtype).itemsize)

    def __len__(self) -> int:
        return self._rows

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows from the first of these numbers to the last."""
        with self._lock:
            if is_closed(self._stored):
                raise closed(self._where)
            rows = np.asarray(self._stored[int(numbers[0]) : int(numbers[-1]) + 1])
            return native(strings_as_bytes(rows, self._where))

    def digest(self) -> str:
        """A digest of up to 16 evenly spaced pieces, whole chunks of 64 KiB at least."""
        step = max(1, _SAMPLED_BYTES // self.row_bytes // self.chunk) * self.chunk
        pieces = max(1, -(-self._rows // step))
        starts = sorted({place * (pieces - 1) // (_SAMPLES - 1) * step for place in range(_SAMPLES)})
        bounds = [np.array([start, min(start + step, self._rows) - 1]) for start in starts if self._rows]
        return digest([object_vector([digest([self.take(each)]) for each in bounds])])

    def facts(self) -> Any:
        return [str(self._stored.dtype), list(self._stored.shape), self.digest()]


class _Pieces:
    """A stored column that is read piece by piece, `step` rows each; the last few stay in memory."""

    def __init__(self, whole: _Stored, step: int) -> None:
        self._whole = whole
        self._step = step
        self._load = last_used(self._piece)

    def __len__(self) -> int:
        return len(self._whole)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        piece = int(numbers[0]) // self._step
        return RowSelection(numbers - piece * self._step).of(self._load(piece))

    def _piece(self, piece: int) -> NDArray[Any]:
        first = piece * self._step
        rows: NDArray[Any] = self._whole.take(np.array([first, min(first + self._step, len(self)) - 1]))
        return rows

    def facts(self) -> Any:
        return [*self._whole.facts(), self._step]  # which decides the random orders


class _Items:
    """The items of a sequence."""

    def __init__(self, items: Any, where: str) -> None:
        self._items = items
        self._where = where

    def __len__(self) -> int:
        return len(self._items)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return stacked([self._items[number] for number in numbers.tolist()], f"arrays: {self._where}")

    def facts(self) -> Any:
        return [type(self._items).__name__, len(self._items)]
