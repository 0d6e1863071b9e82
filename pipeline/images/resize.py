"""resize: images of another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import integer, truth
from pipeline.errors import invalid
from pipeline.images import resizing
from pipeline.images.boxes import resize_box
from pipeline.images.checks import images_of

METHODS = ("nearest", "bilinear", "bicubic", "area")
_FILTERS = {"bilinear": 0, "bicubic": 1}


def resize(images: Any, size: Sequence[int], method: str = "bilinear", *, antialias: bool = True) -> NDArray[Any]:
    """Resize an image, or each image in a batch.

    "bilinear" matches Pillow within one unit of uint8. "bicubic" does too, except at sharp edges (up to 29 units),
    because Pillow rounds between rows and columns. The centres of the outer pixels are half a pixel from the edges, as
    in Pillow, OpenCV and PyTorch. Threads resize in parallel.

    Args:
        images: Numbers, [height, width, channels] or [batch, height, width, channels].
        size: New height and width.
        method: "bilinear", "bicubic", "area" (the mean of the pixels that each new one covers) or "nearest".
        antialias: True to average all pixels that a pixel of a smaller image covers, as Pillow does, and torchvision
            by default. False to read only the nearest 4 ("bilinear") or 16 ("bicubic"), as OpenCV and
            `tf.image.resize` do.

    Returns:
        A new array with the dtype of `images`.

    Raises:
        InvalidArgumentError: `images` has other axes or no pixels, or `size` or `method` is wrong.
        TypeError: `images` does not hold numbers, or a size is not an integer.

    Examples:
        >>> image = np.array([[[0], [100]]], np.uint8)
        >>> pipeline.image.resize(image, (1, 4))[0, :, 0].tolist()
        [0, 25, 75, 100]
        >>> pipeline.image.resize(image, (1, 1)).item()
        50

    See Also:
        random_resized_crop, center_crop_resize, crop, decode_image
    """
    batch, single = images_of(images, "resize")
    if method not in METHODS:
        raise invalid(f"resize: method must be one of {', '.join(map(repr, METHODS))}, not {method!r:.80}")
    height, width = pair_of(size, "resize")
    if not batch.shape[1] or not batch.shape[2]:
        raise invalid(f"resize: the images have no pixels: their shape is {np.shape(images)}")
    if truth(antialias, "resize: antialias") and method in _FILTERS:
        made = _antialiased(batch, height, width, _FILTERS[method])
    elif method == "area":
        made = resizing.area(batch, height, width)
    else:
        made = getattr(resizing, method)(batch, height, width, half_pixel=True)
    result = _rounded(made, batch.dtype)
    return result[0] if single else result


def pair_of(size: Any, who: str) -> tuple[int, int]:
    """Return height and width; InvalidArgumentError unless both are positive."""
    if not isinstance(size, (Sequence, np.ndarray)) or isinstance(size, (str, bytes)) or len(size) != 2:
        raise invalid(f"{who}: size must be (height, width), not {size!r:.80}")
    height, width = (integer(each, f"{who}: size") for each in size)
    if height < 1 or width < 1:
        raise invalid(f"{who}: size must be positive, not {(height, width)}")
    return height, width


def _antialiased(batch: NDArray[Any], height: int, width: int, cubic: int) -> NDArray[Any]:
    """Return the images as uint8 if they are, else as float32."""
    channels = batch.shape[3]
    if batch.dtype != np.uint8:
        batch = batch.astype(np.float32, copy=False)
    made = np.empty((len(batch), height, width, channels), batch.dtype)
    for image, out in zip(batch, made, strict=True) if channels else ():
        resize_box(image, (0, 0, *image.shape[:2]), out, cubic=cubic)
    return made


def _rounded(made: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return results computed in float32 as the dtype of the images."""
    if made.dtype == dtype or dtype.kind not in "iu":
        return made.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    np.rint(made, out=made)
    if limits.bits <= 16:
        return made.clip(limits.min, limits.max, out=made).astype(dtype)
    largest = np.float64(limits.max)
    if int(largest) > limits.max:  # of 64 bits
        largest = np.nextafter(largest, 0)
    return made.astype(np.float64).clip(limits.min, largest).astype(dtype)
