"""Python numbers as arrays of integers: what does not go into the dtype is an error with every NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

_WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"


def array_of(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return `np.array(value, dtype)`; OverflowError for Python integers out of range, which NumPy 1 would wrap."""
    if _WRAPS and dtype is not None and dtype.kind in "iu":
        wide = np.array(value)
        if wide.size and wide.dtype.kind in "iuO":
            limits = np.iinfo(dtype)
            for each in (wide.min(), wide.max()):
                if not limits.min <= each <= limits.max:
                    raise OverflowError(f"Python integer {each} out of bounds for {dtype}")
    return np.array(value, dtype=dtype)
