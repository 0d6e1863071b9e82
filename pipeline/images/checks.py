"""Checks of images in public functions."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pipeline.dtypes import refuse_missing
from pipeline.errors import invalid
from pipeline.foreign import numpy_of


def images_of(images: Any, who: str) -> tuple[NDArray[Any], bool]:
    """Return images as [batch, height, width, channels], and whether there is only one.

    Raises:
        InvalidArgumentError: They do not have three or four axes, or values are missing.
        TypeError: They are not numbers.
    """
    refuse_missing(images, f"{who}: the image")
    array = numpy_of(images)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{who}: images must hold integers or floats, not {array.dtype}")
    if array.ndim not in (3, 4):
        text = "[height, width, channels] or [batch, height, width, channels]"
        raise invalid(f"{who}: images must be {text}, but their shape is {array.shape}")
    return (array[None], True) if array.ndim == 3 else (array, False)
