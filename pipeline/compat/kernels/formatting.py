"""Arrays as text, formatted like tf.Assert and tf.Print."""

from __future__ import annotations

from typing import Any

import numpy as np

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def _element(value: Any) -> str:
    """Return one element: floats with 6 digits (15 for float64) or as many as needed, bools as 0 and 1."""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return "".join(_ESCAPES.get(each) or (each if each >= " " else f"\\{ord(each):03o}") for each in text)
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return "?"
    if isinstance(value, np.floating):
        short, long = (15, 17) if value.dtype.itemsize == 8 else (6, 9)
        number = float(value)
        text = f"{number:.{short}g}"
        same = np.float64(text) if value.dtype.itemsize == 8 else np.float32(text)
        return text if same == number or number != number else f"{number:.{long}g}"
    return str(value)


def _nested(value: Any, depth: int, left: list[int]) -> str:
    """Return the elements of one axis, at most `left[0]`; subtract their count from it."""
    if left[0] <= 0:
        return ""
    if value.ndim == 1:
        parts = [_element(each) for each in value[: left[0]]]
        text = " ".join(parts)
        cut = len(value) > left[0]
        left[0] -= len(parts)
        return text + ("..." if cut and depth else "")
    text = ""
    for each in value:
        if left[0] > 0:
            text += f"[{_nested(each, depth + 1, left)}]"
    return text


def summarize(value: Any, entries: int) -> str:
    """Return a value's first `entries` elements in brackets, and "..." for the rest; all if negative."""
    array = value if isinstance(value, np.ndarray) else None
    if array is None or array.ndim == 0:
        only = value if array is None else array[()]
        return _element(only) if entries else "..."
    limit = array.size if entries < 0 else min(entries, array.size)
    return _nested(array, 0, [limit]) + ("..." if array.size > limit else "")
