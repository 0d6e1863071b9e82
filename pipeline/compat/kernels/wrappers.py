"""Kernels without NumPy's warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Kernel = Callable[..., Any]


def quiet(function: Kernel) -> Kernel:
    """Return the function without NumPy's warnings: infinities and NaNs are results, not accidents."""

    def kernel(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*values)

    kernel.bare = function  # type: ignore[attr-defined]  # for plans, which keep NumPy quiet once for all their steps
    return kernel


def in_single(function: Kernel) -> Kernel:
    """Return the function computed in float32 for floats of 16 bits: in several steps they would lose digits."""

    def kernel(x: Any) -> Any:
        if x.dtype.itemsize != 2:
            return function(x)
        return function(x.astype(np.float32)).astype(x.dtype)

    return kernel
