"""parquet and feather: the rows of files of tables, group by group."""

from __future__ import annotations

import errno
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import truth
from pipeline.errors import DataLossError, invalid
from pipeline.files.identity import LISTED, contents_of, file_identity, names_of
from pipeline.files.opening import remote_file
from pipeline.files.os_errors import translated
from pipeline.keywords import tells_keywords
from pipeline.sources.arrow import (
    ArrowRows,
    check,
    columns_of,
    facts_of,
    field_names,
    fillings,
    schema_without_views,
    without_index,
    without_views,
)
from pipeline.sources.extras import MANY, chosen, last_used, needs
from pipeline.sources.ipc_sizes import batch_sizes
from pipeline.sources.nodes import Table
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import TableSource

_LARGE = 4 << 20  # bytes of a row group from which on it pays to decode its columns in several threads


@tells_keywords
def parquet(
    paths: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read rows of Parquet files: each example is a dict with a value a column.

    Only the columns you choose are read, a row group at a time.

    Args:
        paths: A path, URL or pattern such as "part-*.parquet", or a list.
        columns: Names of the columns to read; None reads all, as for `arrow`.
        defaults: Value for a missing field, by column, as for `arrow`.
        num_epochs: How often to read the rows; None repeats for ever.
        shuffle, seed: Read row groups, and rows in each, in random order.
        shard: (index, count): read every count-th row group.

    Raises:
        NotFoundError, DataLossError: A file is missing, or no Parquet file.
        InvalidArgumentError: A column or default does not fit, or a row lacks a
            value; the error names file, row group and column.
        ValueError, TypeError, ImportError: An option or a library is wrong.

    Examples:
        >>> import pyarrow, pyarrow.parquet
        >>> table = pyarrow.table({"x": [1, 2]})
        >>> pyarrow.parquet.write_table(table, "a.parquet")
        >>> list(pipeline.parquet("a.parquet").batch(2))
        [{'x': array([1, 2])}]
    """
    needs("pyarrow", "parquet")
    table = _Files("parquet", "row groups", expanded(paths, "parquet"), columns, defaults, _Parquet)
    return TableSource(table, Epochs(num_epochs, shuffle, seed, shard))


@tells_keywords
def feather(
    paths: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    memory_map: bool = False,
) -> TableSource:
    """Read the rows of Feather files (Arrow IPC), as `parquet` does, a record batch at a time.

    Each record batch is checked in full, so a damaged file is an error.

    Args:
        paths, columns, defaults, num_epochs, shuffle, seed, shard: As for `parquet`.
        memory_map: Map your local files into memory. If one becomes shorter, the system ends your process (SIGBUS).

    Raises:
        NotFoundError, DataLossError, InvalidArgumentError, ValueError, TypeError, ImportError: As for `parquet`.

    Examples:
        >>> import pyarrow, pyarrow.feather
        >>> pyarrow.feather.write_feather(pyarrow.table({"age": [36, 41]}), "people.feather")
        >>> list(pipeline.feather("people.feather").batch(2))
        [{'age': array([36, 41])}]
    """
    needs("pyarrow", "feather")
    names, mapped = expanded(paths, "feather"), truth(memory_map, "feather: memory_map")
    remote = next((name for name in names if mapped and "://" in name), None)
    if remote is not None:
        raise ValueError(f"feather: memory_map=True is for local files, and {remote!r} is a URL: leave it out")
    opened = functools.partial(_Feather, mapped=mapped)
    table = _Files("feather", "record batches", names, columns, defaults, opened)
    return TableSource(table, Epochs(num_epochs, shuffle, seed, shard))


class _Parquet:
    """An open Parquet file."""

    unit = "row group"

    def __init__(self, name: str) -> None:
        library = needs("pyarrow.parquet", "parquet")
        data = remote_file(os.fsencode(name), "rb") if "://" in name else name
        self._file = library.ParquetFile(data, page_checksum_verification=True)
        self.schema = schema_without_views(self._file.schema_arrow)

    def sizes(self) -> list[int]:
        """How many rows each group has."""
        metadata = self._file.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if min(sizes, default=0) < 0 or sum(sizes) != metadata.num_rows:
            shown = ", ".join(map(str, sizes[:5])) + ", ..." * (len(sizes) > 5)
            damaged = needs("pyarrow", "parquet").ArrowInvalid
            raise damaged(f"its row groups say that they have {shown} rows, and the file {metadata.num_rows:,}")
        return sizes

    def group(self, number: int, columns: list[str]) -> Any:
        """Return the rows of a group."""
        large = self._file.metadata.row_group(number).total_byte_size >= _LARGE
        return self._file.read_row_group(number, columns=columns, use_threads=large).select(columns)


class _Feather:
    """An open Feather file."""

    unit = "record batch"

    def __init__(self, name: str, mapped: bool = False) -> None:
        pyarrow = needs("pyarrow", "feather")
        self._ipc = needs("pyarrow.ipc", "feather")
        local = pyarrow.memory_map if mapped else pyarrow.OSFile
        self._data = remote_file(os.fsencode(name), "rb") if "://" in name else local(name)
        self.schema = schema_without_views(self._ipc.open_file(self._data).schema)

    def sizes(self) -> list[int]:
        return batch_sizes(self._data)

    def group(self, number: int, columns: list[str]) -> Any:
        fields = [self.schema.get_field_index(name) for name in columns]
        self._data.seek(0)
        reader = self._ipc.open_file(self._data, options=self._ipc.IpcReadOptions(included_fields=fields))
        rows = reader.get_batch(number).select(columns)
        rows.validate(full=True)  # Arrow follows offsets and indices into any memory
        return rows


class _Files(Table):
    """The groups of all files."""

    most = MANY

    def __init__(
        self,
        kind: str,
        unit: str,
        names: list[str],
        columns: Sequence[str] | None,
        defaults: Mapping[str, Any] | None,
        opened: Callable[[str], _Parquet | _Feather],
    ) -> None:
        self.kind = kind
        self.unit = unit
        self._names = names
        self._opened = opened
        self._columns: list[str] = []
        self._open = last_used(self._file)
        self._schema: Any = None
        self._fill: dict[str, Any] = {}
        groups: list[tuple[int, int]] = []
        sizes: list[int] = []
        for i, name in enumerate(names):
            file = self._open(i)
            _told(name, functools.partial(field_names, file.schema))
            self._check(file.schema, name, columns, defaults)
            of_file = _told(name, file.sizes)
            sizes += of_file
            groups += [(i, group) for group in range(len(of_file))]
        self._groups = groups
        self.sizes: Sequence[int] | None = sizes
        self._starts = np.array([0, *itertools.accumulate(sizes)][:-1], np.int64)
        self._load = last_used(self._group)

    def __len__(self) -> int:
        return sum(self.sizes or ())

    def take(self, numbers: NDArray[np.int64]) -> Any:
        group = int(np.searchsorted(self._starts, numbers[0], "right")) - 1
        return self._load(group).take(numbers - self._starts[group])

    def named(self, number: int) -> str:
        """The file of a row, and its number there."""
        group = int(np.searchsorted(self._starts, number, "right")) - 1
        file, place = self._groups[group]
        return f"{self._names[file]}:{number - self._starts[group - place]}"

    def facts(self) -> dict[str, Any]:
        return {
            "columns": columns_of(self._schema),
            "files": len(self._names),
            **names_of(self._names),
            "groups": len(self._groups),
            **({"contents": contents_of(self._names)} if len(self._names) > LISTED else {}),
            **facts_of(self._fill),
        }

    def files(self) -> dict[str, Any]:
        """What tells the local files from changed ones, unless facts do as there are many; of remote ones only the
        number of rows is known."""
        local = (name for name in self._names if "://" not in name and len(self._names) <= LISTED)
        return {name: identity for name in local if (identity := file_identity(name)) is not None}

    def _check(self, schema: Any, name: str, columns: Sequence[str] | None, defaults: Mapping[str, Any] | None) -> None:
        if self._schema is None:
            names = without_index(schema) if columns is None else columns
            self._columns = chosen(schema.names, names, f"{self.kind}: {name}")
        selected = [schema.field(i) for each in self._columns if (i := schema.get_field_index(each)) >= 0]
        pyarrow = needs("pyarrow", self.kind)
        if self._schema is None:
            self._schema = pyarrow.schema(selected)
            for field in selected:
                check(field.type, field.name, f"{self.kind}: {name}")
            self._fill = fillings(self._schema, defaults, f"{self.kind}: {name}")
        here = [(field.name, field.type) for field in selected]
        wanted = [(field.name, field.type) for field in self._schema]
        if here != wanted:
            differs = ", ".join(
                f"{column!r} is {dict(here).get(column, 'not there')}, in the first file {kind}"
                for column, kind in wanted
                if dict(here).get(column) != kind
            )
            raise invalid(f"{self.kind}: '{name}' has another schema than '{self._names[0]}': {differs}")

    def _file(self, number: int) -> Any:
        return _told(self._names[number], lambda: self._opened(self._names[number]))

    def _group(self, number: int) -> ArrowRows:
        file, group = self._groups[number]
        name = self._names[file]
        opened = self._open(file)
        rows = _told(name, lambda: without_views(opened.group(group, self._columns)))
        where = f"{self.kind}: {name}, {opened.unit} {group}"
        if rows.num_rows != (self.sizes or ())[number]:
            raise DataLossError(None, None, f"{where} has {rows.num_rows:,} rows, and not those that its file lists")
        return ArrowRows(rows, self._fill, where, self._columns)


def _told(name: str, call: Callable[[], Any]) -> Any:
    """Call what reads a file; its errors become the library's, with the name of the file."""
    pyarrow = needs("pyarrow", name)
    try:
        return call()
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise DataLossError(None, None, f"{name}; {error}") from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None and os.path.isfile(name):  # Arrow's own, not the system's
            raise DataLossError(None, None, f"{name}; {error}") from error
        if os.path.isdir(name):
            error = IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; for the files in it pass '{name}/*'")
        raise translated(os.fsencode(name), error) from error
