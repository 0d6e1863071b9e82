"""Parts of images and mirror images: crop, central_crop, random_crop, flip_left_right, flip_up_down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import integer
from pipeline.errors import invalid
from pipeline.images.checks import images_of
from pipeline.images.resize import pair_of
from pipeline.images.resizing import copied

# Images with fewer values stay views: copying them early is no faster than copying them later.
_LARGE = 4096


def crop(images: Any, top: int, left: int, height: int, width: int) -> NDArray[Any]:
    """Cut a part from an image, or from each image in a batch.

    Args:
        images: Numbers, [height, width, channels] or [batch, height, width, channels].
        top: The first row.
        left: The first column.
        height: Number of rows.
        width: Number of columns.

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: `images` has other axes, or the part is empty or not inside the image.
        TypeError: `images` does not hold numbers, or a number is not an integer.

    Examples:
        >>> image = np.arange(12).reshape(3, 4, 1)
        >>> pipeline.image.crop(image, 1, 2, 2, 2)[:, :, 0].tolist()
        [[6, 7], [10, 11]]

    See Also:
        central_crop, random_crop, resize
    """
    batch, single = images_of(images, "crop")
    top, left, height, width = (
        integer(each, f"crop: {name}")
        for name, each in (("top", top), ("left", left), ("height", height), ("width", width))
    )
    rows, columns = batch.shape[1:3]
    if height < 1 or width < 1:
        raise invalid(f"crop: height and width must be positive, not {height} and {width}")
    if not 0 <= top <= rows - height or not 0 <= left <= columns - width:
        raise invalid(
            f"crop: {height} x {width} pixels from row {top} and column {left} on are not inside an image of "
            f"{rows} x {columns} pixels"
        )
    return _part(batch, single, top, left, height, width)


def central_crop(images: Any, size: Sequence[int]) -> NDArray[Any]:
    """Cut out the centre of an image, or of each image in a batch.

    Args:
        images: Numbers, [height, width, channels] or [batch, height, width, channels].
        size: The part's height and width.

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: `images` has other axes, or is smaller than `size`.
        TypeError: `images` does not hold numbers, or a size is not an integer.

    Examples:
        >>> image = np.arange(12).reshape(3, 4, 1)
        >>> pipeline.image.central_crop(image, (1, 2))[:, :, 0].tolist()
        [[5, 6]]

    See Also:
        crop, random_crop, resize
    """
    batch, single = images_of(images, "central_crop")
    height, width = pair_of(size, "central_crop")
    top, left = (more // 2 for more in _more(batch, height, width, "central_crop"))
    return _part(batch, single, top, left, height, width)


def random_crop(images: Any, size: Sequence[int], rng: np.random.Generator) -> NDArray[Any]:
    """Cut out a part at a random position, which is the same for all images in a batch.

    Args:
        images: Numbers, [height, width, channels] or [batch, height, width, channels].
        size: The part's height and width.
        rng: Draws the position. Crops drawn from `pipeline.example_rng()` are reproducible.

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: `images` has other axes, or is smaller than `size`.
        TypeError: `images` does not hold numbers, a size is not an integer, or `rng` is not a Generator.

    Examples:
        >>> image = np.arange(12).reshape(3, 4, 1)
        >>> pipeline.image.random_crop(image, (2, 2), np.random.default_rng(0)).shape
        (2, 2, 1)

    See Also:
        crop, central_crop, example_rng
    """
    batch, single = images_of(images, "random_crop")
    height, width = pair_of(size, "random_crop")
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"random_crop: rng must be a numpy.random.Generator, not {rng!r:.80}")
    top, left = (int(rng.integers(more + 1)) for more in _more(batch, height, width, "random_crop"))
    return _part(batch, single, top, left, height, width)


def _more(batch: NDArray[Any], height: int, width: int, who: str) -> tuple[int, int]:
    """Return by how much images are higher and wider than a part."""
    rows, columns = batch.shape[1:3]
    if rows < height or columns < width:
        raise invalid(f"{who}: an image of {rows} x {columns} pixels is smaller than size={(height, width)}")
    return rows - height, columns - width


def _part(batch: NDArray[Any], single: bool, top: int, left: int, height: int, width: int) -> NDArray[Any]:
    part: NDArray[Any] = batch[:, top : top + height, left : left + width].copy()
    return part[0] if single else part


def flip_left_right(images: Any) -> NDArray[Any]:
    """Mirror an image, or each image in a batch, left to right.

    Args:
        images: Numbers, [height, width, channels] or [batch, height, width, channels].

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: `images` has other axes.
        TypeError: `images` does not hold numbers.

    Examples:
        >>> pipeline.image.flip_left_right(np.arange(4).reshape(2, 2, 1))[:, :, 0].tolist()
        [[1, 0], [3, 2]]

    See Also:
        flip_up_down
    """
    batch, single = images_of(images, "flip_left_right")
    made: NDArray[Any] = np.ascontiguousarray(mirrored(batch, 2))
    return made[0] if single else made


def flip_up_down(images: Any) -> NDArray[Any]:
    """Mirror an image, or each image in a batch, top to bottom; otherwise as `flip_left_right`.

    Examples:
        >>> pipeline.image.flip_up_down(np.arange(4).reshape(2, 2, 1))[:, :, 0].tolist()
        [[2, 3], [0, 1]]

    See Also:
        flip_left_right
    """
    batch, single = images_of(images, "flip_up_down")
    made: NDArray[Any] = batch[:, ::-1].copy()
    return made[0] if single else made


def mirrored(images: Any, axis: int) -> Any:
    """Return an array reversed along an axis.

    It is a copy if the axis is the last but one of a large array: NumPy takes four times as long to copy such a view.
    """
    if axis == images.ndim - 2 and images.ndim > 2 and images.size >= _LARGE and images.dtype.kind in "uif":
        height, width, channels = images.shape[-3:]
        columns = np.arange(width - 1, -1, -1)
        return copied(images.reshape(-1, height, width, channels), np.arange(height), columns).reshape(images.shape)
    return np.flip(images, axis)
