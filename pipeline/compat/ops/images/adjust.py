"""Adjust brightness, contrast, hue, saturation or gamma, by a given or a random amount."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.images.colour import convert_image_dtype
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, tensor_op
from pipeline.compat.ops.math.arithmetic import add
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid
from pipeline.images import colours as kernels


def per_image_standardization(image: Any) -> Tensor:
    """Return an image, or each image in a batch, scaled to mean 0 and variance 1, as float32.

    The divisor is at least 1 / sqrt(number of values in the image), so a single-colour image becomes zeros.

    Args:
        image: Any numeric dtype, [height, width, channels] or a batch.

    Raises:
        ValueError: It is known to have fewer than 3 axes.
    """

    def rule(image: Tensor) -> Any:
        if image.shape.sizes is None:
            return None
        if len(image.shape.sizes) < 3 or 0 in image.shape.sizes[-3:]:
            raise ValueError(f"'image' (shape {image.shape}) must have 3 dimensions or more, none of them 0.")
        return image.shape

    def kernel(image: Any) -> Any:
        if image.ndim < 3 or 0 in image.shape[-3:]:
            raise invalid(f"'image' must have 3 dimensions or more, none of them 0, got shape {list(image.shape)}")
        return _standardized(image)

    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = cast(convert_to_tensor(image, name="image"), dtypes.float32)
        return tensor_op("Standardize", "image:T", [image], rule, kernel, scope, rows=True)


def _standardized(image: Any) -> Any:
    axes = (-3, -2, -1)
    count = np.float32(math.prod(image.shape[-3:]))
    made = image - np.add.reduce(image, axes, keepdims=True) / count
    variance = np.add.reduce(np.square(made), axes, keepdims=True) / count
    made /= np.maximum(np.sqrt(variance), np.reciprocal(np.sqrt(count)))
    return made


def _as_floats(image: Any) -> Any:
    """Return the image as float32; a float16 image stays float16."""
    return image if image.dtype in (dtypes.float16, dtypes.float32) else convert_image_dtype(image, dtypes.float32)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Return images with `delta` added to every value.

    Args:
        image: Any numeric dtype and shape. Integers count as fractions of their dtype's maximum, and saturate.
        delta: A scalar; 1.0 is the difference between black and white.
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        floats = _as_floats(image)
        adjusted = add(floats, cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


def _contrast_shape(images: Tensor, factor: Tensor) -> Any:
    check_rank_at_least(images, 3)
    check_rank(factor, 0)
    return images.shape


def _factor_kernel(kernel: Callable[..., Any], min_rank: int, channels: int | None, what: str) -> Callable[..., Any]:
    """Return the kernel with checks for its images and its scalar, called `what` in errors."""

    def checked(images: Any, factor: Any) -> Any:
        if images.ndim < min_rank:
            raise invalid(f"input must be at least {min_rank}-D, got shape{list(images.shape)}")
        if factor.ndim:
            raise invalid(f"{what} must be scalar: {list(factor.shape)}")
        if channels is not None and images.shape[-1] != channels:
            raise invalid(f"input must have {channels} channels but instead has {images.shape[-1]} channels.")
        return kernel(images, factor)

    return checked


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Return images with each value's distance from its channel mean multiplied by `contrast_factor`.

    Args:
        images: Any numeric dtype, [..., height, width, channels]; integers saturate.
        contrast_factor: A float scalar.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        adjusted = tensor_op(
            "AdjustContrastv2",
            "images:T(float16,float32)=float32 contrast_factor:float32",
            [_as_floats(images), contrast_factor],
            _contrast_shape,
            _factor_kernel(kernels.adjust_contrast, 3, None, "contrast_factor"),
            scope,
        )
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return `gain * image ** gamma`.

    Args:
        image: Any numeric dtype and shape. Integers count as fractions of their dtype's maximum, and saturate.
        gamma: A scalar, not negative.
        gain: A scalar.

    Raises:
        ValueError: `gamma` is negative.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        floats = _as_floats(image)
        text = "Gamma should be a non-negative real number."
        if isinstance(gamma, Tensor):
            gamma = with_dependencies([Assert(gamma >= 0, [text])], gamma)  # type: ignore[operator]
        elif gamma < 0:
            raise ValueError(text)
        return convert_image_dtype(gain * floats**gamma, image.dtype, saturate=True)


def _colour_change(op_type: str, image: Any, factor: tuple[str, Any], kernel: Any) -> Tensor:
    """Return the op that changes RGB images by a factor, given as name and value."""
    image = convert_to_tensor(image, name="image")

    def rule(images: Tensor, factor: Tensor) -> Any:
        check_rank_at_least(images, 3)
        return images.shape

    adjusted = tensor_op(
        op_type,
        f"images:T(float16,float32)=float32 {factor[0]}:float32",
        [_as_floats(image), factor[1]],
        rule,
        _factor_kernel(kernel, 3, 3, factor[0]),
    )
    return convert_image_dtype(adjusted, image.dtype)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Return RGB images [..., height, width, 3] with any numeric dtype and the hue turned by `delta` full turns."""
    with name_scope(name, "adjust_hue", [image]):
        return _colour_change("AdjustHue", image, ("delta", delta), kernels.adjust_hue)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Return RGB images [..., height, width, 3], any numeric dtype, with `saturation_factor` times the saturation."""
    with name_scope(name, "adjust_saturation", [image]):
        return _colour_change("AdjustSaturation", image, ("scale", saturation_factor), kernels.adjust_saturation)


def _about_zero(max_delta: Any, seed: Any) -> Tensor:
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return random_uniform([], -max_delta, max_delta, seed=seed)


def _between(lower: Any, upper: Any, seed: Any) -> Tensor:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)


def random_brightness(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """Adjust brightness by a random delta in [-max_delta, max_delta); ValueError if `max_delta` is negative."""
    return adjust_brightness(image, _about_zero(max_delta, seed))


def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """Adjust contrast by a random factor in [lower, upper); ValueError unless 0 <= lower < upper."""
    return adjust_contrast(image, _between(lower, upper, seed))


def random_hue(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """Adjust hue by a random delta in [-max_delta, max_delta); ValueError unless 0 <= max_delta <= 0.5."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    return adjust_hue(image, _about_zero(max_delta, seed))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """Adjust saturation by a random factor in [lower, upper); ValueError unless 0 <= lower < upper."""
    return adjust_saturation(image, _between(lower, upper, seed))
