"""decode_csv: the fields of CSV records as typed values, for one record or a block of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pipeline.decode.csv.columns import columns_of, texts
from pipeline.decode.csv.numerals import number
from pipeline.errors import InvalidArgumentError
from pipeline.memory import keep_pages

_PART = 1 << 15  # fields at a time, so that what is made of them stays in the caches: two to three times as fast
_STRING = np.dtype(object)
_NAMES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64"}


class Column(NamedTuple):
    """One column: its dtype (object for strings), and what a missing field counts as, None for an error."""

    dtype: np.dtype[Any]
    default: Any


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str | bytes = ",",
    use_quote_delim: bool = True,
    na_value: str | bytes = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    r"""Decode CSV records into one value, or one array, for each column.

    A field may be quoted with `"`, with `""` for a quote in it. A block of records is decoded all at once, which is
    many times faster than record by record, most so for 500 records and more. Its numbers of more than 16
    characters, or with an exponent, take a tenth of the time where pyarrow is installed (extra `arrow`); the values are
    the same. Safe in any number of threads.

    Args:
        records: One record as bytes or str, or a list or array of them, without line ends.
        record_defaults: For each column its dtype and what a missing field counts as: a number or string (an int means
            int32, a float float32), or a list or array with one in it. An empty list or array, or just a dtype, means
            that the field must not be missing. The dtypes are float32, float64, int32, int64 and strings (bytes out).
        field_delim: The character between fields.
        use_quote_delim: Treat `"` as said above, else as any other character.
        na_value: A field of this text is missing, as an empty one is.
        select_cols: The columns to decode, as increasing numbers from 0; `record_defaults` then describes these.
            None means all.

    Returns:
        A list with one entry for each column: of one record, a NumPy scalar or bytes; of a block of records, an array
        of the same shape, of object dtype for strings.

    Raises:
        InvalidArgumentError: A record has the wrong number of fields, a field is missing or is not a valid number, a
            quote is out of place; or the arguments are not as said above. For errors in a block `error.record` is the
            record's index.
        TypeError: `records` are not bytes or str.
    """
    layout = _layout(
        tuple(map(_hashable, record_defaults)),
        field_delim.encode() if isinstance(field_delim, str) else bytes(field_delim),
        use_quote_delim,
        na_value.encode() if isinstance(na_value, str) else bytes(na_value),
        None if select_cols is None else tuple(int(column) for column in select_cols),
    )
    if isinstance(records, np.ndarray) and records.ndim == 0:
        records = records.item()
    if isinstance(records, (bytes, str)):
        return layout.decode_one(records.encode() if isinstance(records, str) else bytes(records), 0)
    shape = records.shape if isinstance(records, np.ndarray) else None
    lines = _lines(records.ravel().tolist() if shape is not None else records)
    columns = layout.decode_block(lines)
    return columns if shape is None else [column.reshape(shape) for column in columns]


class Layout(NamedTuple):
    columns: tuple[Column, ...]
    delim: bytes
    quotes: bool
    na: bytes
    select: tuple[int, ...] | None

    def decode_block(self, lines: list[bytes]) -> list[Any]:
        keep_pages()
        step = max(_PART // len(self.columns), 1)
        parts = [self._decode_part(lines[i : i + step], i) for i in range(0, len(lines), step)]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return [np.empty(0, column.dtype) for column in self.columns]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _decode_part(self, lines: list[bytes], first: int) -> list[Any]:
        arrays = columns_of(lines, self)
        if arrays is not None:
            return arrays
        # Something is out of the ordinary, or there is an error to report.
        decoded = [self.decode_one(line, i) for i, line in enumerate(lines, first)]
        columns = zip(zip(*decoded, strict=True), self.columns, strict=True)
        return [_array(values, column.dtype) for values, column in columns]

    def decode_one(self, line: bytes, record: int) -> list[Any]:
        fields = self._split(line, record)
        if len(fields) != len(self.columns):
            raise _invalid(f"Expect {len(self.columns)} fields but have {len(fields)} in record {record}", record)
        return [self._value(field, i, record) for i, field in enumerate(fields)]

    def _split(self, line: bytes, record: int) -> list[bytes]:
        if (self.quotes and b'"' in line) or b"\n" in line or b"\r" in line:
            fields = split_record(line, self.delim, self.quotes, self.select, record)
        else:
            fields = line.split(self.delim) if line else []
        if self.select is None:
            return fields
        return [fields[i] for i in self.select if i < len(fields)]

    def _value(self, field: bytes, index: int, record: int) -> Any:
        dtype, default = self.columns[index]
        if not field or field == self.na:
            if default is None:
                raise _invalid(f"Field {index} is required but missing in record {record}!", record)
            return default
        if dtype == _STRING:
            return field
        value = number(field, dtype)
        if value is None:
            kind, text = _NAMES[dtype.name], field.decode(errors="replace")
            raise _invalid(f"Field {index} in record {record} is not a valid {kind}: {text}", record)
        return value


def split_record(
    line: bytes, delim: bytes = b",", quotes: bool = True, select: tuple[int, ...] | None = None, record: int = 0
) -> list[bytes]:
    """Split a record that may have quotes or line ends in it, as TensorFlow does: no further than the last selected
    column.

    Raises:
        InvalidArgumentError: A quote or line end is out of place.
    """
    fields: list[bytes] = []
    wanted = None if select is None else select[-1] + 1
    at, size = 0, len(line)
    while at < size and len(fields) != wanted:
        if line[at] in b"\r\n":  # line ends before a field are dropped
            at += 1
        elif quotes and line[at] == ord('"'):
            field, at = _quoted_field(line, at + 1, delim, record)
            fields.append(field)
        else:
            end = line.find(delim, at)
            end = size if end < 0 else end
            field = line[at:end]
            if (quotes and b'"' in field) or b"\n" in field or b"\r" in field:
                raise _invalid("Unquoted fields cannot have quotes/CRLFs inside", record)
            fields.append(field)
            at = end + 1
    if line.endswith(delim) and len(fields) != wanted:
        fields.append(b"")
    return fields


def _quoted_field(line: bytes, at: int, delim: bytes, record: int) -> tuple[bytes, int]:
    """Return the field whose opening quote is before `at`, and where the next field starts."""
    pieces = []
    while True:
        end = line.find(b'"', at)
        if end < 0:
            raise _invalid("Quoted field has to end with quote followed by delim or end", record)
        pieces.append(line[at:end])
        after = line[end + 1 : end + 2]
        if after in (b"", delim):
            return b'"'.join(pieces), end + 2
        if after != b'"':
            raise _invalid("Quote inside a string has to be escaped by another quote", record)
        at = end + 2


@lru_cache(maxsize=64)
def _layout(defaults: tuple[Any, ...], delim: bytes, quotes: bool, na: bytes, select: tuple[int, ...] | None) -> Layout:
    if len(delim) != 1:
        raise InvalidArgumentError(None, None, f"field_delim should be only 1 char, got {delim!r}")
    if select is not None:
        if len(select) != len(defaults):
            text = f"select_cols should match output size: {len(select)} columns, {len(defaults)} record_defaults"
            raise InvalidArgumentError(None, None, text)
        if any(column < 0 for column in select) or any(b <= a for a, b in itertools.pairwise(select)):
            raise InvalidArgumentError(None, None, f"select_cols should be strictly increasing indices, got {select}")
    if not defaults:
        raise InvalidArgumentError(None, None, "record_defaults describes no column")
    return Layout(tuple(_column(default, i) for i, default in enumerate(defaults)), delim, quotes, na, select)


def _hashable(default: Any) -> tuple[Any, ...]:
    """A default as (class, dtype or None, values): what `_layout` is remembered by."""
    if isinstance(default, (type, np.dtype)):
        return ("dtype", default, ())
    if isinstance(default, (np.ndarray, np.generic)):
        return ("array", default.dtype, tuple(np.ravel(default).tolist()))
    if isinstance(default, (list, tuple)):
        return (type(default[0]) if default else None, None, tuple(default))
    return (type(default), None, (default,))


def _column(default: tuple[Any, ...], index: int) -> Column:
    kind, dtype, values = default
    if len(values) > 1:
        text = f"There should only be 1 default per field but field {index} has {len(values)}"
        raise InvalidArgumentError(None, None, text)
    if kind == "dtype":
        dtype = np.dtype(dtype)
    elif dtype is None:
        if kind in (str, bytes):
            dtype = _STRING
        else:
            dtype = np.dtype(np.int32 if kind is int else np.float32 if kind in (float, None) else type(values[0]))
    if dtype.kind in "SUO":
        return Column(_STRING, texts(values)[0] if values else None)
    if dtype.name not in _NAMES:
        raise InvalidArgumentError(None, None, f"record_defaults[{index}]: decode_csv has no dtype {dtype}")
    return Column(dtype, dtype.type(values[0]) if values else None)


def _lines(records: Iterable[Any]) -> list[bytes]:
    lines = records if isinstance(records, list) else list(records)
    return lines if list(map(type, lines)).count(bytes) == len(lines) else texts(lines)


def _array(values: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    array = np.empty(len(values), dtype)
    array[:] = values
    return array


def _invalid(message: str, record: int) -> InvalidArgumentError:
    error = InvalidArgumentError(None, None, message)
    error.record = record  # type: ignore[attr-defined]
    return error
