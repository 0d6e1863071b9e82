"""Kernel wrappers: NumPy's warnings off, 16-bit floats computed in float32, checks made once per shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Kernel = Callable[..., Any]
_MOST_SHAPES = 256  # maximum number of remembered shapes per op


def quiet(function: Kernel) -> Kernel:
    """Return the function with NumPy's warnings off, because infinities and NaNs are ordinary results."""

    def kernel(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*values)

    kernel.bare = function  # type: ignore[attr-defined]  # for plans, which turn warnings off once for all steps
    return kernel


def once_a_shape(kernel: Kernel, recipe: Callable[..., Any], follow: Callable[[Any, Any], Any]) -> Kernel:
    """Return a kernel that checks each shape only once if all other values are constant.

    Plans replace it when they know all values except the first, so checks on its shape are made once per shape. A 32 x
    32 px image passes through eight such operations at 1.5 us each.

    Args:
        kernel: Takes a value and other, often constant values.
        recipe: Takes the first value's shape and the others, and returns how to make the result.
        follow: Takes the first value and a recipe, and returns the result.
    """

    def checked(*values: Any) -> Any:
        return kernel(*values)

    def known(value: Any, *others: Any) -> Kernel | None:
        if value is not None or any(each is None for each in others):
            return None
        recipes: dict[tuple[int, ...], Any] = {}

        def quick(value: Any) -> Any:
            found = recipes.get(value.shape)
            if found is not None:
                return follow(value, found)
            made = kernel(value, *others)
            if len(recipes) == _MOST_SHAPES:
                recipes.clear()
            recipes[value.shape] = recipe(value.shape, *others)
            return made

        return quick

    checked.known = known  # type: ignore[attr-defined]  # for plans
    return checked


def in_single(function: Kernel) -> Kernel:
    """Return the function, computed in float32 for 16-bit floats: several steps in 16 bits would lose digits."""

    def kernel(x: Any) -> Any:
        if x.dtype.itemsize != 2:
            return function(x)
        return function(x.astype(np.float32)).astype(x.dtype)

    return kernel
