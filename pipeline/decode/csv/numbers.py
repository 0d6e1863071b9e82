"""Converts the text of CSV fields to numbers, one or a table of them, as Python does but rounding only once."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.csv.digits import decimals
from pipeline.decode.csv.fields import Fields

_EXACT = np.uint64(1 << 53)  # whole numbers up to this one are exact as float64; powers of ten are up to 1e22
_LARGEST_FLOAT32 = 3.4028234663852886e38
_SMALLEST_FLOAT32 = 2.0**-126  # of those with all digits


def number(field: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the number that a text stands for as a NumPy scalar, or None if it is not a number of that dtype."""
    text = field.strip()
    if b"_" in text:  # valid in Python only
        return None
    try:
        if dtype.kind == "f":
            value = float(text)
            return dtype.type(value) if dtype.itemsize == 8 else _float32(value, text)
        whole = int(text)
    except ValueError:
        return None
    bound = 1 << (8 * dtype.itemsize - 1)
    return dtype.type(whole) if -bound <= whole < bound and not text.startswith(b"+") else None


def numbers(fields: Fields, dtype: np.dtype[Any]) -> list[NDArray[Any]] | None:
    """Return the columns of a table of numbers, an empty field as 0; None if a field is not a number of that dtype."""
    values = _plain(fields, dtype)
    if values is None and dtype.kind == "f":
        values = _by_arrow(fields, dtype)
    width = fields.begins.shape[1]
    if values is None and width == 1:
        values = _one_by_one(fields, dtype)
    if values is not None:
        return list(values.T.copy())
    found = []
    for i in range(width if width > 1 else 0):
        column = numbers(fields.columns([i]), dtype)
        if column is None:
            return None
        found += column
    return found or None


def _plain(fields: Fields, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Convert numbers made of a minus, digits and a point: 18 ns a field, `float` 190. None if there are others."""
    real = dtype.kind == "f"
    found = decimals(fields, 16 if real else 19, real)
    if found is None:
        return None
    whole, negative, scale = found
    if real:
        if whole.max() > _EXACT:
            return None
        values: NDArray[Any] = whole.astype(np.float64)
        if scale is not None:
            values /= scale  # both are exact, so this is rounded once
    else:
        most = np.uint64(np.iinfo(dtype).max)
        if (whole > (most if negative is None else most + negative)).any():
            return None
        values = whole.view(np.int64)
    if negative is not None:
        values = np.where(negative, -values, values)
    if dtype == np.float32 and scale is not None:
        return _float32s(values, fields, scale != 1)
    return values.astype(dtype, copy=False)


def _by_arrow(fields: Fields, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Convert by pyarrow: 35 ns a field with 17 digits or an exponent. None without it or if it refuses a field."""
    arrow = _pyarrow()
    text, begins, ends = fields
    if arrow is None or len(text) >= 1 << 31:
        return None
    # Arrow sees the text as a column that alternates between a field and, as null, what is between two fields.
    places = np.empty(2 * begins.size + 1, np.int32)
    places[:-1:2], places[1::2], places[-1] = begins.flat, ends.flat, len(text)
    valid = np.zeros(2 * begins.size, bool)
    valid[::2] = (ends > begins).flat
    buffers = [arrow.py_buffer(one) for one in (np.packbits(valid, bitorder="little"), places, text)]
    column = arrow.Array.from_buffers(arrow.string(), len(valid), buffers)
    try:
        found = column.cast(arrow.from_numpy_dtype(dtype))
    except arrow.ArrowInvalid:
        return None
    values = np.where(valid, np.frombuffer(found.buffers()[1], dtype, len(valid)), dtype.type(0))
    # Arrow spells nan and inf differently, and treats numbers out of range differently.
    return values[::2].reshape(begins.shape) if np.isfinite(values).all() else None


@cache
def _pyarrow() -> Any:
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    return pyarrow


def _one_by_one(fields: Fields, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Convert numbers in any spelling, one at a time; None if a field is not a number."""
    found = fields.cut()
    found[(fields.begins == fields.ends).ravel()] = b"0"
    shape = fields.begins.shape
    if dtype.kind == "i" or b"_" in b"".join(found):
        scalars = [number(field, dtype) for field in found]
        return None if None in scalars else np.array(scalars, dtype).reshape(shape)
    try:
        values = np.fromiter(map(float, found.tolist()), np.float64, len(found)).reshape(shape)
    except ValueError:
        return None
    return values if dtype.itemsize == 8 else _float32s(values, fields, np.True_)


def _float32(value: float, text: bytes) -> np.float32:
    """Return a text as a float32; `value` is the text as a float64.

    TensorFlow and Arrow round once. Going through a float64 rounds twice, which matters if the float64 lies exactly
    halfway between two float32s and the text does not.
    """
    size = abs(value)
    steps = math.frexp(value)[0] * 2.0**25 if size >= _SMALLEST_FLOAT32 else value * 2.0**150
    if steps % 2 == 1:  # halfway
        exact, there = Decimal(text.decode()), Decimal.from_float(value)
        if exact != there:
            value = math.nextafter(value, math.inf if exact > there else -math.inf)
    if size <= _LARGEST_FLOAT32:
        return np.float32(value)
    with np.errstate(over="ignore"):
        return np.float32(value)


def _float32s(values: NDArray[np.float64], fields: Fields, rounded: Any) -> NDArray[np.float32]:
    """Return a table of float64s as float32s; `rounded` marks those that may differ from their text."""
    with np.errstate(over="ignore"):
        result = values.astype(np.float32)
    halfway = (values.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    sizes = np.abs(values)
    if not sizes.min() >= _SMALLEST_FLOAT32:  # also if there is a nan
        halfway |= (sizes < _SMALLEST_FLOAT32) & (values != 0)
    if halfway.any():
        for i in map(tuple, np.argwhere(halfway & rounded)):
            result[i] = _float32(float(values[i]), fields.text[fields.begins[i] : fields.ends[i]].strip())
    return result
