"""Crop images, and pad them with zeros."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.indexing import slice_
from pipeline.compat.ops.arrays.padding import pad
from pipeline.compat.ops.arrays.shaping import reshape, shape, squeeze
from pipeline.compat.ops.arrays.stacking import stack
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.images.checks import (
    as_batch,
    batch_for_target,
    check_image,
    checked_image,
    dimensions,
    is_tensor,
    larger,
    require,
)
from pipeline.compat.ops.math.arithmetic import minimum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import equal
from pipeline.compat.ops.math.logic import logical_or
from pipeline.compat.ops.math.reducing import reduce_all
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value


def _dynamic(image: Any, axis: int) -> Any:
    sizes: Any = shape(image)
    return sizes[axis]


def _length(image: Any, axis: int) -> Any:
    """The size along an axis: an int if it is static, else a tensor."""
    known = image.get_shape().sizes[axis]
    return _dynamic(image, axis) if known is None else known


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """Return the centre of an image, or of each image of a batch.

    Args:
        image: Any dtype, [height, width, channels] or a batch; its rank must be static.
        central_fraction: The fraction of height and width to keep, above 0 and at most 1.

    Raises:
        ValueError: The rank is not 3 or 4, or the fraction is out of range.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        fraction = constant_value(central_fraction) if is_tensor(central_fraction) else central_fraction
        text = "central_fraction must be within (0, 1]"
        if fraction is None:
            checks = require(logical_or(central_fraction > 0.0, central_fraction <= 1.0), text)
            image = with_dependencies(checks, image)
        elif fraction <= 0.0 or fraction > 1.0:
            raise ValueError(text)
        elif fraction == 1.0:
            return image  # type: ignore[no-any-return]
        checked_image(image)
        axes = image.get_shape().ndims
        if axes not in (3, 4):
            raise ValueError(f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {axes}.")
        first = axes - 3
        sizes = image.get_shape().sizes
        lengths = [_length(image, axis) for axis in (first, first + 1)]
        unknown = [fraction is None or is_tensor(length) for length in lengths]
        starts = []
        for length, dynamic in zip(lengths, unknown, strict=True):
            if dynamic:
                whole = cast(length, dtypes.float64)
                starts.append(cast((whole - whole * cast(central_fraction, dtypes.float64)) / 2, dtypes.int32))
            else:
                starts.append(int((float(length) - float(length) * fraction) / 2))
        counts = [length - start * 2 for length, start in zip(lengths, starts, strict=True)]
        begin = stack([*[0] * first, *starts, 0])
        made = slice_(image, begin, stack([*[-1] * first, *counts, -1]))
        static = [None if dynamic else count for count, dynamic in zip(counts, unknown, strict=True)]
        made.set_shape([*sizes[:first], *static, sizes[-1]])
        return made


def _static(sizes: list[Any]) -> list[Any]:
    return [None if is_tensor(size) else size for size in sizes]


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Pad an image, or each image of a batch, with zeros.

    Args:
        image: Any numeric dtype, [height, width, channels] or a batch.
        offset_height: Rows of zeros above it, a number or int32 scalar.
        offset_width: Columns of zeros to its left.
        target_height: Height of the result.
        target_width: Width of the result.

    Raises:
        ValueError: The image does not have 3 or 4 axes, an offset is negative, or the image does not fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, is_batch = as_batch(image)
        batch, height, width, depth = dimensions(image, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks = check_image(image)
        checks += require(offset_height >= 0, "offset_height must be >= 0")
        checks += require(offset_width >= 0, "offset_width must be >= 0")
        checks += require(right >= 0, "width must be <= target - offset")
        checks += require(below >= 0, "height must be <= target - offset")
        image = with_dependencies(checks, image)
        paddings = reshape(stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = pad(image, paddings)
        padded.set_shape(_static([batch, target_height, target_width, depth]))
        return padded if is_batch else squeeze(padded, axis=[0])


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Cut a box out of an image, or of each image of a batch.

    Args:
        image: Any dtype, [height, width, channels] or a batch.
        offset_height: The first row, a number or int32 scalar.
        offset_width: The first column.
        target_height: How many rows.
        target_width: How many columns.

    Raises:
        ValueError: The image does not have 3 or 4 axes, or the box is empty or not inside the image.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, is_batch = as_batch(image)
        checks = check_image(image)
        batch, height, width, depth = dimensions(image, 4)
        checks += require(offset_width >= 0, "offset_width must be >= 0.")
        checks += require(offset_height >= 0, "offset_height must be >= 0.")
        checks += require(target_width > 0, "target_width must be > 0.")
        checks += require(target_height > 0, "target_height must be > 0.")
        checks += require(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += require(height >= target_height + offset_height, "height must be >= target + offset.")
        image = with_dependencies(checks, image)
        begin = stack([0, offset_height, offset_width, 0])
        cropped = slice_(image, begin, stack([_dynamic(image, 0), target_height, target_width, _dynamic(image, 3)]))
        cropped.set_shape(_static([batch, target_height, target_width, depth]))
        return cropped if is_batch else squeeze(cropped, axis=[0])


def _smaller(x: Any, y: Any) -> Any:
    return minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def _same(x: Any, y: Any) -> Any:
    return equal(x, y) if is_tensor(x) or is_tensor(y) else x == y


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crop an image, or each image of a batch, around its centre, or pad it with zeros on all sides, to a size.

    Args:
        image: Any numeric dtype, [height, width, channels] or a batch.
        target_height: Height of the result, a number or int32 scalar.
        target_width: Width of the result.

    Raises:
        ValueError: The image does not have 3 or 4 axes, or the size is not positive.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, is_batch, checks = batch_for_target(image, target_height, target_width)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = dimensions(image, 4)
        more = target_width - width
        crop_left, pad_left = larger(-more // 2, 0), larger(more // 2, 0)
        more = target_height - height
        crop_top, pad_top = larger(-more // 2, 0), larger(more // 2, 0)
        cropped = crop_to_bounding_box(
            image, crop_top, crop_left, _smaller(target_height, height), _smaller(target_width, width)
        )
        made = pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)
        if made.get_shape().ndims is None:
            raise ValueError("resized contains no shape.")
        _, height, width, _ = dimensions(made, 4)
        checks = require(_same(height, target_height), "resized height is not correct.")
        checks += require(_same(width, target_width), "resized width is not correct.")
        made = with_dependencies(checks, made)
        return made if is_batch else squeeze(made, axis=[0])


def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """Cut a part out of a tensor at a uniformly random position.

    Args:
        value: Any dtype and rank.
        size: The size of the part along each axis; give the tensor's own size for an axis not to crop.
        seed: The op's seed.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: the tensor is smaller than `size`.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        sizes: Any = shape(value)
        check = Assert(reduce_all(sizes >= size), ["Need value.shape >= size, got ", sizes, size], summarize=1000)
        sizes = with_dependencies([check], sizes)
        limit = sizes - size + 1
        numbers: Any = random_uniform(shape(sizes), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        return slice_(value, numbers % limit, size, name=scope)
