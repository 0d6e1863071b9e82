"""Write, split and convert the fields in one CSV record; errors name the field and the record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from pipeline.decode.csv.numbers import number
from pipeline.dtypes import utf8
from pipeline.errors import InvalidArgumentError, invalid

STRING = np.dtype(object)
TYPE_NAMES = {  # for errors
    **{"float32": "float", "float64": "double", "int32": "int32", "int64": "int64", "uint64": "uint64"},
    "bool": "bool (true, false, 1 or 0)",
}


class ColumnType(NamedTuple):
    """One column's form in decode_csv.

    Attributes:
        dtype: The values' dtype; object for strings.
        default: The value for a missing field; None if a missing field is an error.
        text: True if strings become str rather than bytes; strings that are not UTF-8 stay bytes.
    """

    dtype: np.dtype[Any]
    default: Any
    text: bool = False


class RecordFormat(NamedTuple):
    """The records' format and dtypes: the checked arguments of decode_csv.

    Attributes:
        columns: The columns to return.
        delim: The byte between fields.
        quotes: True if fields may be quoted.
        na: Text for a missing field, in addition to the empty text.
        select: Increasing indices of the columns to return; None for all.
        width: Fields per record; None for the number of columns, or, with `select`, at least up to the last selected
            one.
        lenient: True if quotes may be anywhere, and missing fields at a record's end count as empty; `width` must be
            given.
    """

    columns: tuple[ColumnType, ...]
    delim: bytes
    quotes: bool
    na: bytes
    select: tuple[int, ...] | None
    width: int | None = None
    lenient: bool = False

    @property
    def exact(self) -> bool:
        """True if a record with more fields is an error."""
        return self.select is None or self.width is not None

    @property
    def fields(self) -> int:
        """Number of fields to look at in each record."""
        return self.width or (len(self.columns) if self.select is None else self.select[-1] + 1)

    def decode(self, line: bytes, record: int) -> list[Any]:
        """Return one record's values; `record` is its index, for errors."""
        fields = self.split(line, record)
        if len(fields) != len(self.columns):
            raise self._wrong_number(len(fields), record)
        return [self.value(field, i, record) for i, field in enumerate(fields)]

    def convert(self, field: bytes, dtype: np.dtype[Any]) -> Any:
        """Return a field's number or bool, or None if it is not valid in that dtype."""
        return number(field, dtype)

    def split(self, line: bytes, record: int) -> list[bytes]:
        """Return the selected fields; surplus fields are only counted."""
        width = self.fields
        if (self.quotes and b'"' in line) or b"\n" in line or b"\r" in line:
            rest = split_record(line, self.delim, self.quotes, record, self.lenient, self.width is None)
            fields = list(islice(rest, width))
            have = len(fields) + (sum(1 for _ in rest) if self.exact else 0)
        else:
            have = line.count(self.delim) + 1 if self.exact else 0
            fields = line.split(self.delim, width) if line and have <= width else []
        if have > width or (self.width is not None and have < width and not self.lenient):
            raise self._wrong_number(have, record)
        if self.lenient:
            fields += [b""] * (width - len(fields))
        if self.select is None:
            return fields
        return [fields[i] for i in self.select if i < len(fields)]

    def _wrong_number(self, have: int, record: int) -> InvalidArgumentError:
        return record_error(
            f"Expect {self.width or len(self.columns)} fields but have {have} in record {record}", record
        )

    def value(self, field: bytes, index: int, record: int) -> Any:
        """Return the value for a field in column `index`; InvalidArgumentError if it is invalid."""
        dtype, default, text = self.columns[index]
        if not field or field == self.na:
            if default is None:
                raise record_error(f"Field {index} is required but missing in record {record}!", record)
            return default
        if dtype == STRING:
            return _text_or_bytes(field) if text else field
        value = self.convert(field, dtype)
        if value is None:
            kind, shown = TYPE_NAMES[dtype.name], field.decode(errors="replace")
            raise record_error(f"Field {index} in record {record} is not a valid {kind}: {shown}", record)
        return value


def _text_or_bytes(field: bytes) -> str | bytes:
    try:
        return field.decode()
    except UnicodeDecodeError:
        return field


def split_record(
    line: bytes, delim: bytes = b",", quotes: bool = True, record: int = 0, lenient: bool = False, drops: bool = True
) -> Iterator[bytes]:
    """Split a record with quotes or line ends lazily, as in TensorFlow: only up to the fields that you take.

    Args:
        line: The record.
        delim: The byte between fields.
        quotes: True if fields may be quoted.
        record: The record's index, for errors.
        lenient: True if quotes may be anywhere: in an unquoted field they are ordinary characters, and text after a
            quoted field's closing quote belongs to the field.
        drops: True to drop line ends before a field; otherwise they are errors.

    Raises:
        InvalidArgumentError: A quote or line end is in the wrong place.
    """
    at, size = 0, len(line)
    while at < size:
        if drops and line[at] in b"\r\n":
            at += 1
        elif quotes and line[at] == ord('"'):
            field, at = _quoted_field(line, at + 1, delim, record, lenient)
            yield field
        else:
            end = line.find(delim, at)
            end = size if end < 0 else end
            field = line[at:end]
            if (quotes and not lenient and b'"' in field) or b"\n" in field or b"\r" in field:
                raise record_error("Unquoted fields cannot have quotes/CRLFs inside", record)
            yield field
            at = end + 1
    if line.endswith(delim):
        yield b""


def _quoted_field(line: bytes, at: int, delim: bytes, record: int, lenient: bool) -> tuple[bytes, int]:
    """Return the quoted field from `at` on, and the start of the next field."""
    pieces, begin = [], at
    while True:
        end = line.find(b'"', at)
        if end < 0:
            text = "Quoted field has to end with quote followed by delim or end"
            raise record_error(text, record, line.count(b"\n", 0, begin))
        pieces.append(line[at:end])
        after = line[end + 1 : end + 2]
        if after in (b"", delim):
            return b'"'.join(pieces), end + 2
        if after != b'"' and lenient:
            stop = line.find(delim, end)
            stop = len(line) if stop < 0 else stop
            if b"\r" in line[end:stop]:
                raise record_error("Unquoted fields cannot have quotes/CRLFs inside", record)
            return b'"'.join(pieces) + line[end + 1 : stop], stop + 1
        if after != b'"':
            text = "Quote inside a string has to be escaped by another quote"
            raise record_error(text, record, line.count(b"\n", 0, begin))
        at = end + 2


def to_bytes(values: Iterable[Any]) -> list[bytes]:
    """Return records or defaults as bytes; TypeError for types other than str and bytes."""
    for value in values:
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"a CSV record or default must be bytes or str, not {type(value).__name__} {value!r:.80}")
    return [utf8(value, "a CSV record or default") if isinstance(value, str) else bytes(value) for value in values]


def record_error(message: str, record: int, lines: int | None = None) -> InvalidArgumentError:
    """Return an error with its record's index as `error.record`.

    Args:
        message: The text.
        record: The record's index.
        lines: In errors about a quoted field, the record's line count before the quote, stored as `error.lines`.
    """
    error = invalid(message)
    error.record = record  # type: ignore[attr-defined]
    if lines is not None:
        error.lines = lines  # type: ignore[attr-defined]
    return error
