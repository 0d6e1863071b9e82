"""arrow: the rows of Arrow tables; and how columns of Arrow become arrays."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import gathers
from pipeline.dtypes import object_vector
from pipeline.errors import DataLossError, InvalidArgumentError, invalid
from pipeline.keywords import tells_keywords
from pipeline.memory import in_memory
from pipeline.nest import ListValue, map_values
from pipeline.orders.numbered import sampled
from pipeline.sources.extras import MANY, RowSelection, chosen, needs
from pipeline.sources.nodes import Table
from pipeline.sources.order import Epochs
from pipeline.sources.source import TableSource


@tells_keywords
def arrow(
    table: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read your Arrow table's rows from memory: each example is a dict with a value for each column.

    Numbers keep their dtype, strings and binaries become bytes, lists arrays, structs dicts, times and dates
    `datetime64`. Lists that hold structs or lists become a `ListValue`. Missing floats are NaN; other missing values
    are an error when you iterate, unless `defaults` fills them.

    Args:
        table: Your pyarrow Table or RecordBatch, or a pandas or polars DataFrame.
        columns: Columns to read; None reads all but the index of pandas, if that has no name.
        defaults: Value for a missing field, by column, "struct/field" or "list/item"; NaT for times.
        num_epochs: How often to read the rows; None repeats for ever.
        shuffle: Read in random order, another one each epoch.
        seed: Seed for the order.
        shard: (index, count): read your host's part: every count-th row.

    Raises:
        InvalidArgumentError: A column or default does not fit. When you iterate: a row has a missing value.
        ValueError, TypeError, ImportError: An option is wrong, `table` is not a table, or pyarrow is missing.

    Examples:
        >>> import pyarrow
        >>> list(pipeline.arrow(pyarrow.table({"age": [36, 41]})).batch(2))
        [{'age': array([36, 41])}]
    """
    pyarrow = needs("pyarrow", "arrow")
    if not isinstance(table, (pyarrow.Table, pyarrow.RecordBatch)):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TypeError(f"arrow: the table must be one of Arrow, not {table!r:.80}")
        try:
            table = pyarrow.table(table)
        except (ValueError, TypeError) as error:
            raise TypeError(f"arrow: the table must be one of Arrow, not a {type(table).__name__}: {error}") from None
    names = chosen(table.schema.names, without_index(table.schema) if columns is None else columns, "arrow")
    rows = without_views(table.select(names))
    return TableSource(_Table(rows, defaults), Epochs(num_epochs, shuffle, seed, shard))


class _Table(Table):
    kind = "arrow"
    most = MANY

    def __init__(self, table: Any, defaults: Mapping[str, Any] | None) -> None:
        for field in table.schema:
            check(field.type, field.name, self.kind)
        self._schema = table.schema
        self._fill = fillings(table.schema, defaults, self.kind)
        numbers = [field.name for field in table.schema if _is_plain(field.type)]
        self._rows = ArrowRows(table, self._fill, self.kind, numbers)

    @functools.cached_property
    def at_hand(self) -> bool:  # type: ignore[override]
        """Whether a block of rows has only to be gathered."""
        arrays = self._rows.ready()
        return arrays is not None and gathers(tuple(arrays), len(self)) and in_memory(arrays)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._rows.take(numbers)

    def columns(self) -> tuple[tuple[NDArray[Any], ...], Any]:
        return tuple(self._rows.ready() or ()), tuple(self._schema.names)

    def facts(self) -> dict[str, Any]:
        digest = digest_of(self._rows.sample(sampled(len(self))))
        return {"columns": columns_of(self._schema), "rows": len(self), "digest": digest, **facts_of(self._fill)}


class ArrowRows:
    """The rows of a Table or RecordBatch, as blocks.

    Args:
        table: The rows.
        fill: See `fillings`.
        where: What errors begin with.
        ready: Columns that become arrays at once. Others are made for the rows that are asked for; so are those with
            missing values, as the rest of their rows can be had.
    """

    def __init__(self, table: Any, fill: Mapping[str, Any], where: str, ready: Sequence[str]) -> None:
        self._table, self._fill, self._where = takeable(table), fill, where
        self._arrays: dict[str, Any] = {}
        for name in ready:
            if holds_objects(table.schema.field(name).type):  # Python objects take more memory than Arrow's
                continue
            with contextlib.suppress(InvalidArgumentError):
                self._arrays[name] = as_array(table[name], name, where, fill)
        self._others = [name for name in table.schema.names if name not in self._arrays]

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def sample(self, numbers: NDArray[np.int64]) -> Any:
        """The rows of these numbers as they are stored."""
        return self._table.take(numbers)

    def ready(self) -> list[NDArray[Any]] | None:
        """The columns, if all of them are arrays already."""
        return None if self._others else list(self._arrays.values())

    def take(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        """Return the rows of these numbers; InvalidArgumentError if a value is missing."""
        block: dict[str, Any] = dict.fromkeys(self._table.schema.names)  # in this order
        rows_of = RowSelection(numbers).of
        block |= {
            name: rows_of(array) if type(array) is np.ndarray else map_values(rows_of, array)
            for name, array in self._arrays.items()
        }
        if self._others:
            rows = self._table.select(self._others).take(numbers)
            block |= {name: self._array(rows[name], name) for name in self._others}
        return block

    def _array(self, rows: Any, name: str) -> Any:
        try:
            return as_array(rows, name, self._where, self._fill)
        except InvalidArgumentError:
            as_array(self._table[name], name, self._where, self._fill)  # tells how many values are missing in all
            raise


def fillings(schema: Any, defaults: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    """Return the defaults of columns, and of fields of structs, as scalars of Arrow.

    Raises:
        InvalidArgumentError: There is no such column, or one does not fit it.
        TypeError: They have no names.
    """
    if defaults is not None and not isinstance(defaults, Mapping):
        raise TypeError(f"{where}: defaults must be a dict of values by column, not {defaults!r:.80}")
    if not defaults:
        return {}
    kinds = _kinds(schema)
    return {
        name: _filling(name, kinds[name], defaults[name], where)
        for name in chosen(list(kinds), list(defaults), f"{where}: defaults")
    }


def _kinds(fields: Any, before: str = "") -> dict[str, Any]:
    """The type of each column, and of each field of a struct; of a dictionary that of its values."""
    found = {}
    for field in fields:
        name, kind = before + field.name, field.type
        found[name] = kind.value_type if _types().is_dictionary(kind) else kind
        if _types().is_struct(kind):
            found |= _kinds(kind, f"{name}/")
        while _is_list(kind) and not holds_objects(kind):
            name, kind = f"{name}/item", kind.value_type
            found[name] = kind.value_type if _types().is_dictionary(kind) else kind
    return found


def _filling(name: str, kind: Any, given: Any, where: str) -> Any:
    """The default of one column; that of times may be NaT, which is none, so that missing values stay missing."""
    pyarrow, value = needs("pyarrow", where), None
    if _is_time(kind) and (type(given).__name__ == "NaTType" or isinstance(given, (np.datetime64, np.timedelta64))):
        return _time_of(name, kind, given, where)
    with contextlib.suppress(pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        value = pyarrow.scalar(given, kind)
    cut = value is not None and _types().is_integer(kind) and value.as_py() != given  # such as 1.5
    cut = cut or (_is_time(kind) and isinstance(given, float))
    if value is None or not value.is_valid or cut:
        raise invalid(f"{where}: {given!r:.80} is not a valid default for column {name!r} of {kind}")
    return value


def _time_of(name: str, kind: Any, given: Any, where: str) -> Any:
    """The default of a column of times or dates, from a scalar of NumPy or the NaT of pandas."""
    pyarrow, unit = needs("pyarrow", where), "D" if _types().is_date(kind) else kind.unit
    numpy_kind = "timedelta64" if _types().is_duration(kind) else "datetime64"
    own = given if isinstance(given, np.generic) else np.array("NaT", numpy_kind)[()]
    if own.dtype.name.startswith(numpy_kind):
        if np.isnat(own):
            return pyarrow.scalar(None, kind)
        value = own.astype(f"{numpy_kind}[{unit}]")
        if value == own:
            return pyarrow.array(np.array([value]))[0].cast(kind)
    raise invalid(f"{where}: {given!r:.80} is not a valid default for column {name!r} of {kind}")


def facts_of(fill: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults, if there are any, as plain data."""
    return {"defaults": {name: _as_text(value) for name, value in fill.items()}} if fill else {}


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # nanoseconds, which Python has not
        return str(value.cast("string"))


def digest_of(table: Any) -> str:
    """Return a digest of the values of a table, 16 hex digits; how they are laid out has no part in it."""
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    state = hashlib.blake2b(digest_size=8)
    for name in table.schema.names:
        _add_to(state, in_one(table[name]))
    return state.hexdigest()


def _add_to(state: Any, column: Any) -> None:
    pyarrow, types = needs("pyarrow", "arrow"), _types()
    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = column.storage
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    state.update(column.is_valid().to_numpy(zero_copy_only=False).tobytes())
    if types.is_struct(kind):
        for part in column.flatten():
            _add_to(state, part)
        return
    column = column.drop_null()
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        state.update(column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
        _add_to(state, column.flatten())
    elif _is_plain(kind) or _is_time(kind):
        state.update(column.to_numpy(zero_copy_only=False).tobytes())
    else:
        for value in (column.cast(pyarrow.large_binary()) if _is_bytes(kind) else column).to_pylist():
            data = value if isinstance(value, bytes) else repr(value).encode(errors="surrogateescape")
            state.update(b"%d:" % len(data) + data)


def columns_of(schema: Any) -> list[list[str]]:
    """Name and type of each column, as plain data."""
    return [[field.name, str(field.type)] for field in schema]


def takeable(table: Any) -> Any:
    """Return a Table or RecordBatch from which Arrow takes the right rows.

    Of slices of fixed-size lists of such lists it takes other rows, or foreign memory (pyarrow 26.0): they are copied.
    """
    pyarrow = needs("pyarrow", "arrow")
    for i, field in enumerate(table.schema):
        if not _nests_fixed(field.type):
            continue
        if isinstance(table, pyarrow.RecordBatch):
            table = pyarrow.Table.from_batches([table])
        chunks = table.column(i).chunks
        if any(map(_is_sliced, chunks)):
            whole = [pyarrow.concat_arrays([chunk, chunk.slice(0, 0)]) for chunk in chunks]
            table = table.set_column(i, field, pyarrow.chunked_array(whole, field.type))
    return table


def _nests_fixed(kind: Any) -> bool:
    """Whether there are lists of fixed size in lists of fixed size."""
    types = _types()
    if types.is_struct(kind):
        return any(_nests_fixed(field.type) for field in kind)
    if not _is_list(kind):
        return False
    inner = kind.value_type
    return bool(types.is_fixed_size_list(kind) and types.is_fixed_size_list(inner)) or _nests_fixed(inner)


def _is_sliced(array: Any) -> bool:
    types, kind = _types(), array.type
    if types.is_struct(kind):
        inside = [array.field(i) for i in range(kind.num_fields)]
    else:
        inside = [array.values] if _is_list(kind) else []
    return bool(array.offset) or any(map(_is_sliced, inside))


def field_names(fields: Any) -> list[str]:
    """The names of fields and of those inside them; UnicodeDecodeError if one is no text, as in a damaged file."""
    types, names = _types(), []
    for field in fields:
        names.append(field.name)
        kind = field.type
        if types.is_struct(kind):
            names += field_names(kind)
        elif types.is_map(kind):
            names += field_names([kind.key_field, kind.item_field])
        elif _is_list(kind):
            names += field_names([kind.value_field])
    return names


def without_index(schema: Any) -> list[str]:
    """The names of columns, but for those where pandas stores an index that has no name: row numbers, no feature."""
    unnamed = set()
    # The metadata may come from any program, or from a damaged file.
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
        told = schema.pandas_metadata or {"columns": [], "index_columns": []}
        unnamed = {each["field_name"] for each in told["columns"] if each["name"] is None}
        unnamed &= {each for each in told["index_columns"] if isinstance(each, str)}
    return [name for name in schema.names if name not in unnamed]


def without_views(table: Any) -> Any:
    """Return a Table or RecordBatch with large strings for its string views: Arrow cannot take rows of those."""
    schema = schema_without_views(table.schema)
    return table if schema == table.schema else table.cast(schema)


def column_without_views(column: Any) -> Any:
    """As `without_views`, of a column."""
    kind = _without_views(column.type)
    return column if kind == column.type else column.cast(kind)


def schema_without_views(schema: Any) -> Any:
    """Return the schema that `without_views` makes of one."""
    pyarrow = needs("pyarrow", "arrow")
    fields = [field.with_type(_without_views(field.type)) for field in schema]
    return pyarrow.schema(fields, schema.metadata)


def _without_views(kind: Any) -> Any:
    """The same type with large strings and binaries for views, as polars has them, also inside."""
    pyarrow, types = needs("pyarrow", "arrow"), _types()
    if types.is_string_view(kind):
        return pyarrow.large_string()
    if types.is_binary_view(kind):
        return pyarrow.large_binary()
    if types.is_dictionary(kind):
        return pyarrow.dictionary(kind.index_type, _without_views(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_without_views(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_without_views(kind.value_type)), kind.list_size)
    for is_list, lists in ((types.is_list, pyarrow.list_), (types.is_large_list, pyarrow.large_list)):
        if is_list(kind):
            return lists(kind.value_field.with_type(_without_views(kind.value_type)))
    return kind


@functools.cache
def _types() -> Any:
    return needs("pyarrow.types", "arrow")


def _is_plain(kind: Any) -> bool:
    types = _types()
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def check(kind: Any, name: str, where: str) -> None:
    """Raise InvalidArgumentError for a type that becomes no column of a batch."""
    types = _types()
    if types.is_struct(kind) and kind.num_fields:
        for field in kind:
            check(field.type, f"{name}/{field.name}", where)
        return
    inner = _inside(kind) if _is_list(kind) else kind
    if types.is_dictionary(inner):
        inner = inner.value_type
    if not (_is_plain(inner) or _is_bytes(inner) or _is_time(inner) or holds_objects(kind)):
        do = "cast it before, or leave it out"
        raise invalid(f"{where}: column {name!r} has the type {kind}, which does not become an array: {do}")


def holds_objects(kind: Any) -> bool:
    """Whether a column of a type, or a field of a struct, has rows that become lists of Python objects."""
    types = _types()
    if types.is_struct(kind):
        return any(holds_objects(field.type) for field in kind)
    inner = _inside(kind) if _is_list(kind) else kind
    return inner is not kind and bool(_is_list(inner) or types.is_struct(inner) or types.is_map(inner))


def _is_list(kind: Any) -> bool:
    types = _types()
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _inside(kind: Any) -> Any:
    """The type of what is in a list, through lists of fixed size."""
    inner = kind.value_type
    while _types().is_fixed_size_list(inner):
        inner = inner.value_type
    return inner


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


def as_array(column: Any, name: str, where: str, fill: Mapping[str, Any] | None = None) -> Any:
    """Make an array of a column, or a dict of arrays of a struct; see `arrow`.

    Args:
        column: The column.
        name: What it is called.
        where: What errors begin with.
        fill: See `fillings`; None where nothing can be filled in.

    Raises:
        InvalidArgumentError: It has missing values, and is not of floats.
    """
    pyarrow, types = needs("pyarrow", where), _types()
    column = in_one(column)
    kind = column.type
    if types.is_dictionary(kind):
        try:
            decoded = column.dictionary_decode()
        except pyarrow.ArrowException as error:
            text = f"{where}: column {name!r} has a value that its dictionary does not have: {error}"
            raise DataLossError(None, None, text) from error
        return as_array(decoded, name, where, fill)
    if holds_objects(kind) and not types.is_struct(kind):
        return _objects(column, name, where, fill)
    default = fill.get(name) if fill else None
    if column.null_count and default is not None:
        column = column.fill_null(default)
    stays = default is not None and not default.is_valid  # which is NaT, as for floats NaN
    if not (types.is_floating(kind) or types.is_struct(kind) or stays):  # of a struct, its fields have none
        refuse_nulls(column, name, where, "fill them before" if fill is None else "see defaults=")
    if types.is_struct(kind):
        fields = zip(kind, column.flatten(), strict=True)
        return {field.name: as_array(values, f"{name}/{field.name}", where, fill) for field, values in fields}
    if types.is_fixed_size_list(kind):
        values = as_array(column.flatten(), f"{name}/item", where, fill)
        return values.reshape(len(column), kind.list_size, *values.shape[1:])
    if types.is_list(kind) or types.is_large_list(kind):
        return _ragged(column, name, where, fill)
    if _is_bytes(kind):
        column = column.cast(pyarrow.large_binary())
    return column.to_numpy(zero_copy_only=False)


def in_one(column: Any) -> Any:
    """Return a column that may come in chunks as one array of Arrow."""
    pyarrow = needs("pyarrow", "arrow")
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # of no chunk, with some versions
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    return column


def refuse_nulls(column: Any, name: str, where: str, hint: str) -> None:
    """Raise InvalidArgumentError if a column has missing values; the hint says what to do."""
    if column.null_count:
        count = f"{column.null_count:,} of {len(column):,}"
        raise invalid(f"{where}: column {name!r} of type {column.type} has missing values, {count}: {hint}")


def _ragged(column: Any, name: str, where: str, fill: Mapping[str, Any] | None) -> NDArray[Any]:
    """The rows of a column of lists, each an array of its own."""
    values = as_array(column.flatten(), f"{name}/item", where, fill)
    ends = np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False))
    rows, first = np.empty(len(column), object), 0
    for i, end in enumerate(ends.tolist()):
        rows[i], first = values[first:end], end
    return rows


def _objects(column: Any, name: str, where: str, fill: Mapping[str, Any] | None) -> NDArray[Any]:
    """The rows of a column of nested lists, as lists of what Python has for their values."""
    pyarrow = needs("pyarrow", where)
    default: Any = fill[name].as_py() if fill and name in fill else None
    if default is None:
        refuse_nulls(column, name, where, "fill them before" if fill is None else "see defaults=")
    try:
        values = column.to_pylist()
    except (pyarrow.ArrowException, ValueError) as error:
        raise invalid(f"{where}: column {name!r} has a value that does not become an object: {error}") from error
    return object_vector([ListValue(default if value is None else value) for value in values])
