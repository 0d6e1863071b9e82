"""Boxes of images, cut out and resized in one pass by the kernels of `_crops`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._crops import resized

Corners = tuple[float, float, float, float]


class Form(NamedTuple):
    """How results are written.

    Attributes:
        channels_first: True if they are [channels, height, width].
        factor: Factor for each channel.
        offset: Number added afterwards.
    """

    channels_first: bool
    factor: NDArray[np.float32]
    offset: NDArray[np.float32]


@lru_cache(32)
def as_it_is(channels: int, channels_first: bool = False) -> Form:
    """Return the form of results that keep the image's values."""
    return Form(channels_first, np.ones(channels, np.float32), np.zeros(channels, np.float32))


def resize_box(
    image: NDArray[Any],
    box: Corners,
    out: NDArray[Any],
    form: Form | None = None,
    cubic: int = 0,
    flip: bool = False,
) -> None:
    """Write a box of an image, resized, to `out`.

    Args:
        image: uint8 or float32 [height, width, channels].
        box: Top, left, bottom and right, in pixels. The filter may also read pixels around it.
        out: The result, laid out as `form` describes.
        form: By default `as_it_is`.
        cubic: 0: bilinear; 1: bicubic.
        flip: Mirror left and right.
    """
    item, channels = image.itemsize, image.shape[2]
    packed = image.strides[1:] == (channels * item, item) and image.strides[0] % item == 0
    if not packed or np.may_share_memory(image, out):
        image = image.copy()  # ascontiguousarray would keep odd strides of axes of length 1
    resized(image, *box, cubic, flip, out, *(form or as_it_is(channels)))
