"""Resize images by TensorFlow's four methods, optionally keeping the aspect ratio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.joining import unstack
from pipeline.compat.ops.arrays.shaping import expand_dims, shape, squeeze
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.ops.math.arithmetic import minimum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.unary import round as round_
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape, get_static_value
from pipeline.errors import invalid, show
from pipeline.images import resizing as kernels

_KINDS = "(int8,uint8,int16,uint16,int32,int64,float16,float32,float64,bfloat16)"
_BILINEAR_KINDS = "(int8,uint8,int16,uint16,int32,int64,bfloat16,float16,float32,float64)"


class ResizeMethod:
    """Methods for `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def static_size(size: Tensor) -> list[int | None]:
    """Return height and width if the size is constant, else None; ValueError unless it is a vector [2]."""
    check_rank(size, 1)
    if size.shape.num_elements() not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {size.shape.num_elements()}")
    known = constant_value(size)
    return [None, None] if known is None else [int(each) if each >= 0 else None for each in known]


def _resized(images: Tensor, size: Tensor) -> Any:
    check_rank(images, 4)
    height, width = static_size(size)
    sizes = images.shape.sizes or (None, None, None, None)
    return [sizes[0], height, width, sizes[3]]


def _checked(kernel: Callable[..., Any], align_corners: bool, half_pixel: bool) -> Callable[..., Any]:
    """Return the kernel with checks for its images and size."""

    def checked(images: Any, size: Any) -> Any:
        if align_corners and half_pixel:
            raise invalid("If half_pixel_centers is True, align_corners must be False.")
        if images.ndim != 4:
            raise invalid(f"input must be 4-dimensional{show(images.shape)}")
        if size.shape != (2,):
            raise invalid(f"shape_t must have two elements{show(size.shape)}")
        height, width = size.tolist()
        if height <= 0 or width <= 0:
            raise invalid("output dimensions must be positive")
        if images.shape[1] == 0 or images.shape[2] == 0:
            raise invalid("input image must be of non-zero size")
        return kernel(images, height, width)

    return checked


def _unless_of_size(checked: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel for plans with bytes or floats: images already at the size stay bytes."""

    def kernel(images: Any, size: Any) -> Any:
        same = images.dtype == np.uint8 and images.ndim == 4 and [*images.shape[1:3]] == size.tolist()
        return images if same and images.size else checked(images, size)

    return kernel


def _rows(checked: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel for a block of equally shaped batches."""

    def rows(is_row: tuple[bool, ...], images: Any, size: Any) -> Any:
        if is_row != (True, False) or images.ndim != 5:
            return None
        count, batch = images.shape[:2]
        made = checked(images.reshape(count * batch, *images.shape[2:]), size)
        return made.reshape(count, batch, *made.shape[1:])

    return rows


def _resize(
    op_type: str, images: Any, size: Any, align_corners: Any, half_pixel: Any, kernel: Any, name: str | None
) -> Tensor:
    align, half = bool(align_corners), bool(half_pixel)
    kinds = _BILINEAR_KINDS if op_type == "ResizeBilinear" else _KINDS
    attrs = {"align_corners": align, "half_pixel_centers": half}
    dtype = None if op_type == "ResizeNearestNeighbor" else dtypes.float32
    checked = _checked(lambda *values: kernel(*values, align, half), align, half)
    if op_type == "ResizeBilinear":
        checked.may_stay_bytes = _unless_of_size(checked)  # type: ignore[attr-defined]  # for plans
    definition = f"images:T{kinds} size:int32"
    return tensor_op(op_type, definition, [images, size], _resized, checked, name, attrs, _rows(checked), dtype)


def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize a batch of images to float32; each pixel is interpolated from the four nearest ones.

    Args:
        images: Any real dtype, [batch, height, width, channels].
        size: int32 [2], height and width.
        align_corners: Map the corner pixels' centres onto each other.
        name: Name of the op.
        half_pixel_centers: Take a pixel's centre at half a pixel from its edge.

    Raises:
        ValueError: A shape is known to be different.
    """
    return _resize("ResizeBilinear", images, size, align_corners, half_pixel_centers, kernels.bilinear, name)


def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize a batch of images, keeping the dtype; each pixel is the nearest one. Arguments as in `resize_bilinear`."""
    return _resize("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, kernels.nearest, name)


def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize a batch of images to float32; each pixel is interpolated from 16. Arguments as in `resize_bilinear`."""
    return _resize("ResizeBicubic", images, size, align_corners, half_pixel_centers, kernels.bicubic, name)


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Resize a batch of images to float32; each pixel is its area's mean. Arguments as in `resize_bilinear`."""
    align = bool(align_corners)
    checked = _checked(lambda value, height, width: kernels.area(value, height, width, align), align, False)
    attrs = {"align_corners": align}
    definition, values = f"images:T{_KINDS} size:int32", [images, size]
    return tensor_op("ResizeArea", definition, values, _resized, checked, name, attrs, _rows(checked), dtypes.float32)


_METHODS: list[tuple[Any, str, Callable[..., Tensor]]] = [
    (ResizeMethod.BILINEAR, "bilinear", resize_bilinear),
    (ResizeMethod.NEAREST_NEIGHBOR, "nearest", resize_nearest_neighbor),
    (ResizeMethod.BICUBIC, "bicubic", resize_bicubic),
    (ResizeMethod.AREA, "area", resize_area),
]


def _by_method(method: Any) -> Callable[..., Tensor]:
    for number, word, function in _METHODS:
        if method in (number, word):
            return function
    raise ValueError(f"Resize method is not implemented: {method}")


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize an image, or each image in a batch.

    The result is float32, except for NEAREST_NEIGHBOR. Images known to have the size already are returned unchanged.

    Args:
        images: Any real dtype, [height, width, channels] or a batch; the rank must be static.
        size: int32 [2], height and width.
        method: A ResizeMethod, or "bilinear", "nearest", "bicubic", "area".
        align_corners: Map the corner pixels' centres onto each other.
        preserve_aspect_ratio: Keep the ratio of height to width; the result is the largest that fits into `size`.
        name: Scope name.

    Raises:
        ValueError: A shape is wrong, or the method is unknown.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        axes = images.get_shape().ndims
        if axes is None:
            raise ValueError("'images' contains no shape.")
        if axes not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        if axes == 3:
            images = expand_dims(images, 0)
        _, height, width, _ = images.get_shape().sizes
        try:
            size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not size.get_shape().is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            size = _fitting(images, size)
        wanted = _known(size)
        if None not in (height, width) and (height, width) == tuple(wanted):
            return images if axes == 4 else squeeze(images, axis=[0])
        images = _by_method(method)(images, size, align_corners=align_corners)
        images.set_shape([None, *wanted, None])
        return images if axes == 4 else squeeze(images, axis=[0])


def _is_plain(size: Tensor) -> bool:
    """Return whether a size comes from constants or shapes; only such sizes are compared with the images'."""
    kind = size.op.type
    if kind in ("StridedSlice", "ConcatV2"):
        return all(map(_is_plain, size.op.inputs))
    return kind == "Shape" or get_static_value(size) is not None


def _known(size: Tensor) -> tuple[int | None, int | None]:
    """Return height and width, as far as TensorFlow's Python code finds them statically."""
    sizes = constant_value_as_shape(size).sizes
    if sizes is None:
        return None, None
    if size.op.type == "Pack":
        plain = [get_static_value(each) is not None for each in size.op.inputs]
    else:
        plain = [_is_plain(size)] * 2
    height, width = (each if known else None for each, known in zip(sizes, plain, strict=True))
    return height, width


def _fitting(images: Tensor, size: Any) -> Tensor:
    """Return the largest size with the images' aspect ratio that fits into `size`."""
    height, width = images.get_shape().sizes[1:3]  # type: ignore[index]
    if height is None or width is None:
        _, rows, columns, _ = unstack(shape(images), 4)
        height, width = rows if height is None else height, columns if width is None else width
    tall = cast(size[0], dtypes.float32) / cast(height, dtypes.float32)
    wide = cast(size[1], dtypes.float32) / cast(width, dtypes.float32)
    scale = minimum(tall, wide)
    fitting = [cast(round_(scale * cast(each, dtypes.float32)), dtypes.int32) for each in (height, width)]
    return convert_to_tensor(fitting, dtypes.int32, name="size")
