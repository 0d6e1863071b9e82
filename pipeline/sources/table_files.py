"""The rows of files of tables, group by group: what their schemas agree on, and which rows to read."""

from __future__ import annotations

import errno
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, OpError, invalid
from pipeline.files.identity import LISTED, contents_of, file_identity, names_of
from pipeline.files.os_errors import translated
from pipeline.sources.arrow import no_rows, without_index
from pipeline.sources.arrow_columns import Arrays, ArrowRows, table_as
from pipeline.sources.arrow_options import Codes, Where, casts_of, facts_of, fillings, texts_of
from pipeline.sources.arrow_types import as_read, check, columns_of, field_names, unified
from pipeline.sources.extras import MANY, chosen, last_used, needs
from pipeline.sources.hive import folder_columns
from pipeline.sources.nodes import Table
from pipeline.sources.table_formats import ArrowFile, ParquetFile


class Options(NamedTuple):
    """What to read of files: the arguments of `pipeline.parquet`."""

    columns: Sequence[str] | None
    defaults: Mapping[str, Any] | None
    dtypes: Mapping[str, Any] | None
    codes: Mapping[str, Sequence[str]] | None
    where: Any


class Schemas:
    """The columns of the first file, with the types on which all files agree.

    Args:
        kind: The function that reads them.
        options: What to read.

    Attributes:
        names: The columns to read.
        where: Which rows to read; None reads all.
    """

    names: list[str]
    where: Where | None = None

    def __init__(self, kind: str, options: Options) -> None:
        self._kind, self._options = kind, options
        self._first: Any = None
        self._seen: list[Any] = []  # the last schema, which most files share
        self._agreed: dict[str, tuple[Any, str]] = {}  # the type of a column, and the first file that has it
        self._others: dict[str, dict[str, str]] = {}  # by file, what is said of columns that have no common type

    def add(self, schema: Any, name: str) -> None:
        """Take the schema of a file into account."""
        if self._first is None:
            self._begin(schema, name)
        elif self._seen[0] != schema:
            for column, (agreed, file) in self._agreed.items():
                self._compare(schema, name, column, agreed, file)
        self._seen = [schema]

    def _begin(self, schema: Any, name: str) -> None:
        where = f"{self._kind}: {name}"
        wanted = self._options.columns
        self._first, self._where = schema, where
        self.names = chosen(schema.names, without_index(schema) if wanted is None else wanted, where)
        self._casts = casts_of(schema, self._options.dtypes, where)
        once = [field for field in schema if schema.get_field_index(field.name) >= 0]
        self._agreed = {field.name: (as_read(field.type, field.name, self._casts), name) for field in once}

    def _compare(self, schema: Any, name: str, column: str, agreed: Any, file: str) -> None:
        place = schema.get_field_index(column)
        if place < 0:
            if column not in (self._options.defaults or {}):
                self._others.setdefault(name, {})[column] = f"column {column!r} is not there"
            return
        kind = as_read(schema.field(place).type, column, self._casts)
        both = unified(agreed, kind)
        if both is None:
            text = f"column {column!r} is {kind}, and {agreed} in '{file}'"
            self._others.setdefault(name, {})[column] = text
        elif both != agreed:
            self._agreed[column] = both, file if both != kind else name

    def end(self) -> None:
        """Take it that all files are known.

        Raises:
            InvalidArgumentError: They have no common type for a column that is read, or it becomes no array.
        """
        if self._options.where is not None:
            self.where = Where(self._options.where, self.of(list(self._agreed)), self._kind)
        read = {*self.names, *([] if self.where is None else self.where.columns)}
        for name, said in self._others.items():
            differs = "; ".join(said[column] for column in said if column in read)
            if differs:
                hint = "if columns are to become one dtype, pass dtypes=, and for those that are not there defaults="
                raise invalid(f"{self._kind}: '{name}' does not fit the files before it: {differs}: {hint}")
        for name in self.names:
            check(self._agreed[name][0], name, self._where)

    def fillings(self) -> dict[str, Any]:
        """Return the defaults; see `fillings`."""
        return fillings(self.of(self.names), self._options.defaults, self._where)

    def codes(self) -> Codes:
        """Return the numbers of categories."""
        return Codes(self.of(self.names), self._options.codes, self._options.dtypes, self._where)

    def of(self, names: Sequence[str]) -> Any:
        """Return the schema of some columns, as they are read."""
        return needs("pyarrow", self._kind).schema([(name, self._agreed[name][0]) for name in names])


class _Group(NamedTuple):
    """Rows that are read together.

    Attributes:
        file: The number of their file.
        number: That of the group in it.
        first: The number of its first row there.
        size: How many rows it has.
    """

    file: int
    number: int
    first: int
    size: int


class TableFiles(Table):
    """The groups of all files.

    Args:
        kind: The function that reads them.
        unit: What groups are called.
        names: The files.
        options: What to read.
        opened: Opens one.
    """

    most = MANY
    ahead = True

    def __init__(
        self,
        kind: str,
        unit: str,
        names: list[str],
        options: Options,
        opened: Callable[[str], ParquetFile | ArrowFile],
    ) -> None:
        self.kind, self.unit = kind, unit
        self._names, self._opened = names, opened
        self._open = last_used(self._file)
        self._folders = folder_columns(names)
        self._schemas = Schemas(kind, options)
        self._groups: list[_Group] = []
        for i in range(len(names)):
            self._add(i)
        self._schemas.end()
        fill, texts = self._schemas.fillings(), texts_of(options.dtypes)
        codes = self._schemas.codes()
        self._arrays = functools.partial(Arrays, fill=fill, texts=texts, codes=codes)
        self._facts = facts_of(fill, texts, codes.names)
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
        """The file of a row, and its number there."""
        place = int(np.searchsorted(self._starts, number, "right")) - 1
        group, row = self._groups[place], number - self._starts[place]
        name = self._names[group.file]
        if self._schemas.where is not None:
            try:
                row = int(self._numbers(place)[row])
            except OpError:  # it cannot be read, as the error that names this row says
                return f"{name}:{group.first}"
        return f"{name}:{group.first + row}"

    def _numbers(self, place: int) -> NDArray[np.int64]:
        """The rows of a group that are read, by their numbers there."""
        numbers: NDArray[np.int64] = self._load(place)[1]
        return numbers

    def facts(self) -> dict[str, Any]:
        where = self._schemas.where
        return {
            "columns": columns_of(self._schemas.of(self._schemas.names)),
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
        """What tells the local files from changed ones, unless facts do as there are many; of remote ones only the
        number of rows is known."""
        local = (name for name in self._names if "://" not in name and len(self._names) <= LISTED)
        return {name: identity for name in local if (identity := file_identity(name)) is not None}

    def _add(self, number: int) -> None:
        """Take a file into account: its columns, those of its folders, and its groups."""
        name, file = self._names[number], self._open(number)
        pyarrow = needs("pyarrow", self.kind)
        _told(name, functools.partial(field_names, file.schema))
        fields = [pyarrow.field(key, value.type) for key, value in self._of_folders(number).items()]
        self._schemas.add(pyarrow.schema([*file.schema, *fields], file.schema.metadata), name)
        sizes = _told(name, file.sizes)
        firsts = itertools.accumulate(sizes[:-1], initial=0)
        self._groups += [_Group(number, i, *each) for i, each in enumerate(zip(firsts, sizes, strict=False))]

    def _of_folders(self, number: int) -> dict[str, Any]:
        """The columns of a file that are not in it."""
        names = self._open(number).schema.names
        return {key: value for key, value in self._folders[number].items() if key not in names}

    def _select(self, where: Where) -> list[int]:
        """Leave out groups without rows for which an expression is true; return how many the others have."""
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
        return _told(self._names[number], lambda: self._opened(self._names[number]))

    def _group(self, number: int) -> tuple[ArrowRows, Any]:
        """The rows of a group, and, where not all are read, their numbers in it."""
        group, numbers, names = self._groups[number], None, self._schemas.names
        if self._schemas.where is None:
            rows = self._rows(group, names)
        else:
            rows, numbers = self._rows_where(self._schemas.where, group, names)
        return ArrowRows(rows, self._arrays(self._place(group)), names), numbers

    def _rows_where(self, where: Where, group: _Group, names: Sequence[str] = ()) -> tuple[Any, NDArray[np.int64]]:
        rows = self._rows(group, [*names, *(name for name in where.columns if name not in names)])
        numbers = where.rows(rows.select(where.columns), self._place(group))
        return (rows.select(names).take(numbers) if names else None), numbers

    def _place(self, group: _Group) -> str:
        return f"{self.kind}: {self._names[group.file]}, {self._open(group.file).unit} {group.number}"

    def _rows(self, group: _Group, columns: list[str]) -> Any:
        """All rows of a group, as they are read."""
        pyarrow = needs("pyarrow", self.kind)
        file, folders = self._open(group.file), self._of_folders(group.file)
        stored = [name for name in columns if name in file.schema.names]
        rows: Any = _told(self._names[group.file], lambda: file.group(group.number, stored)) if stored else {}
        if stored and rows.num_rows != group.size:
            text = f"{self._place(group)} has {rows.num_rows:,} rows, and not those that its file lists"
            raise DataLossError(None, None, text)
        arrays = [
            rows[name] if name in stored else pyarrow.repeat(folders.get(name, pyarrow.scalar(None)), group.size)
            for name in columns
        ]
        schema = self._schemas.of(columns)
        return table_as(pyarrow.Table.from_arrays(arrays, columns), schema, self._place(group))


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
