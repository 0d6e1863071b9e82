"""freeze: how to say that an array changes no more."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Array = TypeVar("Array", bound=np.ndarray)


def freeze(array: Array) -> Array:
    """Declare that an array changes no more, so that queues need not copy its large rows.

    Makes the array read-only, and those whose memory it shares, up to the one that owns it: what `np.load` and
    `reshape` return is a view of such an owner. Views made before stay writable; do not write to them.

    Args:
        array: Any array. If its memory is not owned by an array, as that of a mapped file, queues go on copying.

    Returns:
        The same array, read-only. Slices of it are as well.

    Raises:
        TypeError: It is not an array.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"freeze: expected an array, got {type(array).__name__}")
    each: object = array
    while isinstance(each, np.ndarray):
        each.flags.writeable = False
        each = each.base
    return array
