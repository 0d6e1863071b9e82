"""decode_csv: one or many CSV records as typed values. This file checks the arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pipeline.decode.csv.block import decode_block
from pipeline.decode.csv.record import STRING, TYPE_NAMES, ColumnType, RecordFormat, to_bytes
from pipeline.dtypes import as_bytes, integer, items, truth
from pipeline.errors import invalid


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str | bytes = ",",
    use_quote_delim: bool = True,
    na_value: str | bytes = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    """Decode CSV records into one value, or one array, per column.

    Many records at once are many times faster than single records. Thread safe.

    Args:
        records: One record as bytes or str, or your records in a list or array, without line ends.
        record_defaults: One entry per column: its dtype and the value for a missing field, as a number or string. An
            int means int32, a float float32. An empty list, or a dtype, makes the field required.
        field_delim: Character between fields.
        use_quote_delim: True if `"` quotes a field; `""` within quotes is one quote.
        na_value: Text that counts as missing, besides an empty field.
        select_cols: Columns to decode, as increasing indices; None decodes all.

    Returns:
        A list with one entry per column: a scalar for one record, an array for many.

    Raises:
        InvalidArgumentError: A record has a wrong field count, or a field is missing or not valid. `error.record` is
            the record's index.
        TypeError: A record is neither bytes nor str.

    Examples:
        >>> names, heights = pipeline.decode_csv(["Ada,1.65", "Alan,"], [[""], [0.0]])
        >>> names.tolist(), heights.tolist()
        ([b'Ada', b'Alan'], [1.649999976158142, 0.0])
    """
    form = _record_format(
        tuple(map(_hashable, items(record_defaults, "decode_csv: record_defaults", "defaults"))),
        as_bytes(field_delim, "decode_csv: field_delim"),
        truth(use_quote_delim, "decode_csv: use_quote_delim"),
        as_bytes(na_value, "decode_csv: na_value"),
        _selected(select_cols),
    )
    if isinstance(records, np.ndarray) and records.ndim == 0:
        records = records.item()
    if isinstance(records, (bytes, str)):
        return form.decode(as_bytes(records, "decode_csv: records"), 0)
    shape = records.shape if isinstance(records, np.ndarray) else None
    try:
        columns = decode_block(records.ravel().tolist() if shape is not None else records, form)
    except TypeError:
        if isinstance(records, Iterable):
            raise
        raise TypeError(f"records must be a string, or a list or array of them, got {records!r:.80}") from None
    return columns if shape is None else [column.reshape(shape) for column in columns]


def _selected(columns: Any) -> tuple[int, ...] | None:
    if columns is None:
        return None
    return tuple(integer(each, "select_cols") for each in items(columns, "decode_csv: select_cols", "integers"))


@lru_cache(maxsize=64)
def _record_format(
    defaults: tuple[Any, ...], delim: bytes, quotes: bool, na: bytes, select: tuple[int, ...] | None
) -> RecordFormat:
    if len(delim) != 1:
        raise invalid(f"field_delim should be only 1 char, got {delim!r}")
    if select is not None:
        if len(select) != len(defaults):
            text = f"select_cols should match output size: {len(select)} columns, {len(defaults)} record_defaults"
            raise invalid(text)
        if any(column < 0 for column in select) or any(b <= a for a, b in itertools.pairwise(select)):
            raise invalid(f"select_cols should be strictly increasing indices, got {select}")
    if not defaults:
        raise invalid("record_defaults describes no column")
    columns = tuple(_column_type(default, i) for i, default in enumerate(defaults))
    return RecordFormat(columns, delim, quotes, na, select)


def _hashable(default: Any) -> tuple[Any, ...]:
    """Return a default as (class, dtype or None, values), as a cache key for `_record_format`."""
    if isinstance(default, (type, np.dtype)):
        return ("dtype", default, ())
    if isinstance(default, (np.ndarray, np.generic)):
        return ("array", default.dtype, tuple(np.ravel(default).tolist()))
    if isinstance(default, (list, tuple)):
        return (type(default[0]) if default else None, None, tuple(default))
    return (type(default), None, (default,))


def _column_type(default: tuple[Any, ...], index: int) -> ColumnType:
    kind, dtype, values = default
    if len(values) > 1:
        raise invalid(f"There should only be 1 default per field but field {index} has {len(values)}")
    if kind == "dtype":
        dtype = np.dtype(dtype)
    elif dtype is None:
        if kind in (str, bytes):
            dtype = STRING
        else:
            dtype = np.dtype(np.int32 if kind is int else np.float32 if kind in (float, None) else type(values[0]))
    if dtype.kind in "SUO":
        return ColumnType(STRING, to_bytes(values)[0] if values else None)
    if dtype.name not in TYPE_NAMES or dtype.kind in "ub":  # unsupported in TensorFlow
        raise invalid(f"record_defaults[{index}]: decode_csv does not support dtype {dtype}")
    return ColumnType(dtype, dtype.type(values[0]) if values else None)
