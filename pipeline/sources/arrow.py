"""arrow: the rows of Arrow tables; and how columns of Arrow become arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import InvalidArgumentError, invalid
from pipeline.nest import map_values
from pipeline.sources.extras import MANY, chosen, needs, picked
from pipeline.sources.order import Epochs
from pipeline.sources.source import TableSource


def arrow(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Make a source of the rows of an Arrow table in memory: each example is a dict with a value for each column.

    Numbers stay as they are, in their dtype; strings and binaries become bytes, dictionaries the values they stand for,
    lists of fixed size arrays, other lists arrays of varying length (see `ragged` of `batch`), structs dicts, and times
    and dates `datetime64`. Missing values of floats become NaN; other columns may have none.

    Args:
        table: A Table or RecordBatch of pyarrow, or what offers `__arrow_c_stream__`, such as a DataFrame of pandas or
            polars.
        columns: The columns to read; None means all.
        num_epochs: How often the rows are read; None means without end.
        shuffle: Whether the order is random, another one in each epoch.
        seed: Seed of the orders.
        shard: (index, count): read the rows `index`, `index + count`, ... of each order.

    Returns:
        The source, for the batch functions. It is a sequence too.

    Raises:
        InvalidArgumentError: There is no such column, or its type or a missing value cannot become an array. A
            ValueError too.
        ValueError: `num_epochs` or `shard` is out of range.
        TypeError: `table` is no table, `columns` is a string, or a number is not an integer.
        ImportError: pyarrow is not installed.
    """
    pyarrow = needs("pyarrow", "arrow", "arrow")
    if not isinstance(table, (pyarrow.Table, pyarrow.RecordBatch)):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TypeError(f"arrow: the table must be one of Arrow, not {table!r:.80}")
        table = pyarrow.table(table)
    names = chosen(table.schema.names, columns, "arrow")
    return TableSource(_Table(table.select(names)), Epochs(num_epochs, shuffle, seed, shard))


class _Table:
    """Columns of numbers are arrays from the start; others are made for the rows that are asked for."""

    kind = "arrow"
    sizes: Sequence[int] | None = None
    unit = "rows"
    most = MANY

    def __init__(self, table: Any) -> None:
        self._table = table
        self._arrays = {}
        for field in table.schema:
            check(field.type, field.name, "arrow")
            if _is_plain(field.type):
                self._arrays[field.name] = as_array(table[field.name], field.name, "arrow")
        self._others = [name for name in table.column_names if name not in self._arrays]

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        block = {name: picked(array, numbers) for name, array in self._arrays.items()}
        if self._others:
            rows = self._table.select(self._others).take(numbers)
            block |= as_block(rows, "arrow")
        return block

    def facts(self) -> dict[str, Any]:
        return {"columns": columns_of(self._table.schema), "rows": len(self)}


def columns_of(schema: Any) -> list[list[str]]:
    """Name and type of each column, as plain data."""
    return [[field.name, str(field.type)] for field in schema]


def as_block(table: Any, where: str) -> dict[str, Any]:
    """Make a block of the rows of a Table or RecordBatch."""
    return {name: as_array(table[name], name, where) for name in table.schema.names}


def rows_of_block(block: dict[str, Any], numbers: NDArray[np.int64]) -> Any:
    """Return rows of a block that nobody changes."""
    return map_values(lambda array: picked(array, numbers), block)


@functools.cache
def _types() -> Any:
    return needs("pyarrow.types", "arrow", "arrow")


def _is_plain(kind: Any) -> bool:
    types = _types()
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def check(kind: Any, name: str, where: str) -> None:
    """Raise InvalidArgumentError for a type that does not become an array."""
    types = _types()
    if types.is_struct(kind):
        for field in kind:
            check(field.type, f"{name}/{field.name}", where)
        return
    inner = kind
    if types.is_list(kind) or types.is_large_list(kind) or types.is_dictionary(kind):
        inner = kind.value_type
    while types.is_fixed_size_list(inner):
        inner = inner.value_type
    if not (_is_plain(inner) or _is_bytes(inner) or _is_time(inner)):
        raise invalid(f"{where}: column {name!r} has the type {kind}, which does not become an array: cast it before")


def _is_time(kind: Any) -> bool:
    types = _types()
    return bool(types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind))


def _is_bytes(kind: Any) -> bool:
    types = _types()
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
    )


def as_array(column: Any, name: str, where: str) -> Any:
    """Make an array of a column, or a dict of arrays of a struct; see `arrow`.

    Raises:
        InvalidArgumentError: It has missing values, and is not of floats.
    """
    pyarrow, types = needs("pyarrow", where, "arrow"), _types()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # of no chunk, with some versions
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    kind = column.type
    if types.is_dictionary(kind):
        return as_array(column.dictionary_decode(), name, where)
    if column.null_count and not types.is_floating(kind):
        raise InvalidArgumentError(
            None, None, f"{where}: column {name!r} of type {kind} has missing values: fill them before"
        )
    if types.is_struct(kind):
        fields = zip(kind, column.flatten(), strict=True)
        return {field.name: as_array(values, f"{name}/{field.name}", where) for field, values in fields}
    if types.is_fixed_size_list(kind):
        values = as_array(column.flatten(), name, where)
        return values.reshape(len(column), kind.list_size, *values.shape[1:])
    if types.is_list(kind) or types.is_large_list(kind):
        return _ragged(column, name, where)
    if _is_bytes(kind):
        column = column.cast(pyarrow.large_binary())
    return column.to_numpy(zero_copy_only=False)


def _ragged(column: Any, name: str, where: str) -> NDArray[Any]:
    """The rows of a column of lists, each an array of its own."""
    values = as_array(column.flatten(), name, where)
    ends = np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False))
    rows, first = np.empty(len(column), object), 0
    for i, end in enumerate(ends.tolist()):
        rows[i], first = values[first:end], end
    return rows
