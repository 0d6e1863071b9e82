"""Errors for components unsupported by other libraries, with the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.foreign import numpy_of


def place(name: str) -> str:
    """Return a component's name for messages."""
    return f"component {name!r}" if name else "the batch"


def array_of(value: Any) -> NDArray[Any]:
    """Return a component as an array; an object array for ragged lists."""
    try:
        return numpy_of(value)
    except ValueError:
        return object_vector(value)


def refused(array: Any, name: str, library: str) -> TypeError:
    """Return the error for strings, objects, dates and other dtypes missing in a library."""
    dtype, rows = array.dtype, array.reshape(-1).tolist() if array.dtype.kind == "O" else []
    if any(isinstance(row, np.ndarray) for row in rows):
        what = "has rows of different lengths: use batch(n, pad=0), or batch(n, collate='row_splits')"
    elif dtype.kind in "SUT" or any(isinstance(row, (str, bytes)) for row in rows):
        what = f"holds strings, which {library} does not accept: convert them to numbers, or leave it out"
    else:
        number = "np.int64" if dtype.kind in "mM" else "np.float32"
        what = f"is of dtype {dtype}, which {library} does not accept: convert it, for example with .astype({number})"
    return TypeError(f"{place(name)} {what}")
