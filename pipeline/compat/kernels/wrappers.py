"""Wrappers of kernels: NumPy's warnings off, and 16-bit floats computed in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Kernel = Callable[..., Any]


def quiet(function: Kernel) -> Kernel:
    """Return the function with NumPy's warnings off: infinities and NaNs are ordinary results."""

    def kernel(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*values)

    kernel.bare = function  # type: ignore[attr-defined]  # for plans, which turn warnings off once for all steps
    return kernel


def in_single(function: Kernel) -> Kernel:
    """Return the function, computed in float32 for 16-bit floats: several steps in 16 bits would lose digits."""

    def kernel(x: Any) -> Any:
        if x.dtype.itemsize != 2:
            return function(x)
        return function(x.astype(np.float32)).astype(x.dtype)

    return kernel
