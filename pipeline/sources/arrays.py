"""arrays: rows of arrays in memory, in `.npy` files, in HDF5 and Zarr, and of other sequences."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import Gatherer, gathers
from pipeline.dtypes import file_name, native, object_vector, truth
from pipeline.files.near_names import no_such_file
from pipeline.files.npy import NpyFile, checked_header
from pipeline.files.opening import read_whole
from pipeline.foreign import numpy_of
from pipeline.keywords import tells_keywords
from pipeline.memory import in_memory
from pipeline.nest import ListValue, Nest, parts_of
from pipeline.orders.numbered import digest, parse_shard
from pipeline.sources.extras import MANY, closed, is_closed, is_frame, stacked
from pipeline.sources.nodes import Gathers, Table
from pipeline.sources.order import Epochs
from pipeline.sources.paths import at_home
from pipeline.sources.source import TableSource
from pipeline.sources.sparse_rows import SparseRows, is_sparse
from pipeline.sources.stored import Stored, is_stored, step_of
from pipeline.sources.stored_sparse import SparseGroup, StoredSparse, is_sparse_group
from pipeline.sources.strings import as_objects
from pipeline.stages.block import flat
from pipeline.stages.collate import as_array, refuse_masks

# Files up to this size are read at once, so rows cost no system calls.
_WHOLE_BYTES = 64 << 20


class ArrayColumn(Protocol):
    """A column in a table of arrays."""

    def __len__(self) -> int: ...

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows by index."""

    def facts(self) -> Any:
        """Return the column's identity as plain data."""


@tells_keywords
def arrays(
    tensors: Any,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    memory_map: bool = False,
    sparse: bool = False,
) -> TableSource:
    """Read rows of arrays: example i is row i of each, in your structure.

    A column is an array, a tensor, a Series, a `.npy` file's path, an array of
    HDF5, Zarr, dask, xarray or scipy.sparse, a group of HDF5 or Zarr with a CSR
    matrix, a list, or an object with `__len__` and `__getitem__`. Do not change
    columns while you read them.

    Args:
        tensors: A column, or a dict, tuple or dataclass of columns.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the rows, in a different order each epoch.
        shard: (index, count): read every count-th row, or stored piece.
        memory_map: Map `.npy` files. Truncating one then ends the process.
        sparse: Return sparse rows as (indices, values), not with zeros.

    Raises:
        ValueError, TypeError: Columns or options do not fit.
        OpError: A file is missing, damaged or closed.

    Examples:
        >>> data = pipeline.arrays({"x": np.ones((3, 2)), "y": [0, 1, 0]})
        >>> [batch["y"].tolist() for batch in data.batch(2)]
        [[0, 1], [0]]
    """
    form = _Form(truth(memory_map, "arrays: memory_map"), truth(sparse, "arrays: sparse"))
    return TableSource(_Arrays(tensors, shard, form), Epochs(num_epochs, shuffle, seed, shard))


class _Form(NamedTuple):
    """How columns are read: with `.npy` files mapped, and with sparse rows as pairs."""

    mapped: bool = False
    pairs: bool = False


_PLAIN = _Form()


class _Arrays(Table):
    kind = "arrays"
    most = MANY

    def __init__(self, tensors: Any, shard: tuple[int, int] | None, form: _Form) -> None:
        tensors = _without_keys(tensors)
        if isinstance(tensors, dict):
            tensors = {key: _without_keys(each) for key, each in tensors.items()}
        if type(tensors) is tuple:
            tensors = tuple(map(_without_keys, tensors))
        group = hasattr(type(tensors), "keys") and not isinstance(tensors, dict)  # zarr's is a dataclass too
        single = group or isinstance(tensors, list) or parts_of(tensors) is None
        self._nest = None if single else Nest(tensors, True)
        names = [""] if self._nest is None else self._nest.names
        given = [tensors] if self._nest is None else self._nest.flatten(tensors)
        if not given:
            raise ValueError("arrays: expected at least one array, got none")
        if form.mapped and not any(isinstance(each, (str, os.PathLike)) for each in given):
            raise ValueError("arrays: memory_map=True is for paths of .npy files, and there is none: leave it out")
        if form.pairs and not any(is_sparse(each) or isinstance(each, SparseGroup) for each in given):
            raise ValueError("arrays: sparse=True is for sparse matrices, and there is none: leave it out")
        self._columns = [
            column(each, f"component {name!r}" if name else "the input", form)
            for name, each in zip(names, given, strict=True)
        ]
        self._paths = [os.fsdecode(each) for each in given if isinstance(each, (str, os.PathLike))]
        self._in_memory = [
            made for each, made in zip(given, self._columns, strict=True) if not isinstance(each, (str, os.PathLike))
        ]
        self.one_by_one = any(isinstance(each, _Items) for each in self._columns)
        self.ahead = not self.one_by_one
        rows = [len(each) for each in self._columns]
        if len(set(rows)) > 1:
            listed = ", ".join(f"{name!r} has {count:,}" for name, count in zip(names, rows, strict=True))
            raise ValueError(f"arrays: all must have the same number of rows: {listed}")
        self._rows = rows[0]
        stored = [each for each in self._columns if isinstance(each, (Stored, StoredSparse))]
        step = step_of(stored, self._rows, parse_shard(shard, sys.maxsize, "rows")[1]) if stored else None
        self.unit = "rows" if step is None else "chunks"
        self.sizes: Sequence[int] | None = None
        if step is not None:
            self.sizes = [min(step, self._rows - first) for first in range(0, self._rows, step)]
            in_pieces = (Stored, StoredSparse)
            self._columns = [each.pieces(step) if isinstance(each, in_pieces) else each for each in self._columns]

    @functools.cached_property
    def at_hand(self) -> bool:  # type: ignore[override]
        """True if a block only needs to gather rows; objects may vary in shape, so they are read per example."""
        return self._gathered is not None and in_memory(self._gathered)

    @functools.cached_property
    def _gathered(self) -> tuple[NDArray[Any], ...] | None:
        """The columns, in memory or mapped, if their rows are bytes to be copied."""
        arrays = [each.array for each in self._columns if isinstance(each, _InMemory)]
        plain = tuple(each for each in arrays if each.dtype.isnative and not each.dtype.hasobject)
        return plain if len(plain) == len(self._columns) and gathers(plain, self._rows) else None

    def __len__(self) -> int:
        return self._rows

    def take(self, numbers: NDArray[np.int64]) -> Any:
        taken = [each.take(numbers) for each in self._columns]
        return taken[0] if self._nest is None else self._nest.pack(taken, True)

    def gatherer(self) -> tuple[Gathers, Any] | None:
        arrays = self._gathered
        if arrays is None:
            return None
        structure, found = flat(arrays[0] if self._nest is None else self._nest.pack(list(arrays), True))
        return Gatherer(tuple(found)), structure

    def files(self) -> Sequence[str]:
        return self._paths

    def data(self) -> Sequence[Any]:
        arrays = [each.array for each in self._in_memory if isinstance(each, _InMemory)]
        return [*arrays, *(each.items for each in self._in_memory if isinstance(each, _Items))]

    def facts(self) -> dict[str, Any]:
        names = [""] if self._nest is None else self._nest.names
        return {"arrays": [[name, each.facts()] for name, each in zip(names, self._columns, strict=True)]}


def _without_keys(given: Any) -> Any:
    """Convert a sparse matrix that looks like a structure; return anything else unchanged.

    SciPy's dictionary-of-keys format is a dict, and a Zarr group is a dataclass.
    """
    if is_sparse_group(given):
        return SparseGroup(given)
    return given.tocsr() if is_sparse(given) and hasattr(type(given), "keys") else given


def column(given: Any, where: str, form: _Form = _PLAIN) -> ArrayColumn:
    """Make a column from an argument of `arrays`."""
    given = _without_keys(given)
    if isinstance(given, (np.ndarray, list)):
        return _InMemory(_as_array(given, where))
    if isinstance(given, (str, os.PathLike)):
        return _of_file(at_home(file_name(given, f"arrays: {where}")), where, form.mapped)
    if is_sparse(given):
        return SparseRows(given, f"arrays: {where}", form.pairs)
    if is_closed(given):
        raise closed(f"arrays: {where}")
    if is_stored(given):
        return Stored(given, where)
    if isinstance(given, SparseGroup):
        return StoredSparse(given.group, where, form.pairs)
    kind = type(given)
    if is_frame(kind):
        hint = "pass a dict of its columns, or use pipeline.arrow"
        raise TypeError(f"arrays: {where} is a {kind.__name__}, whose items are columns: {hint}")
    if hasattr(kind, "data_vars"):  # xarray
        hint = 'pass a dict of the arrays to read, such as {"x": data["x"]}'
        raise TypeError(f"arrays: {where} is a {kind.__name__}, which has arrays by name: {hint}")
    if hasattr(kind, "__array__"):
        return _InMemory(_as_array(given, where))
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):  # h5py and zarr groups, and `.npz` files
        raise TypeError(
            f"arrays: {where} is a {kind.__name__}, which has arrays by name: pass a dict of the arrays to "
            'read, such as {"x": data["x"]}'
        )
    if hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not isinstance(given, (bytes, bytearray)):
        return _Items(given, where)
    raise TypeError(f"arrays: {where} is neither an array nor a sequence: {given!r:.80}")


def _as_array(given: Any, where: str) -> NDArray[Any]:
    if isinstance(given, list) and any(isinstance(row, ListValue) for row in given):
        return object_vector(given)
    refuse_masks(given, f"arrays: {where}")
    try:
        array = as_array(given, f"arrays: {where}") if isinstance(given, list) else numpy_of(given)
    except ValueError as error:
        if isinstance(given, list) and all(isinstance(row, (int, float, np.number)) for row in given):
            raise  # no dtype holds all these numbers
        raise ValueError(
            f"arrays: {where} is a list of rows of different shapes: use pipeline.dataset(rows).batch(n, pad=0)"
        ) from error
    if array.ndim == 0:
        raise ValueError(f"arrays: {where} must have rank 1 or more, got the scalar {given!r:.40}")
    return as_objects(array, f"arrays: {where}")


class _InMemory:
    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        # `take` is faster, but first copies the whole array if it is not contiguous.
        rows = self.array.take(numbers, axis=0) if self.array.flags.c_contiguous else self.array[numbers]
        return native(rows)

    def facts(self) -> Any:
        return digest([self.array])


class _Mapped(_InMemory):
    """A mapped file. Rows are read by the thread taking them, not by the batch's consumer."""

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return native(self.array[numbers])


class _InFile:
    """A file; its rows are read when they are taken."""

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
        raise ValueError(f"arrays: {where} is the path {text!r:.80}: only .npy files can be read by row")
    if remote:
        if mapped:
            raise ValueError(f"arrays: memory_map=True is for local files, and {text!r} is a URL: leave it out")
        data = read_whole(name, sys.maxsize)
        checked_header(io.BytesIO(data), len(data), where_of)
        return _InMemory(_as_array(np.load(io.BytesIO(data), allow_pickle=False), f"{where}: {text}"))
    if not os.path.exists(name):
        raise no_such_file(text)
    file, where = NpyFile(name, f"arrays: {where}"), f"{where}: {text}"
    if mapped and file.dtype.kind not in "SU":  # strings become objects, wherever they are stored
        return _Mapped(_as_array(np.load(text, mmap_mode="r", allow_pickle=False), where))
    if file.nbytes <= _WHOLE_BYTES or file.fortran or not file.shape or file.dtype.kind in "SU":
        return _InMemory(_as_array(file.whole(), where))
    return _InFile(file)


class _Items:
    """A sequence's items."""

    def __init__(self, items: Any, where: str) -> None:
        self.items = items
        self._where = where

    def __len__(self) -> int:
        return len(self.items)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return stacked([self.items[number] for number in numbers.tolist()], f"arrays: {self._where}")

    def facts(self) -> Any:
        return [type(self.items).__name__, len(self.items)]
