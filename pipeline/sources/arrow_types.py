"""Arrow types: column types, the type for reading a column, and a common type for two files."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.sources.extras import needs

_UNITS = ("s", "ms", "us", "ns")  # for times, finest last


@functools.cache
def arrow_types() -> Any:
    """Return pyarrow.types."""
    return needs("pyarrow.types", "arrow")


@functools.cache
def arrow_library() -> Any:
    """Return pyarrow."""
    return needs("pyarrow", "arrow")


def is_plain(kind: Any) -> bool:
    """Return True for numbers and bools, as in NumPy."""
    types = arrow_types()
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_clock(kind: Any) -> bool:
    """Return True for times of day."""
    return bool(arrow_types().is_time(kind))


def is_time(kind: Any) -> bool:
    """Return True for moments, dates and durations."""
    types = arrow_types()
    return bool(types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind))


def is_text(kind: Any) -> bool:
    """Return True for strings."""
    types = arrow_types()
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_bytes(kind: Any) -> bool:
    """Return True for bytes and strings."""
    types = arrow_types()
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(binary or is_text(kind))


def is_extension(kind: Any) -> bool:
    """Return True if a type adds a meaning to its storage, as UUIDs do."""
    return isinstance(kind, arrow_library().BaseExtensionType)


def is_list(kind: Any) -> bool:
    """Return True for lists, as they are read."""
    types = arrow_types()
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_list_view(kind: Any) -> bool:
    """Return True for lists with items in any order."""
    types = arrow_types()
    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def stored(kind: Any) -> Any:
    """Return the storage type: a dictionary's value type, or an extension's storage."""
    while True:
        if arrow_types().is_dictionary(kind):
            kind = kind.value_type
        elif is_extension(kind):
            kind = kind.storage_type
        else:
            return kind


def inside(kind: Any) -> Any:
    """Return a list's item type, through fixed-size lists."""
    inner = kind.value_type
    while arrow_types().is_fixed_size_list(inner):
        inner = inner.value_type
    return inner


def holds_objects(kind: Any) -> bool:
    """Return True if a column's or struct field's rows become lists of Python objects."""
    types, kind = arrow_types(), stored(kind)
    if types.is_struct(kind):
        return any(holds_objects(field.type) for field in kind)
    if types.is_map(kind):
        return True
    inner = stored(inside(kind)) if is_list(kind) else kind
    return inner is not kind and bool(types.is_list(inner) or types.is_large_list(inner) or _is_record(inner))


def _is_record(kind: Any) -> bool:
    return bool(arrow_types().is_struct(kind) or arrow_types().is_map(kind))


def check(kind: Any, name: str, where: str, dtypes: bool = True) -> None:
    """Raise InvalidArgumentError for a type unsupported in batches.

    Args:
        kind: The type, as it is read.
        name: The column.
        where: Prefix for error messages.
        dtypes: True if the user can pass `dtypes=`.
    """
    types, kind = arrow_types(), stored(kind)
    if types.is_struct(kind) and kind.num_fields:
        names = [field.name for field in kind]
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise invalid(f"{where}: column {name!r} has several fields {twice!r}: rename them, or leave it out")
        for field in kind:
            check(field.type, f"{name}/{field.name}", where, dtypes)
        return
    if types.is_null(kind) or holds_objects(kind):
        return
    inner = kind
    while is_list(inner):
        name, inner = f"{name}/item", stored(inner.value_type)
    if is_plain(inner) or is_bytes(inner) or is_time(inner) or is_clock(inner):
        return
    do = "cast it before"
    if dtypes and (types.is_decimal(inner) or types.is_null(inner)):
        do = f"pass dtypes={{{name!r}: float}}"
    raise invalid(f"{where}: column {name!r} has the type {inner}, for which NumPy has no dtype: {do}, or leave it out")


def as_read(kind: Any, name: str = "", casts: Mapping[str, Any] | None = None) -> Any:
    """Return the type for reading columns of a type.

    Arrow cannot take rows from views, and casts list views wrongly (pyarrow 26.0).

    Args:
        kind: The type.
        name: The column.
        casts: The requested types, by name; see `casts_of`.
    """
    pyarrow, types = arrow_library(), arrow_types()
    if casts and name in casts:
        return casts[name]
    if types.is_run_end_encoded(kind):
        return as_read(kind.value_type, name, casts)
    if types.is_string_view(kind):
        return pyarrow.large_string()
    if types.is_binary_view(kind):
        return pyarrow.large_binary()
    if types.is_dictionary(kind):
        return pyarrow.dictionary(kind.index_type, as_read(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(as_read(field.type, f"{name}/{field.name}", casts)) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(as_read(kind.key_type), as_read(kind.item_type), kind.keys_sorted)
    if not (is_list(kind) or is_list_view(kind)):
        return kind
    item = kind.value_field.with_type(as_read(kind.value_type, f"{name}/item", casts))
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(item, kind.list_size)
    return pyarrow.list_(item) if types.is_list(kind) else pyarrow.large_list(item)


def counts_other_units(one: Any, other: Any, name: str, casts: Mapping[str, Any]) -> bool:
    """Return True if a column, or a part of it, has times read as integers but counted in several units.

    Args:
        one, other: Two of the column's types, as they are stored.
        name, casts: As for `as_read`.
    """
    types = arrow_types()
    if name in casts:
        times = [is_time(kind) or is_clock(kind) for kind in (one, other)]
        return bool(all(times) and types.is_integer(casts[name]) and str(one).split(",")[0] != str(other).split(",")[0])
    if types.is_struct(one) and types.is_struct(other):
        inside = {field.name: field.type for field in other}
        both = [(field.type, inside.get(field.name, field.type), f"{name}/{field.name}") for field in one]
    elif is_list(one) and is_list(other):
        both = [(one.value_type, other.value_type, f"{name}/item")]
    else:
        return False
    return any(counts_other_units(*each, casts) for each in both)


def schema_as_read(schema: Any, casts: Mapping[str, Any] | None = None) -> Any:
    """Return a schema with its columns' types for reading."""
    fields = [field.with_type(as_read(field.type, field.name, casts)) for field in schema]
    return arrow_library().schema(fields, schema.metadata)


def unified(one: Any, other: Any) -> Any:
    """Return a type for both types' values with the same resulting arrays; None if there is none.

    Args:
        one, other: Types as they are read.
    """
    pyarrow, types = arrow_library(), arrow_types()
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_dictionary(one) or types.is_dictionary(other):
        return unified(*(kind.value_type if types.is_dictionary(kind) else kind for kind in (one, other)))
    for alike in (types.is_integer, types.is_floating):
        if alike(one) and alike(other):
            kind = pyarrow.from_numpy_dtype(np.promote_types(_dtype_of(one), _dtype_of(other)))
            return kind if alike(kind) else None  # float64 cannot hold all int64 and uint64
    if is_text(one) and is_text(other):
        return pyarrow.large_string()
    if is_text(one) or is_text(other):
        return None
    if is_bytes(one) and is_bytes(other):
        return pyarrow.large_binary()
    if types.is_date(one) and types.is_date(other):
        return pyarrow.date64()
    return _unified_times(one, other) or _unified_nested(one, other)


def _dtype_of(kind: Any) -> np.dtype[Any]:
    """Return a number type's dtype; pyarrow's `to_pandas_dtype` needs pandas before pyarrow 26."""
    types = arrow_types()
    letter = "f" if types.is_floating(kind) else "i" if types.is_signed_integer(kind) else "u"
    return np.dtype(f"{letter}{kind.bit_width // 8}")


def _unified_times(one: Any, other: Any) -> Any:
    pyarrow, types = arrow_library(), arrow_types()
    for alike in (types.is_timestamp, types.is_duration, types.is_time):
        if not (alike(one) and alike(other)):
            continue
        unit = max(one.unit, other.unit, key=_UNITS.index)
        if types.is_timestamp(one):  # both are moments, or both wall clock times
            return pyarrow.timestamp(unit, one.tz) if (one.tz is None) == (other.tz is None) else None
        if types.is_duration(one):
            return pyarrow.duration(unit)
        return pyarrow.time32(unit) if unit in ("s", "ms") else pyarrow.time64(unit)
    return None


def _unified_nested(one: Any, other: Any) -> Any:
    pyarrow, types = arrow_library(), arrow_types()
    if types.is_struct(one) and types.is_struct(other):
        others = {field.name: field.type for field in other}
        kinds = [unified(field.type, others[field.name]) if field.name in others else None for field in one]
        if None in kinds or len(others) != len(kinds):
            return None
        return pyarrow.struct([(field.name, kind) for field, kind in zip(one, kinds, strict=True)])
    if types.is_map(one) and types.is_map(other):
        key, item = unified(one.key_type, other.key_type), unified(one.item_type, other.item_type)
        return None if key is None or item is None else pyarrow.map_(key, item)
    if not (is_list(one) and is_list(other)):
        return None
    item, sizes = unified(one.value_type, other.value_type), {_size(one), _size(other)}
    if item is None or len(sizes) > 1:
        return None
    size = sizes.pop()
    if size is not None:
        return pyarrow.list_(item, size)
    return pyarrow.large_list(item) if types.is_large_list(one) or types.is_large_list(other) else pyarrow.list_(item)


def _size(kind: Any) -> int | None:
    """Return the items per list; None if it varies."""
    return kind.list_size if arrow_types().is_fixed_size_list(kind) else None


def field_names(fields: Any) -> list[str]:
    """Return field names, also nested; UnicodeDecodeError if one is not text, as in a damaged file."""
    types, names = arrow_types(), []
    for field in fields:
        names.append(field.name)
        kind = field.type
        if types.is_struct(kind):
            names += field_names(kind)
        elif types.is_map(kind):
            names += field_names([kind.key_field, kind.item_field])
        elif is_list(kind) or is_list_view(kind):
            names += field_names([kind.value_field])
    return names


def columns_of(schema: Any) -> list[list[str]]:
    """Return each column's name and type, as plain data."""
    return [[field.name, str(field.type)] for field in schema]
