"""Convert images between dtypes and colour spaces: RGB, grayscale, HSV."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.making.inputs import FLOATS
from pipeline.compat.ops.making.opdef import check_rank_at_least, tensor_op
from pipeline.compat.ops.math.arithmetic import floordiv, multiply
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.clipping import saturate_cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.images import colours as kernels


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Convert an image's dtype and scale it: floats are 0 to 1, integers 0 to their dtype's maximum.

    Args:
        image: Any integer or float dtype and shape.
        dtype: An integer or float dtype.
        saturate: Clip values outside the dtype's range.
        name: Name of the op.

    Raises:
        AttributeError: A dtype is neither integer nor float.
    """
    image = convert_to_tensor(image, name="image")
    wanted, given = dtypes.as_dtype(dtype), image.dtype
    if not wanted.is_floating and not wanted.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if not given.is_floating and not given.is_integer:
        raise AttributeError("image dtype must be either floating point or integer")
    if wanted == given:
        return identity(image, name=name)  # type: ignore[no-any-return]
    to_dtype = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [image]) as scope:
        if given.is_floating:
            if not wanted.is_floating:
                image = multiply(image, wanted.max + 0.5)
                return to_dtype(image, wanted, name=scope)
            return cast(image, wanted, name=scope)  # type: ignore[no-any-return]
        if wanted.is_floating:
            return multiply(cast(image, wanted), 1.0 / given.max, name=scope)
        if given.max > wanted.max:
            scaled = floordiv(image, (given.max + 1) // (wanted.max + 1))
            return to_dtype(scaled, wanted, name=scope)
        return multiply(to_dtype(image, wanted), (wanted.max + 1) // (given.max + 1), name=scope)


_WEIGHTS = np.array([[0.2989], [0.587], [0.114]], np.float32)


def _luminance(images: Any) -> Any:
    if not images.ndim or images.shape[-1] != 3:
        raise invalid(f"rgb_to_grayscale takes images of 3 channels, got shape {list(images.shape)}")
    return np.matmul(images.reshape(-1, 3), _WEIGHTS).reshape(*images.shape[:-1], 1)


def _gray_shape(images: Tensor) -> Any:
    sizes = _colours_shape(images)
    return None if sizes is None else [*sizes[:-1], 1]


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Convert RGB images [..., 3], any numeric dtype, to their luminance, [..., 1]."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        gray = tensor_op("Luminance", "images:T", [floats], _gray_shape, _luminance)
        return convert_image_dtype(gray, images.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Convert images [..., 1], any dtype, to [..., 3] with three equal channels.

    Raises:
        ValueError: The last axis is known to have another size.
    """

    def rule(images: Tensor) -> Any:
        sizes = images.shape.sizes
        if sizes is None:
            return None
        if len(sizes) < 2 or sizes[-1] not in (None, 1):
            raise ValueError(f"A grayscale image has 2 axes or more, the last of size 1, got shape {images.shape}")
        return [*sizes[:-1], 3]

    def kernel(images: Any) -> Any:
        if images.ndim < 2 or images.shape[-1] != 1:
            raise invalid(f"A grayscale image has 2 axes or more, the last of size 1, got {list(images.shape)}")
        return np.repeat(images, 3, -1)

    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        return tensor_op("GrayscaleToRGB", "images:T", [images], rule, kernel, scope)


def _colours_shape(images: Tensor) -> Any:
    check_rank_at_least(images, 1)
    sizes = images.shape.sizes
    if sizes is None:
        return None
    if sizes[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {sizes[-1]}")
    return [*sizes[:-1], 3]


def _colours(op_type: str, images: Any, kernel: Any, name: str | None) -> Tensor:
    definition = f"images:T({','.join(_KINDS)})=float32"
    return tensor_op(op_type, definition, [images], _colours_shape, _three(kernel), name, rows=True)


_KINDS = (FLOATS[1], FLOATS[0], *FLOATS[2:])


def _three(kernel: Any) -> Any:
    """Return the kernel with a check for three channels."""

    def checked(images: Any) -> Any:
        if images.ndim < 1:
            raise invalid("input must be at least 1D")
        if images.shape[-1] != 3:
            text = f"input must have 3 channels but input only has {images.shape[-1]} channels."
            raise FailedPreconditionError(None, None, text)
        return kernel(images)

    return checked


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Convert RGB along the last axis to hue, saturation and value; all are floats in 0 to 1.

    Raises:
        ValueError: The last axis is known to have a size other than 3.
    """
    return _colours("RGBToHSV", images, kernels.rgb_to_hsv, name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value along the last axis to RGB; all are floats in 0 to 1."""
    return _colours("HSVToRGB", images, kernels.hsv_to_rgb, name)
