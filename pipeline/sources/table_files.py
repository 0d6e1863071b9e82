"""Table files, read group by group: their common schema, and the rows to read."""

from __future__ import annotations

import errno
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, FailedPreconditionError, OpError, invalid
from pipeline.files.identity import LISTED, contents_of, file_identity, names_of
from pipeline.files.os_errors import translated
from pipeline.files.remote import SeekableFiles
from pipeline.sources.arrow import no_rows, without_index
from pipeline.sources.arrow_columns import Arrays, ArrowRows, table_as
from pipeline.sources.arrow_options import Codes, Where, casts_of, facts_of, fillings
from pipeline.sources.arrow_types import (
    as_read,
    check,
    columns_of,
    counts_other_units,
    field_names,
    holds_objects,
    unified,
)
from pipeline.sources.extras import MANY, chosen, last_used, needs
from pipeline.sources.extras import names_of as listed_names
from pipeline.sources.hive import as_written, folder_columns
from pipeline.sources.nodes import Table
from pipeline.sources.table_formats import ArrowFile, ParquetFile

_SHOWN = 60  # characters of a column list in an error


class Options(NamedTuple):
    """A table file's options: the arguments to `pipeline.parquet`."""

    columns: Sequence[str] | None
    defaults: Mapping[str, Any] | None
    dtypes: Mapping[str, Any] | None
    codes: Mapping[str, Sequence[str]] | None
    where: Any


class Schemas:
    """All files' columns, with types common to the files, in any order.

    Args:
        kind: The function for reading them.
        options: Selection and conversion of columns.

    Attributes:
        names: The columns to read.
        where: Row filter; None reads all.
    """

    names: list[str]
    where: Where | None = None

    def __init__(self, kind: str, options: Options) -> None:
        self._kind, self._options = kind, options
        self._wanted = listed_names(options.columns, kind)
        self._first = self._where = ""  # the first file, and the prefix for errors
        self._last: Any = None  # the last schema, shared by most files
        self._kinds: dict[str, dict[Any, str]] = {}  # each column's types, with the first file for each type
        self._without: dict[str, str] = {}  # by column, the first file without it
        self._read: dict[str, None] = {}  # the columns to read if none are chosen
        self._agreed: dict[str, Any] = {}  # each column's type

    def add(self, schema: Any, name: str) -> None:
        """Add a file's schema.

        Raises:
            InvalidArgumentError: Several columns to read have the same name.
        """
        if self._last is not None and self._last.equals(schema, check_metadata=True):
            return
        names = schema.names
        read = without_index(schema) if self._wanted is None else [each for each in self._wanted if each in names]
        if read:
            self._read |= dict.fromkeys(chosen(names, read, f"{self._kind}: {name}"))
        columns = {field.name: field.type for field in schema if schema.get_field_index(field.name) >= 0}
        lacking = {column: name for column in self._kinds if column not in columns}
        if self._first:
            lacking |= {column: self._first for column in columns if column not in self._kinds}
        for column, file in lacking.items():
            self._without.setdefault(column, file)
        for column, kind in columns.items():
            self._kinds.setdefault(column, {}).setdefault(kind, name)
        self._first, self._last = self._first or name, schema

    def end(self) -> None:
        """Finish: all files have been added.

        Raises:
            InvalidArgumentError: A file lacks a column to read, or files have no common or no supported type for it.
        """
        options, wanted = self._options, self._wanted
        self._where = f"{self._kind}: {self._first}"
        first = needs("pyarrow", self._kind).schema([(name, next(iter(kinds))) for name, kinds in self._kinds.items()])
        casts = casts_of(first, options.dtypes, self._where)
        self.names = chosen(first.names, list(self._read) if wanted is None else wanted, self._where)
        differing: list[tuple[str, str, str]] = []  # file, column, and text for the error
        for column, kinds in self._kinds.items():
            self._agreed[column], odd = _common(column, kinds, casts)
            differing += odd
        if options.where is not None:
            self.where = Where(options.where, self.of(list(self._agreed)), self._kind)
        read = {*self.names, *([] if self.where is None else self.where.columns)}
        differing, lacked = ([each for each in odd if each[1] in read] for odd in (differing, self._lacked()))
        self._refuse(differing, lacked)
        for name in self.names:
            check(self._agreed[name], name, self._where)

    def _lacked(self) -> list[tuple[str, str, str]]:
        """Return files without a required column, the column, and a text for the error."""
        return [
            (file, name, f"column {name!r} is missing, but exists in '{next(iter(self._kinds[name].values()))}'")
            for name, file in self._without.items()
            if name not in (self._options.defaults or {})
        ]

    def _refuse(self, differing: list[tuple[str, str, str]], lacked: list[tuple[str, str, str]]) -> None:
        """Raise the error about the first file with a different or missing column, if any."""
        told = differing + lacked
        if not told:
            return
        file, odd = told[0][0], {column for _, column, _ in told}
        said = "; ".join(text for each, _, text in told if each == file)
        hints = []
        if any(each == file for each, _, _ in differing):
            hints.append("if columns are to become one dtype, pass dtypes=")
        if any(each == file for each, _, _ in lacked):
            rest = repr([name for name in self.names if name not in odd])
            others = rest if 2 < len(rest) <= _SHOWN else ""
            hints.append(f"fill in missing columns with defaults=, or leave them out with columns={others}")
        raise invalid(f"{self._kind}: '{file}' does not fit the other files: {said}: {'; '.join(hints)}")

    def fillings(self) -> dict[str, Any]:
        """Return the defaults; see `fillings`."""
        return fillings(self.of(self.names), self._options.defaults, self._where)

    def codes(self) -> Codes:
        """Return the category numbers."""
        return Codes(self.of(self.names), self._options.codes, self._options.dtypes, self._where)

    def of(self, names: Sequence[str]) -> Any:
        """Return the schema of some columns, as they are read."""
        return needs("pyarrow", self._kind).schema([(name, self._agreed[name]) for name in names])


def _common(column: str, kinds: Mapping[Any, str], casts: Mapping[str, Any]) -> tuple[Any, list[tuple[str, str, str]]]:
    """Return the type for reading a column; and for each file with another type, the column and a text for the error.

    Args:
        column: The column.
        kinds: Its types, with the first file for each.
        casts: The requested types.
    """
    agreed, before, odd = None, "", []
    first, its_file = next(iter(kinds.items()))
    for given, file in kinds.items():
        if counts_other_units(first, given, column, casts):
            said = f"column {column!r} is {given}, and {first} in '{its_file}': as numbers these count other units"
            odd.append((file, column, said))
            continue
        kind = as_read(given, column, casts)
        both = kind if agreed is None else unified(agreed, kind)
        if both is None:
            odd.append((file, column, f"column {column!r} is {kind}, and {agreed} in '{before}'"))
        elif both != agreed:
            agreed, before = both, before if both != kind else file
    return agreed, odd


class _Group(NamedTuple):
    """Rows read together.

    Attributes:
        file: Their file's index.
        number: The group's index in it.
        first: The first row's index there.
        size: Number of rows.
    """

    file: int
    number: int
    first: int
    size: int


class TableFiles(Table):
    """The groups in all files.

    Args:
        kind: The function for reading them.
        unit: Name of the groups.
        names: The files.
        options: Selection and conversion of columns.
        opened: Opens a file.
    """

    most = MANY
    lighter = "Read fewer columns (`columns=[...]`)"
    ahead = True

    def __init__(
        self,
        kind: str,
        unit: str,
        names: list[str],
        options: Options,
        opened: Callable[[str, SeekableFiles], ParquetFile | ArrowFile],
    ) -> None:
        self.kind, self.unit = kind, unit
        self._names, self._opened, self._remote = names, opened, SeekableFiles(names)
        self._open = last_used(self._file)
        self._folders = folder_columns(kind, names, as_written(options.dtypes, options.codes))
        self._schemas = Schemas(kind, options)
        self._groups: list[_Group] = []
        self._changed = [_last_change(name) for name in names]
        for i in range(len(names)):
            self._remote.prepare(i)
            self._add(i)
        self._schemas.end()
        self._schema = self._schemas.of(self._schemas.names)
        self._ready = [field.name for field in self._schema if not holds_objects(field.type)]
        self.views = len(self._ready) == len(self._schema)
        fill, codes = self._schemas.fillings(), self._schemas.codes()
        self._arrays = functools.partial(Arrays, fill=fill, codes=codes)
        self._facts = facts_of(fill, codes.names)
        sizes = [group.size for group in self._groups]
        if self._schemas.where is not None:
            sizes = self._select(self._schemas.where)
        self.sizes: Sequence[int] | None = sizes
        self._starts = np.array([0, *itertools.accumulate(sizes)][:-1], np.int64)
        self._load = last_used(self._group)

    def __len__(self) -> int:
        return sum(self.sizes or ())

    def take(self, numbers: NDArray[np.int64]) -> Any:
        group = int(np.searchsorted(self._starts, numbers[0], "right")) - 1
        rows, _ = self._load(group)
        return rows.take(numbers - self._starts[group])

    def named(self, number: int) -> str:
        """Return a row's file, and its index there."""
        place = int(np.searchsorted(self._starts, number, "right")) - 1
        group, row = self._groups[place], number - self._starts[place]
        name = self._names[group.file]
        if self._schemas.where is not None:
            try:
                row = int(self._numbers(place)[row])
            except OpError:  # unreadable, as the error about this row explains
                return f"{name}:{group.first}"
        return f"{name}:{group.first + row}"

    def _numbers(self, place: int) -> NDArray[np.int64]:
        """Return the indices, within a group, of the rows to read."""
        numbers: NDArray[np.int64] = self._load(place)[1]
        return numbers

    def facts(self) -> dict[str, Any]:
        where = self._schemas.where
        return {
            "columns": columns_of(self._schema),
            "files": len(self._names),
            **names_of(self._names),
            "groups": len(self._groups),
            **({"contents": contents_of(self._names)} if len(self._names) > LISTED else {}),
            **self._facts,
            **({} if where is None else {**where.facts(), "rows": len(self)}),
        }

    def files(self) -> Sequence[str]:
        return self._names

    def identities(self) -> dict[str, Any]:
        """Return identities for local files, unless `facts` covers them because there are many; for remote files, only
        row counts are known.
        """
        local = (name for name in self._names if "://" not in name and len(self._names) <= LISTED)
        return {name: identity for name in local if (identity := file_identity(name)) is not None}

    def _add(self, number: int) -> None:
        """Add a file: its columns, its folders' columns, and its groups."""
        name, file = self._names[number], self._open(number)
        pyarrow = needs("pyarrow", self.kind)
        _told(name, functools.partial(field_names, file.schema))
        fields = [pyarrow.field(key, value.type) for key, value in self._of_folders(number).items()]
        self._schemas.add(pyarrow.schema([*file.schema, *fields], file.schema.metadata), name)
        sizes = _told(name, file.sizes)
        firsts = itertools.accumulate(sizes[:-1], initial=0)
        self._groups += [_Group(number, i, *each) for i, each in enumerate(zip(firsts, sizes, strict=False))]

    def _of_folders(self, number: int) -> dict[str, Any]:
        """Return a file's columns from its folder names."""
        names = self._open(number).names
        return {key: value for key, value in self._folders[number].items() if key not in names}

    def _select(self, where: Where) -> list[int]:
        """Drop groups without rows satisfying an expression; return the other groups' row counts."""
        kept, sizes, count = [], [], sum(group.size for group in self._groups)
        for number, groups in itertools.groupby(self._groups, lambda group: group.file):
            may_hold = self._may_hold(where, number)
            for group in groups:
                if group.number in may_hold and (size := len(self._rows_where(where, group)[1])):
                    kept.append(group)
                    sizes.append(size)
        if not kept:
            raise no_rows(self.kind, where, count)
        self._groups = kept
        return sizes

    def _may_hold(self, where: Where, number: int) -> set[int]:
        compute = needs("pyarrow.compute", self.kind)
        said = compute.scalar(True)
        for key, value in self._of_folders(number).items():
            said = said & (compute.field(key) == value if value.is_valid else compute.field(key).is_null())
        file, schema = self._open(number), self._schemas.of(where.columns)
        found: set[int] = _told(self._names[number], lambda: file.may_hold(where, schema, said))
        return found

    def _file(self, number: int) -> Any:
        return _told(self._names[number], lambda: self._opened(self._names[number], self._remote))

    def _group(self, number: int) -> tuple[ArrowRows, Any]:
        """Return a group's rows, and, if not all are read, their indices in it."""
        group, numbers = self._groups[number], None
        if self._schemas.where is None:
            rows = self._rows(group, self._schema)
        else:
            rows, numbers = self._rows_where(self._schemas.where, group, self._schemas.names)
        batches = [] if self._open(group.file).mapped else rows.to_batches()  # a mapped file's rows must be copied
        rows = batches[0] if len(batches) == 1 else rows
        return ArrowRows(rows, self._arrays(self._place(group)), self._ready), numbers

    def _rows_where(self, where: Where, group: _Group, names: Sequence[str] = ()) -> tuple[Any, NDArray[np.int64]]:
        columns = [*names, *(name for name in where.columns if name not in names)]
        rows = self._rows(group, self._schemas.of(columns))
        numbers = where.rows(rows.select(where.columns), self._place(group))
        return (rows.select(names).take(numbers) if names else None), numbers

    def _place(self, group: _Group) -> str:
        return f"{self.kind}: {self._names[group.file]}, {self._open(group.file).unit} {group.number}"

    def _rows(self, group: _Group, schema: Any) -> Any:
        """Return all rows in a group with these columns, as they are read."""
        columns, there = schema.names, self._open(group.file).names
        stored = [name for name in columns if name in there]
        rows: Any = self._stored(group, stored) if stored else {}
        if stored and rows.num_rows != group.size:
            text = f"{self._place(group)} has {rows.num_rows:,} rows, not the number that its file lists"
            raise DataLossError(None, None, text)
        if stored != columns or not rows.schema.equals(schema):
            pyarrow, folders = needs("pyarrow", self.kind), self._of_folders(group.file)
            arrays = [
                rows[name] if name in there else pyarrow.repeat(folders.get(name, pyarrow.scalar(None)), group.size)
                for name in columns
            ]
            rows = pyarrow.Table.from_arrays(arrays, columns)
        return table_as(rows, schema, self._place(group))

    def _stored(self, group: _Group, columns: list[str]) -> Any:
        """Return a group's columns stored in its file."""
        name = self._names[group.file]
        try:
            rows = _told(name, lambda: self._open(group.file).group(group.number, columns))
        except Exception:
            self._refuse_changed(group.file, shorter=False)  # for a truncated file, the original error is better
            raise
        self._refuse_changed(group.file)
        return rows

    def _refuse_changed(self, number: int, shorter: bool = True) -> None:
        """Raise FailedPreconditionError if a file has changed: its bytes may mean anything."""
        name, before = self._names[number], self._changed[number]
        now = _last_change(name)
        if now is not None and before is not None and now != before and (shorter or now[0] >= before[0]):
            text = f"{self.kind}: {name} has changed since the dataset was made: make a new dataset"
            raise FailedPreconditionError(None, None, text)


def _last_change(name: str) -> tuple[int, int] | None:
    """Return a local file's size and modification time; None for a URL, and for a file no longer there."""
    if "://" in name:
        return None
    try:
        status = os.stat(name)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _told(name: str, call: Callable[[], Any]) -> Any:
    """Call a function that reads a file, and translate its errors into the library's, with the file's name."""
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
