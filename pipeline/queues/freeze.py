"""freeze: mark an array read-only, so that queues need not copy its rows."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Array = TypeVar("Array", bound=np.ndarray)


def freeze(array: Array) -> Array:
    """Mark an array read-only, so that queues hold its large rows by reference instead of copying them.

    The arrays whose memory it shares become read-only too, up to the one that owns the memory: `np.load` and `reshape`
    return views of such an owner. Views that exist already stay writable; do not write to them.

    Args:
        array: Any array. If no array owns its memory, as with a memory-mapped file, queues still copy.

    Returns:
        The same array, read-only. Slices of it are read-only as well.

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
