"""Parts of images and mirror images: crop, central_crop, flip_left_right, flip_up_down."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.images.resizing import copied

# Smaller images are views: copying them has no gain over copying them with what comes next.
_LARGE = 4096


def mirrored(images: Any, axis: int) -> Any:
    """Return an array reversed along an axis: a copy if the axis is the last but one of a large array, as NumPy's copy
    of such a view, which comes sooner or later, takes four times as long."""
    if axis == images.ndim - 2 and images.ndim > 2 and images.size >= _LARGE and images.dtype.kind in "uif":
        height, width, channels = images.shape[-3:]
        columns = np.arange(width - 1, -1, -1)
        return copied(images.reshape(-1, height, width, channels), np.arange(height), columns).reshape(images.shape)
    return np.flip(images, axis)
