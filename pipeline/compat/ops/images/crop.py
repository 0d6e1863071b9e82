"""Crop images, pad them with zeros, or both. Each function is one operation that computes its box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import once_a_shape
from pipeline.compat.ops.arrays.indexing import slice_
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.images.checks import checked_shape
from pipeline.compat.ops.making.opdef import failing_at_run_time, tensor_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_all
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value

# A box's first row, first column, height and width; it may extend beyond the image. Unknown values are None.
_Box = tuple[Any, Any, Any, Any]


def _less(*numbers: Any) -> Any:
    """Return the first number minus the others; None if one is unknown."""
    return None if None in numbers else numbers[0] - sum(numbers[1:])


def _at_least(least: int, number: Any, text: str) -> None:
    if number is not None and number < least:
        raise ValueError(text)


def _inside(box: _Box, rows: Any, columns: Any) -> bool:
    top, left, height, width = box
    return bool(0 <= top <= rows - height and 0 <= left <= columns - width)


def _part(image: Any, box: _Box) -> Any:
    """Return part of an image, or of each image in a batch; zeros beyond the image."""
    top, left, height, width = box
    rows, columns = image.shape[-3:-1]
    if _inside(box, rows, columns):
        return image[..., top : top + height, left : left + width, :]
    made = np.full(
        (*image.shape[:-3], height, width, image.shape[-1]), b"" if image.dtype == object else 0, image.dtype
    )
    first, last = max(top, 0), max(left, 0)
    inner = image[..., first : top + height, last : left + width, :]
    begin, after = first - top, last - left
    made[..., begin : begin + inner.shape[-3], after : after + inner.shape[-2], :] = inner
    return made


def _boxed(op_type: str, image: Any, numbers: list[Any], find: Callable[..., _Box], name: str) -> Tensor:
    """Make the operation that takes a box from an image.

    Args:
        op_type: Its type.
        image: The image, or a batch.
        numbers: Inputs that define the box, besides the image's height and width.
        find: Computes the box from height, width and the numbers; ValueError if it does not fit.
        name: Scope name.
    """
    with name_scope(None, name, [image]):
        tensor = convert_to_tensor(image, name="image")
        sizes = checked_shape(tensor)
        plain = [None if isinstance(each, Tensor) or hasattr(each, "_variable") else each for each in numbers]
        # Wrong Python numbers are an error at once, wrong constants at run time, as in TensorFlow.
        find(*sizes[-3:-1], *plain)
        known = [constant_value(each) if isinstance(each, Tensor) else each for each in numbers]
        try:
            box = find(*sizes[-3:-1], *known)
        except ValueError:
            box = (None,) * 4

        if None not in (*box, *sizes[-3:-1]) and _inside(box, *sizes[-3:-1]):
            op_type = "ImageCrop"  # a view for plans, because it does not pad

        def rule(*_: Any) -> Any:
            return [*sizes[:-3], *box[2:], sizes[-1]]

        def recipe(shape: tuple[int, ...], *given: Any) -> _Box:
            if len(shape) != len(sizes) or 0 in shape[-3:]:
                raise ValueError(f"'image' must have {len(sizes)} dimensions, none of them 0, got shape {list(shape)}")
            return find(*shape[-3:-1], *(each.item() for each in given))

        def kernel(image: Any, *given: Any) -> Any:
            return _part(image, recipe(image.shape, *given))

        def rows(is_row: tuple[bool, ...], image: Any, *given: Any) -> Any:
            return None if any(is_row[1:]) else _part(image, recipe(image.shape[1:], *given))

        given = [_as_int32(each) for each in numbers] if len(numbers) > 1 else numbers
        run = once_a_shape(failing_at_run_time(kernel), recipe, _part)
        kind = "int32" if len(numbers) > 1 else "fraction"
        definition = "image:T " + " ".join(f"number{at}:{kind}" for at in range(len(numbers)))
        return tensor_op(op_type, definition, [tensor, *given], rule, run, rows=rows)


def _as_int32(number: Any) -> Any:
    """Return a number for a box; int64, which TensorFlow also accepts, becomes int32."""
    symbolic = isinstance(number, Tensor) or hasattr(number, "_variable")
    return cast(number, dtypes.int32) if symbolic and number.dtype.base_dtype == dtypes.int64 else number


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """Return the centre of an image, or of each image in a batch.

    Args:
        image: Any dtype, [height, width, channels] or a batch; its rank must be static.
        central_fraction: Fraction of height and width to keep, above 0 and at most 1.

    Raises:
        ValueError: The rank is not 3 or 4, or the fraction is out of range.
    """

    def find(height: Any, width: Any, fraction: Any) -> _Box:
        if fraction is None:
            return (None,) * 4
        if not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        top, left = (None if each is None else int((each - each * float(fraction)) / 2) for each in (height, width))
        return top, left, _less(height, top, top), _less(width, left, left)

    image = convert_to_tensor(image, name="image")
    if image.shape.ndims is None:
        raise ValueError("`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = None.")
    if isinstance(central_fraction, Tensor) and constant_value(central_fraction) is not None:
        central_fraction = constant_value(central_fraction)
    return _boxed("ImageCrop", image, [central_fraction], find, "central_crop")


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Pad an image, or each image in a batch, with zeros.

    Args:
        image: Any numeric dtype, [height, width, channels] or a batch.
        offset_height: Zero rows above it, a number or int32 scalar.
        offset_width: Zero columns to its left.
        target_height: Result height.
        target_width: Result width.

    Raises:
        ValueError: The image does not have 3 or 4 axes, an offset is negative, or the image does not fit.
    """

    def find(rows: Any, columns: Any, top: Any, left: Any, height: Any, width: Any) -> _Box:
        _at_least(0, top, "offset_height must be >= 0")
        _at_least(0, left, "offset_width must be >= 0")
        _at_least(0, _less(width, left, columns), "width must be <= target - offset")
        _at_least(0, _less(height, top, rows), "height must be <= target - offset")
        return _less(0, top), _less(0, left), height, width

    return _boxed(
        "ImagePad", image, [offset_height, offset_width, target_height, target_width], find, "pad_to_bounding_box"
    )


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Cut a box out of an image, or of each image in a batch.

    Args:
        image: Any dtype, [height, width, channels] or a batch.
        offset_height: The first row, a number or int32 scalar.
        offset_width: The first column.
        target_height: Number of rows.
        target_width: Number of columns.

    Raises:
        ValueError: The image does not have 3 or 4 axes, or the box is empty or not inside the image.
    """

    def find(rows: Any, columns: Any, top: Any, left: Any, height: Any, width: Any) -> _Box:
        _at_least(0, left, "offset_width must be >= 0.")
        _at_least(0, top, "offset_height must be >= 0.")
        _positive(height, width)
        _at_least(0, _less(columns, width, left), "width must be >= target + offset.")
        _at_least(0, _less(rows, height, top), "height must be >= target + offset.")
        return top, left, height, width

    return _boxed(
        "ImageCrop", image, [offset_height, offset_width, target_height, target_width], find, "crop_to_bounding_box"
    )


def _positive(height: Any, width: Any) -> None:
    _at_least(1, width, "target_width must be > 0.")
    _at_least(1, height, "target_height must be > 0.")


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crop an image, or each image in a batch, around its centre, or pad it with zeros on all sides, to a size.

    Args:
        image: Any numeric dtype, [height, width, channels] or a batch.
        target_height: Result height, a number or int32 scalar.
        target_width: Result width.

    Raises:
        ValueError: The image does not have 3 or 4 axes, or the size is not positive.
    """

    def first(size: Any, target: Any) -> Any:
        more = _less(target, size)
        return None if more is None else -(more // 2) if more > 0 else -more // 2

    def find(rows: Any, columns: Any, height: Any, width: Any) -> _Box:
        _positive(height, width)
        return first(rows, height), first(columns, width), height, width

    return _boxed("ImagePad", image, [target_height, target_width], find, "resize_image_with_crop_or_pad")


def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """Cut a part out of a tensor at a uniformly random position.

    Args:
        value: Any dtype and rank.
        size: Size along each axis; use the tensor's own size for axes not to crop.
        seed: The op's seed.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if the tensor is smaller than `size`.
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
