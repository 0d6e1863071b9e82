"""CSV columns: dtypes and defaults, given or inferred from the first rows."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.csv.block import decode_block
from pipeline.decode.csv.numbers import number
from pipeline.decode.csv.record import STRING, TYPE_NAMES, ColumnType
from pipeline.dtypes import as_bytes, numpy_dtype
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.sources.csv_syntax import Syntax

_GUESSES = (np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64))
_FEW = 5  # if at most one value in this many is not a number, it is probably a mistake
_INTEGER = re.compile(rb"\s*[-+]?\d+\s*")
_MISSING = re.compile(rb"\s*([-+]?nan\s*)?", re.IGNORECASE)  # blanks match in one way only: two take quadratic time
FIELD = re.compile(r"^Field (\d+)")


def guessed(
    names: Sequence[str], rows: list[bytes], header: Sequence[str], syntax: Syntax, defaults: Mapping[str, Any]
) -> dict[str, ColumnType]:
    """Describe columns by the first dtypes suitable for all rows' values and the defaults.

    Args:
        names: The columns' names.
        rows: A file's first rows; malformed rows are removed.
        header: All column names in the file.
        syntax: The file's syntax.
        defaults: By name.
    """
    text = syntax.encoding is not None
    columns = {name: _first_that_takes(name, defaults, text) for name in names}
    while columns:
        form = syntax.form(header, ordered(columns, header))
        try:
            decode_block(rows, form)
            break
        except InvalidArgumentError as error:
            row = rows[error.record]  # type: ignore[attr-defined]
            if FIELD.match(error.message) is None:
                rows.remove(row)
                continue
        fields = form.split(row, 0)
        for i, (name, before) in enumerate(ordered(columns, header).items()):
            try:
                form.value(fields[i], i, 0)
            except InvalidArgumentError:
                columns[name] = _first_that_takes(name, defaults, text, before.dtype)
    return columns


class NearlyNumbers(NamedTuple):
    """A column inferred as strings though most values are numbers.

    Attributes:
        name: Its name.
        row: Index of the first row, among the examined ones, with another value.
        text: That value.
    """

    name: str
    row: int
    text: str


def nearly_numbers(
    columns: Mapping[str, ColumnType], rows: Sequence[bytes], header: Sequence[str], syntax: Syntax
) -> list[NearlyNumbers]:
    """Return the columns inferred as strings because of a few bad fields.

    Args:
        columns: As described by `guessed`.
        rows, header, syntax: As for `guessed`, without malformed rows.
    """
    strings = {
        name: ColumnType(STRING, b"")
        for name, column in columns.items()
        if column.dtype == STRING and not column.default
    }
    if not strings or not rows:
        return []
    texts, found = ordered(strings, header), []
    for name, array in zip(texts, decode_block(rows, syntax.form(header, texts)), strict=True):
        bad = _without_number(array)
        if bad and len(bad) * _FEW <= np.count_nonzero(array):
            found.append(NearlyNumbers(name, bad[0], array[bad[0]].decode(errors="replace")))
    return found


def _without_number(texts: NDArray[Any]) -> list[int]:
    """Return the indices of non-empty texts other than numbers; empty if there are many."""
    bad: list[int] = []
    for i, text in enumerate(texts):
        if text and number(text, _GUESSES[-1]) is None:
            bad.append(i)
            if len(bad) > _FEW + i // _FEW:
                return []
    return bad


def refuse_rounding(
    columns: Mapping[str, ColumnType], rows: Sequence[bytes], header: Sequence[str], syntax: Syntax, where: str
) -> None:
    """Raise InvalidArgumentError for an inferred float column with integers that lose digits or fit no integer dtype.

    Args:
        columns: As described by `guessed`.
        rows, header, syntax: As for `guessed`, without malformed rows.
        where: Prefix for the error message.
    """
    for name, fields in _integers(columns, rows, header, syntax):
        for text in fields:
            if is_rounded(text):
                unsigned = all(0 <= Decimal(each) < 1 << 64 for each in fields)
                exact = "'uint64'" if unsigned else "str"
                raise invalid(
                    f"{where}: column {name!r} of integers would become float64, which does not hold all "
                    f"digits of {text.strip():.80}: see dtypes=, as in dtypes={{{name!r}: {exact}}}, and defaults="
                )
        default = columns[name].default
        values = [Decimal(each) for each in fields] + ([Decimal(float(default))] if np.isfinite(default) else [])
        low, high = min(values, default=0), max(values, default=0)
        if low < -(1 << 63) or high >= 1 << (63 if low < 0 else 64):
            raise invalid(
                f"{where}: column {name!r} of integers would become float64, as neither int64 nor uint64, which has no "
                f"signs, holds {low} and {high}: see dtypes=, as in dtypes={{{name!r}: 'float64'}}"
            )


def integers_among(
    columns: Mapping[str, ColumnType], rows: Sequence[bytes], header: Sequence[str], syntax: Syntax
) -> set[str]:
    """Return the inferred float columns with only integers and missing values."""
    return {name for name, _ in _integers(columns, rows, header, syntax)}


def _integers(
    columns: Mapping[str, ColumnType], rows: Sequence[bytes], header: Sequence[str], syntax: Syntax
) -> list[tuple[str, list[str]]]:
    """Return these columns, and their values."""
    floats = {name: ColumnType(STRING, b"") for name, column in columns.items() if column.dtype.kind == "f"}
    if not floats:
        return []
    texts, found = ordered(floats, header), []
    for name, array in zip(texts, decode_block(rows, syntax.form(header, texts)), strict=True):
        fields: list[str] = []
        for field in array.tolist():  # a float column's first number decides: 10 us instead of 500 for all 1,000
            if _INTEGER.fullmatch(field):
                fields.append(field.decode())
            elif not _MISSING.fullmatch(field):
                break
        else:
            found.append((name, fields))
    return found


def is_rounded(text: str) -> bool:
    """Return True if the text is an integer with more digits than float64 holds."""
    return _INTEGER.fullmatch(text.encode(errors="replace")) is not None and Decimal(text) != float(text)


def ordered(columns: Mapping[str, ColumnType], header: Sequence[str]) -> dict[str, ColumnType]:
    """Order the columns as in a header."""
    return {name: columns[name] for name in header if name in columns}


def _first_that_takes(
    name: str, defaults: Mapping[str, Any], text: bool, after: np.dtype[Any] | None = None
) -> ColumnType:
    """Describe a column by the first dtype, after the given one, suitable for its default."""
    for dtype in _GUESSES[0 if after is None else _GUESSES.index(after) + 1 :]:
        with contextlib.suppress(InvalidArgumentError):
            return described(name, dtype, defaults)
    return described(name, STRING, defaults, text)


def is_text(given: Any, encoding: str | None) -> bool:
    """Return True if a dtype's strings become str; for `object`, the encoding decides."""
    kind = np.dtype(given).kind
    return kind in "UT" or (kind == "O" and encoding is not None)


def dtype_of(name: str, given: Any) -> np.dtype[Any]:
    """Return a column's dtype; InvalidArgumentError if it is unsupported, TypeError if it is not a dtype."""
    dtype = numpy_dtype(given, f"csv: dtypes of column {name!r}").newbyteorder("=")
    if dtype.kind in "SUTO":
        return STRING
    if dtype.name not in TYPE_NAMES:
        raise invalid(
            f"csv: column {name!r} cannot be {dtype}: dtypes are {', '.join(TYPE_NAMES)}, str, bytes and datetime64"
        )
    return dtype


def told(columns: Mapping[str, ColumnType]) -> str:
    """List the columns and their dtypes as text."""
    return ", ".join(f"{name} {kind_of(column)}" for name, column in columns.items())


def described(name: str, dtype: np.dtype[Any], defaults: Mapping[str, Any], text: bool = False) -> ColumnType:
    """Describe a column; `text` converts strings to str. InvalidArgumentError if its default does not fit."""
    if dtype != STRING and name not in defaults:
        return ColumnType(dtype, dtype.type("nan") if dtype.kind == "f" else None)
    given = defaults.get(name, b"")
    if dtype == STRING:
        if isinstance(given, (str, bytes)):
            value: Any = as_bytes(given, f"csv: defaults of column {name!r}")
            with contextlib.suppress(UnicodeDecodeError):
                return ColumnType(dtype, value.decode() if text else value, text)
    elif isinstance(given, (int, float, np.integer, np.floating, np.bool_)) and not _is_time(given):
        try:
            value = dtype.type(given)
        except (OverflowError, ValueError, TypeError):
            value = None
        if value is not None and (dtype.kind == "f" or value == given):
            return ColumnType(dtype, value)
    why = f"csv: {given!r:.80} is not a valid default for column {name!r} of {kind_of(ColumnType(dtype, None, text))}"
    if _is_time(given):
        why += f"; write a time as text, such as '2024-01-31', with dtypes={{{name!r}: 'datetime64[D]'}}"
    raise invalid(why)


def _is_time(given: Any) -> bool:
    times = (np.datetime64, np.timedelta64, datetime.date, datetime.timedelta)
    return isinstance(given, times) or type(given).__name__ == "NaTType"  # pandas' NaT


def kind_of(column: ColumnType) -> str:
    """Return a name for a column's kind of values."""
    return ("str" if column.text else "bytes") if column.dtype == STRING else column.dtype.name
