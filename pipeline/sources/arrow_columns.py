"""Arrow columns as arrays, and table rows as blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.errors import DataLossError, InvalidArgumentError, invalid
from pipeline.nest import ListValue, map_values
from pipeline.sources.arrow_options import Codes
from pipeline.sources.arrow_rows import RowsByNumber
from pipeline.sources.arrow_types import (
    arrow_library,
    arrow_types,
    holds_objects,
    is_bytes,
    is_clock,
    is_extension,
    is_list,
    is_list_view,
    is_plain,
    is_text,
    is_time,
)
from pipeline.sources.extras import RowSelection, needs
from pipeline.sources.strings import decoded, not_utf_8


class ArrowRows:
    """Rows as blocks.

    Args:
        table: A Table or RecordBatch with the rows. Arrays are copies of a Table's columns, and views of a batch's.
        arrays: Makes arrays from its columns.
        ready: Columns converted to arrays at once, without Python objects, which take more memory than Arrow's. Other
            columns, and columns with missing values, are converted per request, so that rows without missing values
            stay readable.
    """

    def __init__(self, table: Any, arrays: Arrays, ready: Sequence[str]) -> None:
        self._table, self._made, self._names = table, arrays, table.schema.names
        self._arrays: dict[str, Any] = {}
        for name in ready:
            with contextlib.suppress(InvalidArgumentError, DataLossError):
                self._arrays[name] = arrays.of(table[name], name)
        self._others = [name for name in self._names if name not in self._arrays]
        self._rest = RowsByNumber(takeable(table.select(self._others))) if self._others else None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def sample(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows by index, as they are stored."""
        return takeable(self._table).take(numbers)

    def ready(self) -> list[NDArray[Any]] | None:
        """The columns, if all of them are arrays already."""
        return None if self._others else list(self._arrays.values())

    def take(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        """Return rows by index; InvalidArgumentError if a value is missing."""
        block: dict[str, Any] = dict.fromkeys(self._names)  # in this order
        rows_of = RowSelection(numbers).of
        block |= {
            name: rows_of(array) if type(array) is np.ndarray else map_values(rows_of, array)
            for name, array in self._arrays.items()
        }
        if self._rest is not None:
            rows = self._rest.take(numbers)
            block |= {name: self._array(rows[name], name) for name in self._others}
        return block

    def _array(self, rows: Any, name: str) -> Any:
        try:
            return self._made.of(rows, name)
        except InvalidArgumentError:
            self._made.of(self._table[name], name)  # its error counts all missing values
            raise


class Arrays:
    """Makes arrays from columns, and dicts of arrays from structs; see `pipeline.arrow`.

    Args:
        where: Prefix for error messages.
        fill: See `fillings`.
        codes: The columns with strings to convert to codes.
    """

    def __init__(self, where: str, fill: Mapping[str, Any], codes: Codes | None = None) -> None:
        self._where, self._fill, self._codes = where, fill, codes

    def of(self, column: Any, name: str) -> Any:
        """Return a column's array. Do not write to it: rows are views, and the iterator's next epoch reuses them.

        Raises:
            InvalidArgumentError: A value is missing and not a float, or a string has no code.
            DataLossError: A value is not in its dictionary, or a string is not UTF-8.
        """
        column = in_one(column)
        if is_plain(column.type) and not column.null_count:
            made = column.to_numpy(zero_copy_only=False)
        else:
            made = self._of(column, name)
        if type(made) is np.ndarray:
            made.flags.writeable = False
        return made

    def _of(self, column: Any, name: str) -> Any:
        types = arrow_types()
        kind = column.type
        if types.is_dictionary(kind):
            return self.of(self._decoded(column, name), name)
        coded = self._codes is not None and name in self._codes.names
        if is_extension(kind):
            values = self.of(column.storage, name)
            return values if coded else _meant(kind, values)
        if holds_objects(kind) and not types.is_struct(kind):
            return self._objects(column, name)
        column = self._filled(column, name)
        if types.is_struct(kind):
            fields = zip(kind, column.flatten(), strict=True)
            return {field.name: self.of(values, f"{name}/{field.name}") for field, values in fields}
        if types.is_fixed_size_list(kind):
            values = self.of(column.flatten(), f"{name}/item")
            return values.reshape(len(column), kind.list_size, *values.shape[1:])
        if is_list(kind):
            return self._ragged(column, name)
        if self._codes is not None and coded:
            return self._codes.of(column, name, self._where)
        return _texts(column, name, self._where) if is_text(column.type) else _values(column)

    def _decoded(self, column: Any, name: str) -> Any:
        try:
            return column.dictionary_decode()
        except needs("pyarrow", self._where).ArrowException as error:
            text = f"{self._where}: column {name!r} has a value that its dictionary does not have: {error}"
            raise DataLossError(None, None, text) from error

    def _filled(self, column: Any, name: str) -> Any:
        """Fill a column's missing values with its default; InvalidArgumentError if others are missing."""
        types, default = arrow_types(), self._fill.get(name)
        if column.null_count and default is not None:
            if types.is_null(column.type):
                return needs("pyarrow", self._where).repeat(default, len(column))
            column = column.fill_null(default)
        stays = default is not None and not default.is_valid  # NaT, like NaN in a float column
        if not (types.is_floating(column.type) or types.is_struct(column.type) or stays):  # structs: checked per field
            refuse_nulls(column, name, self._where, "see defaults=")
        return column

    def _ragged(self, column: Any, name: str) -> NDArray[Any]:
        """Return a list column's rows, each as its own array."""
        values = self.of(column.flatten(), f"{name}/item")
        ends = np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False))
        rows, first = np.empty(len(column), object), 0
        for i, end in enumerate(ends.tolist()):
            rows[i], first = values[first:end], end
        return rows

    def _objects(self, column: Any, name: str) -> NDArray[Any]:
        """Return the rows of a column with nested lists or maps, as lists of Python values."""
        pyarrow = needs("pyarrow", self._where)
        default: Any = self._fill[name].as_py() if name in self._fill else None
        if default is None:
            refuse_nulls(column, name, self._where, "see defaults=")
        try:
            values = column.to_pylist()
        except UnicodeDecodeError as error:
            raise not_utf_8(f"{self._where}: column {name!r}", error.object, "leave it out") from None
        except (pyarrow.ArrowException, ValueError) as error:
            text = f"{self._where}: column {name!r} has a value that does not become an object: {error}"
            raise invalid(text) from error
        return object_vector([ListValue(default if value is None else value) for value in values])


def _values(column: Any) -> NDArray[Any]:
    """Return an array for a column with numbers, bytes or times, without missing values except NaN and NaT."""
    pyarrow, kind = needs("pyarrow", "arrow"), column.type
    if is_clock(kind):  # NumPy has no times of day, but times since midnight
        column = column.view(f"int{kind.bit_width}").cast(pyarrow.int64()).view(pyarrow.duration(kind.unit))
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array


def _texts(column: Any, name: str, where: str) -> NDArray[Any]:
    pyarrow = needs("pyarrow", "arrow")
    try:
        array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    except (UnicodeDecodeError, pyarrow.ArrowException):
        values = object_vector(column.cast(pyarrow.large_binary()).to_pylist())
        return decoded(values, f"{where}: column {name!r}", f"pass dtypes={{{name!r}: bytes}}")
    return array


def _meant(kind: Any, values: Any) -> Any:
    """Return an extension column's values, according to its storage."""
    if kind.extension_name == "arrow.fixed_shape_tensor":
        order = kind.permutation or range(len(kind.shape))
        values = values.reshape(len(values), *(kind.shape))
        return values.transpose(0, *(1 + axis for axis in order))
    if kind.extension_name == "arrow.bool8":
        return values != 0
    return values


def in_one(column: Any) -> Any:
    """Return a column, possibly in chunks, as one Arrow array."""
    pyarrow = arrow_library()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # without chunks, in some versions
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    return column


def refuse_nulls(column: Any, name: str, where: str, hint: str) -> None:
    """Raise InvalidArgumentError if a column has missing values; the hint names the remedy."""
    if column.null_count:
        count = f"{column.null_count:,} of {len(column):,}"
        raise invalid(f"{where}: column {name!r} of type {column.type} has missing values, {count}: {hint}")


def table_as(table: Any, schema: Any, where: str) -> Any:
    """Cast a Table to a schema's types; InvalidArgumentError if a value does not fit."""
    if table.schema.equals(schema):
        return table
    for i, (field, wanted) in enumerate(zip(table.schema, schema, strict=True)):
        if field.type != wanted.type:
            table = table.set_column(i, wanted, column_as(table.column(i), wanted.type, field.name, where))
    return table


def column_as(column: Any, kind: Any, name: str, where: str) -> Any:
    """Cast a column to another type; InvalidArgumentError if a value does not fit."""
    pyarrow = needs("pyarrow", where)
    try:
        if isinstance(column, pyarrow.ChunkedArray):
            return pyarrow.chunked_array([_converted(chunk, kind) for chunk in column.chunks], kind)
        return _converted(column, kind)
    except pyarrow.ArrowException as error:
        text = f"{where}: column {name!r} of type {column.type} has a value that does not become {kind}: {error}"
        raise invalid(text) from error


def _converted(array: Any, kind: Any) -> Any:
    array = given = _without_views(array)
    for each in (_between(array.type, kind), kind):
        array = array if array.type == each else array.cast(each)
    _refuse_other_values(given, array)
    return array


def _refuse_other_values(given: Any, made: Any) -> None:
    """Raise ArrowInvalid if Arrow's cast changed a value: numbers became infinite, or True."""
    types, kind = arrow_types(), made.type
    if types.is_dictionary(given.type):
        if not is_plain(given.type.value_type):  # such as text views, which Arrow does not decode
            return
        given = given.dictionary_decode()
    if types.is_struct(kind) and types.is_struct(given.type):
        for pair in zip(given.flatten(), made.flatten(), strict=True):
            _refuse_other_values(*pair)
        return
    if is_list(kind) and is_list(given.type):
        _refuse_other_values(given.flatten(), made.flatten())
        return
    compute, number = needs("pyarrow.compute", "arrow"), is_plain(given.type) and not types.is_boolean(given.type)
    if types.is_boolean(kind) and number:
        other, said = compute.not_equal(made.cast(given.type), given), "neither 0 nor 1"
    elif types.is_floating(kind) and types.is_floating(given.type) and kind.bit_width < given.type.bit_width:
        other, said = compute.and_(compute.is_inf(made), compute.is_finite(given)), "too large"
    else:
        return
    at = compute.index(other, True).as_py()
    if at >= 0:
        raise needs("pyarrow", "arrow").ArrowInvalid(f"{given[at]} is {said}")


def _between(given: Any, wanted: Any) -> Any:
    """Return an intermediate type for Arrow's cast: text for decimals to floats.

    Cast directly, they are off by up to a unit in the last place, 99.99 as 99.99000000000001 (pyarrow 26.0).
    """
    pyarrow, types = needs("pyarrow", "arrow"), arrow_types()
    if types.is_dictionary(given):
        given = given.value_type
    if types.is_decimal(given) and types.is_floating(wanted):
        return pyarrow.large_string()
    if types.is_struct(given) and types.is_struct(wanted) and len(given) == len(wanted):
        kinds = [(field.name, _between(given.field(field.name).type, field.type)) for field in wanted]
        return pyarrow.struct(kinds)
    if not (is_list(given) and is_list(wanted)):
        return wanted
    item = _between(given.value_type, wanted.value_type)
    if types.is_fixed_size_list(wanted):
        return pyarrow.list_(item, wanted.list_size)
    return pyarrow.large_list(item) if types.is_large_list(wanted) else pyarrow.list_(item)


def _without_views(array: Any) -> Any:
    """Replace views of lists and runs in an Arrow array by lists, also inside: Arrow casts neither."""
    pyarrow, types, kind = needs("pyarrow", "arrow"), arrow_types(), array.type
    if types.is_run_end_encoded(kind):
        return _without_views(needs("pyarrow.compute", "arrow").run_end_decode(array))
    if not _has_views(kind):
        return array
    if types.is_struct(kind):
        fields = [_without_views(part) for part in array.flatten()]
        return pyarrow.StructArray.from_arrays(fields, [field.name for field in kind], mask=array.is_null())
    if types.is_fixed_size_list(kind):
        values = _without_views(array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size))
        return pyarrow.FixedSizeListArray.from_arrays(values, kind.list_size, mask=array.is_null())
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return pyarrow.LargeListArray.from_arrays(offsets, _without_views(array.flatten()), mask=array.is_null())


def _has_views(kind: Any) -> bool:
    types = arrow_types()
    if types.is_struct(kind):
        return any(_has_views(field.type) for field in kind)
    views = is_list_view(kind) or types.is_run_end_encoded(kind)
    return views or (is_list(kind) and _has_views(kind.value_type))


def takeable(table: Any) -> Any:
    """Return a Table, or a RecordBatch as one, safe for Arrow's `take`.

    On slices of nested fixed-size lists, `take` returns wrong rows or foreign memory (pyarrow 26.0): copy them.
    """
    pyarrow = needs("pyarrow", "arrow")
    table = pyarrow.Table.from_batches([table]) if isinstance(table, pyarrow.RecordBatch) else table
    for i, field in enumerate(table.schema):
        if not _nests_fixed(field.type):
            continue
        chunks = table.column(i).chunks
        if any(map(_is_sliced, chunks)):
            whole = [pyarrow.concat_arrays([chunk, chunk.slice(0, 0)]) for chunk in chunks]
            table = table.set_column(i, field, pyarrow.chunked_array(whole, field.type))
    return table


def _nests_fixed(kind: Any) -> bool:
    """Return True for fixed-size lists within fixed-size lists."""
    types = arrow_types()
    if is_extension(kind):
        return _nests_fixed(kind.storage_type)
    if types.is_struct(kind):
        return any(_nests_fixed(field.type) for field in kind)
    if not is_list(kind):
        return False
    inner = kind.value_type
    inner = inner.storage_type if is_extension(inner) else inner
    return bool(types.is_fixed_size_list(kind) and types.is_fixed_size_list(inner)) or _nests_fixed(inner)


def _is_sliced(array: Any) -> bool:
    types, kind = arrow_types(), array.type
    if is_extension(kind):
        return _is_sliced(array.storage)
    if types.is_struct(kind):
        inside = [array.field(i) for i in range(kind.num_fields)]
    else:
        inside = [array.values] if is_list(kind) else []
    return bool(array.offset) or any(map(_is_sliced, inside))


def digest_of(table: Any) -> str:
    """Digest a table's values as 16 hex digits, independently of their layout."""
    import hashlib  # 3 ms, as it loads OpenSSL; programs that save no state skip it

    state = hashlib.blake2b(digest_size=8)
    for name in table.schema.names:
        _add_to(state, in_one(table[name]))
    return state.hexdigest()


def _add_to(state: Any, column: Any) -> None:
    pyarrow, types = needs("pyarrow", "arrow"), arrow_types()
    if is_extension(column.type):
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
    if is_list(kind):
        state.update(column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
        _add_to(state, column.flatten())
    elif is_plain(kind) or is_time(kind):
        state.update(column.to_numpy(zero_copy_only=False).tobytes())
    else:
        for value in (column.cast(pyarrow.large_binary()) if is_bytes(kind) else column).to_pylist():
            data = value if isinstance(value, bytes) else repr(value).encode(errors="surrogateescape")
            state.update(b"%d:" % len(data) + data)
