"""The fast way through a block of CSV records: columns at once, when nothing in the block is out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Longest texts whose digits surely fit: 18 in an int64; with a point among them 15 in the mantissa of a float64.
_INT_TEXT = 18
_FLOAT_TEXT = 16
_POINT, _MINUS = ord("."), ord("-")
_LARGEST_FLOAT32 = 3.4028234663852886e38
_TENS = np.array([10.0**exponent for exponent in range(_FLOAT_TEXT + 1)])


def texts(values: Iterable[Any]) -> list[bytes]:
    """The values as bytes; TypeError for one that is neither str nor bytes."""
    for value in values:
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"a CSV record or default must be bytes or str, not {type(value).__name__} {value!r:.80}")
    return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def number(field: bytes, dtype: np.dtype[Any]) -> Any:
    """The NumPy scalar that a text stands for, or None if it stands for no number of that dtype."""
    text = field.strip()
    if b"_" in text:  # Python's own spelling of numbers
        return None
    try:
        if dtype.kind == "f":
            value = float(text)
            if abs(value) > _LARGEST_FLOAT32:
                with np.errstate(over="ignore"):
                    return dtype.type(value)
            return dtype.type(value)
        whole = int(text)
    except ValueError:
        return None
    bound = 1 << (8 * dtype.itemsize - 1)
    return dtype.type(whole) if -bound <= whole < bound and not text.startswith(b"+") else None


def columns_of(lines: list[bytes], layout: Any) -> list[NDArray[Any]] | None:
    """The columns of a block as arrays, or None where it takes a look at each record, which then finds errors too."""
    width = _width(lines, layout)
    if width is None:
        return None
    delim: bytes = layout.delim
    text = b"\n".join(lines) + b"\n"
    if (layout.quotes and b'"' in text) or b"\r" in text:
        return None
    dtype = layout.columns[0].dtype
    uniform = layout.select is None and dtype.kind in "if" and all(column.dtype == dtype for column in layout.columns)
    if uniform and dtype.kind == "i":
        table = _integers(lines, text, dtype, delim)
        if table is not None and table.shape == (len(lines), width):
            return list(table.T.copy())
    ends = _ends(text, delim, width)
    if ends is None or len(ends) != len(lines) * width:
        return None
    flat = text[:-1].replace(b"\n", delim)
    if uniform:
        values = _numbers(flat, ends, dtype, delim)
        if values is not None:
            return list(values.reshape(len(lines), width).T.copy())
    fields = flat.split(delim)
    numbers = layout.select or range(width)
    return typed((fields[i::width] for i in numbers), layout)


def typed(columns: Iterable[list[bytes]], layout: Any) -> list[NDArray[Any]] | None:
    """Columns of fields as arrays, or None where it takes a look at each record."""
    arrays = []
    for fields, column in zip(columns, layout.columns, strict=True):
        values = _one(fields, column, layout.na)
        if values is None:
            return None
        arrays.append(values)
    return arrays


def _width(lines: list[bytes], layout: Any) -> int | None:
    """The number of fields in a record, from the first one; None if that cannot be right."""
    if not lines or not lines[0]:
        return None
    width = lines[0].count(layout.delim) + 1
    if width == 1 and b"" in lines:  # these have no field, not an empty one
        return None
    wrong = width != len(layout.columns) if layout.select is None else width <= layout.select[-1]
    return None if wrong or layout.delim == b"\n" else width


def _integers(lines: list[bytes], text: bytes, dtype: np.dtype[Any], delim: bytes) -> NDArray[Any] | None:
    """A table of nothing but integers: 17 ns a field, where the general way takes 27."""
    if delim in b"-0123456789" or text.count(b"\n") != len(lines) or text.translate(None, b"-0123456789\n" + delim):
        return None
    try:
        return np.loadtxt(lines, dtype, delimiter=delim.decode("latin-1"), comments=None, ndmin=2)
    except ValueError:
        return None


def _ends(text: bytes, delim: bytes, width: int) -> NDArray[np.intp] | None:
    """Where each field of a block ends, or None if some record has another number of fields."""
    raw = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero((raw == delim[0]) | (raw == ord("\n")))
    records, rest = divmod(len(ends), width)
    if rest or np.count_nonzero(raw == ord("\n")) != records or (raw[ends[width - 1 :: width]] != ord("\n")).any():
        return None
    return ends


def _one(fields: list[bytes], column: Any, na: bytes) -> NDArray[Any] | None:
    """One column of fields; None if it needs a closer look."""
    missing = [i for i, field in enumerate(fields) if not field or field == na] if b"" in fields or na in fields else []
    if missing and column.default is None:
        return None
    if column.dtype.kind == "O":
        values = np.empty(len(fields), object)
        values[:] = fields
    else:
        for i in missing:
            fields[i] = b"0"
        text = b",".join(fields)  # 15 ns a field from here, where `float` and `int` take 90 to 180 ns
        if text.count(b",") >= len(fields):  # within quotes
            return None
        ends = np.cumsum(np.fromiter(map(len, fields), np.intp, len(fields)) + 1) - 1
        found = _numbers(text, ends, column.dtype, b",")
        if found is None:
            return None
        values = found
    if missing:
        values[missing] = column.default
    return values


def _numbers(text: bytes, ends: NDArray[np.intp], dtype: np.dtype[Any], delim: bytes) -> NDArray[Any] | None:
    """The numbers of a text of fields, or None if one of them is not plainly written."""
    steps = ends[1:] - ends[:-1]
    shortest, longest = (min(ends[0], steps.min() - 1), max(ends[0], steps.max() - 1)) if len(steps) else (ends[0],) * 2
    if shortest == 0 or delim in b"+-.0123456789eE" or (dtype.kind == "i" and b"." in text):
        return None
    limit = _FLOAT_TEXT if dtype.kind == "f" else _INT_TEXT
    if longest > limit or text.translate(None, b"0123456789-." + delim):
        return _slow_floats(text, delim, dtype) if dtype.kind == "f" else None
    if (b"-" in text or b"." in text) and not _has_digits(text, ends):
        return None
    try:
        whole = np.fromstring(text.replace(b".", b""), np.int64, sep=delim.decode("latin-1"))
    except (ValueError, DeprecationWarning):  # what NumPy says of texts such as "1-2"
        return None
    if len(whole) != len(ends):
        return None
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return whole.astype(dtype, copy=False) if limits.min <= whole.min() and whole.max() <= limits.max else None
    return _scaled(whole, text, ends).astype(dtype, copy=False)


def _has_digits(text: bytes, ends: NDArray[np.intp]) -> bool:
    """Whether each field has a digit, at most one point, and a minus nowhere but at its start."""
    raw = np.frombuffer(text, np.uint8)
    begins = np.concatenate(([0], ends[:-1] + 1))
    minus = raw[begins] == _MINUS
    if np.count_nonzero(raw == _MINUS) != np.count_nonzero(minus):
        return False
    _, fields = _points(raw, ends)
    if isinstance(fields, np.ndarray) and (fields[1:] == fields[:-1]).any():
        return False
    digits = ends - begins - minus
    digits[fields] -= 1
    return bool(digits.min() > 0)


def _points(raw: NDArray[np.uint8], ends: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp] | slice]:
    """Where the decimal points are, and the fields that have them."""
    points = np.flatnonzero(raw == _POINT)
    if len(points) == len(ends) and (points < ends).all() and (points[1:] > ends[:-1]).all():
        return points, slice(None)  # the usual case: every field has one
    return points, np.searchsorted(ends, points)


def _scaled(whole: NDArray[np.int64], text: bytes, ends: NDArray[np.intp]) -> NDArray[np.float64]:
    """Decimal fractions from their digits: exact, since both the digits and the power of ten are exact as float64."""
    values = whole.astype(np.float64)
    if b"." in text:
        points, fields = _points(np.frombuffer(text, np.uint8), ends)
        values[fields] /= _TENS[ends[fields] - points - 1]
    if b"-0" in text or b"-." in text:
        for i in np.flatnonzero(values == 0):
            if text[ends[i - 1] + 1 if i else 0] == _MINUS:
                values[i] = -0.0
    return values


def _slow_floats(text: bytes, delim: bytes, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Numbers with exponents or many digits."""
    if b"_" in text:
        return None
    try:
        values = np.array([float(field) for field in text.split(delim)])
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)
