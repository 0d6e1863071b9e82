"""normalize and to_chw: the value range and layout that models expect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.augment.crops import channels_first, scaled
from pipeline.images.checks import images_of


def normalize(images: Any, mean: Any = None, std: Any = None, *, layout: str = "HWC") -> NDArray[np.float32]:
    """Scale an image, or each image in a batch, to 0 to 1, subtract a mean and divide by a deviation.

    Thread safe.

    Args:
        images: [height, width, channels] or [batch, height, width, channels]. Integers are divided by their dtype's
            maximum, 255 for uint8; floats are taken as they are.
        mean: Number to subtract, or one number per channel.
        std: Number to divide by afterwards, or one per channel.
        layout: "HWC" to leave the channels last, "CHW" to put them before height and width.

    Returns:
        A new float32 array.

    Raises:
        InvalidArgumentError: `images` has other axes, or an argument is out of range.
        TypeError: `images` does not hold numbers, or an argument has a wrong type.

    Examples:
        >>> image = np.array([[[0, 255]]], np.uint8)
        >>> pipeline.image.normalize(image, mean=0.5, std=(0.5, 0.25)).tolist()
        [[[-1.0, 2.0]]]

    See Also:
        to_chw, random_resized_crop
    """
    batch, single = images_of(images, "normalize")
    largest = float(np.iinfo(batch.dtype).max) if batch.dtype.kind in "iu" else 1.0
    factor, offset = scaled(batch.shape[3], mean, std, largest, "normalize")
    first = channels_first(layout, "normalize")
    shape = (len(batch), batch.shape[3], *batch.shape[1:3]) if first else batch.shape
    made = np.empty(shape, np.float32)
    last = np.moveaxis(made, 1, 3) if first else made
    np.multiply(batch, factor, out=last, casting="unsafe", dtype=np.float32)
    last += offset
    return made[0] if single else made


def to_chw(images: Any) -> NDArray[Any]:
    """Move the channels before height and width, for one image or a batch. Thread safe.

    Args:
        images: [height, width, channels] or [batch, height, width, channels].

    Returns:
        A new array with the same dtype.

    Raises:
        InvalidArgumentError: `images` has other axes.
        TypeError: `images` does not hold numbers.

    Examples:
        >>> pipeline.image.to_chw(np.zeros((4, 6, 3), np.uint8)).shape
        (3, 4, 6)

    See Also:
        normalize
    """
    batch, single = images_of(images, "to_chw")
    made: NDArray[Any] = np.ascontiguousarray(np.moveaxis(batch, 3, 1))
    return made[0] if single else made
