"""Convert a CSV field's text to a number, as Python does but rounded only once, or to a bool."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

_LARGEST_FLOAT32 = 3.4028234663852886e38
_SMALLEST_FLOAT32 = 2.0**-126  # smallest with full precision

_TRUTHS = {b"true": np.True_, b"1": np.True_, b"false": np.False_, b"0": np.False_}


def number(field: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the number in a text as a NumPy scalar, or None if it is not valid in that dtype."""
    text = field.strip()
    if b"_" in text:  # valid only in Python
        return None
    if dtype.kind == "b":
        return _TRUTHS.get(text.lower())
    try:
        if dtype.kind == "f":
            value = float(text)
            return dtype.type(value) if dtype.itemsize == 8 else _float32(value, text)
        whole = int(text)
    except ValueError:
        return None
    limits = np.iinfo(dtype)
    return dtype.type(whole) if limits.min <= whole <= limits.max and not text.startswith(b"+") else None


def _float32(value: float, text: bytes) -> np.float32:
    """Return a text as a float32; `value` is the same text as a float64.

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
