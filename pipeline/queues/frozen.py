"""freeze: mark an array read-only, so queues need not copy its rows."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Array = TypeVar("Array", bound=np.ndarray)


def freeze(array: Array) -> Array:
    """Mark your array read-only, so queues hold its large rows by reference instead of copying them.

    Arrays that share its memory become read-only too, up to its owner. Do not write to views you made before.

    Args:
        array: Any array. If its memory has no owner, as with a memory-mapped file, queues still copy.

    Returns:
        The same array, read-only. Its slices are read-only as well.

    Raises:
        TypeError: It is not an array.

    Examples:
        >>> images = pipeline.freeze(np.zeros((100, 64, 64)))
        >>> images.flags.writeable
        False
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"freeze: expected an array, got {type(array).__name__}")
    each: object = array
    while isinstance(each, np.ndarray):
        each.flags.writeable = False
        each = each.base
    return array
