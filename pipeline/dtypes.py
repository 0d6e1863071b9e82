"""Data types as users name them."""

from __future__ import annotations

from typing import Any

import numpy as np

STRING = np.dtype("S")


def parse_dtype(given: Any) -> np.dtype[Any]:
    """Normalise a dtype: strings are the variable-length ones, `np.dtype('S')`; byte order is the machine's."""
    if isinstance(given, str) and given == "string":
        return STRING
    dtype = np.dtype(given)
    if dtype.kind in "SU":
        return STRING
    if dtype.kind == "T" or (dtype.hasobject and dtype.kind != "O"):
        raise TypeError(f"dtype {dtype} holds Python objects inside its elements; use object, or a separate component")
    native: np.dtype[Any] = dtype if dtype.isnative else dtype.newbyteorder("=")
    return native


def whole(given: Any, what: str) -> int:
    """A number of the user's as an int; fractions are cut off.

    Raises:
        TypeError: It is no number.
        ValueError: It is infinite, or not a number.
    """
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"{what} must be a number, got {given!r:.80}")
    try:
        return int(given)
    except TypeError:
        raise TypeError(f"{what} must be a number, got {given!r:.80}") from None
    except (ValueError, OverflowError):
        raise ValueError(f"{what} must be a finite number, got {given!r:.80}") from None
