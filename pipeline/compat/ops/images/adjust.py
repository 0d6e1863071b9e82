"""Brightness, contrast, hue, saturation, gamma and quality of images, changed by a given or random amount."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import image_colour as kernels
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.images.checks import checked_image, is_tensor, require
from pipeline.compat.ops.images.colour import convert_image_dtype
from pipeline.compat.ops.images.decode import decode_jpeg
from pipeline.compat.ops.images.encode import encode_jpeg_variable_quality
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, tensor_op
from pipeline.compat.ops.math.arithmetic import add, divide, maximum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_mean, reduce_prod, reduce_std
from pipeline.compat.ops.math.unary import rsqrt
from pipeline.compat.ops.random.random import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid


def per_image_standardization(image: Any) -> Tensor:
    """Return an image, or each of a batch, with mean 0 and variance 1, as float32.

    The divisor is at least one over the square root of the number of an image's elements, so an image of one colour
    is all zeros.

    Args:
        image: Any number dtype, [height, width, channels] or a batch.

    Raises:
        ValueError: It is known to have less than 3 axes.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = checked_image(convert_to_tensor(image, name="image"))
        image = cast(image, dtypes.float32)
        count = reduce_prod(shape(image)[-3:])  # type: ignore[index]
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = rsqrt(cast(count, dtypes.float32))
        divisor = maximum(deviation, least)
        image = image - mean
        return divide(image, divisor, name=scope)


def _floats(image: Any) -> Any:
    """The image as float32, or float16 if it is."""
    return image if image.dtype in (dtypes.float16, dtypes.float32) else convert_image_dtype(image, dtypes.float32)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Return images of any number dtype and shape with `delta` (1.0: from black to white) added.

    Args:
        image: Integers are taken for parts of their dtype's largest, and saturate.
        delta: A scalar.
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        floats = _floats(image)
        adjusted = add(floats, cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


def _contrast_shape(images: Tensor, factor: Tensor) -> Any:
    check_rank_at_least(images, 3)
    check_rank(factor, 0)
    return images.shape


def _factor_kernel(kernel: Callable[..., Any], least: int, channels: int | None, what: str) -> Callable[..., Any]:
    """The kernel for images and a scalar, checked."""

    def checked(images: Any, factor: Any) -> Any:
        if images.ndim < least:
            raise invalid(f"input must be at least {least}-D, got shape{list(images.shape)}")
        if factor.ndim:
            raise invalid(f"{what} must be scalar: {list(factor.shape)}")
        if channels is not None and images.shape[-1] != channels:
            raise invalid(f"input must have {channels} channels but instead has {images.shape[-1]} channels.")
        return kernel(images, factor)

    return checked


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Return images with `contrast_factor` times the distance of each channel from its mean over the image.

    Args:
        images: Any number dtype, [..., height, width, channels]; integers saturate.
        contrast_factor: A float scalar.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        adjusted = tensor_op(
            "AdjustContrastv2",
            "images:T(float16,float32)=float32 contrast_factor:float32",
            [_floats(images), contrast_factor],
            _contrast_shape,
            _factor_kernel(kernels.adjust_contrast, 3, None, "contrast_factor"),
            scope,
        )
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return `gain * image ** gamma`, of images of any number dtype and shape; integers saturate.

    Raises:
        ValueError: `gamma` is negative.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        floats = _floats(image)
        checks = require(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * floats**gamma, image.dtype, saturate=True)


def _colour_change(op_type: str, image: Any, factor: tuple[str, Any], kernel: Any, scope: str) -> Tensor:
    image = convert_to_tensor(image, name="image")

    def rule(images: Tensor, factor: Tensor) -> Any:
        check_rank_at_least(images, 3)
        return images.shape

    adjusted = tensor_op(
        op_type,
        f"images:T(float16,float32)=float32 {factor[0]}:float32",
        [_floats(image), factor[1]],
        rule,
        _factor_kernel(kernel, 3, 3, factor[0]),
    )
    return convert_image_dtype(adjusted, image.dtype)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Return images [..., height, width, 3] of any number dtype with `delta` full turns of the hue."""
    with name_scope(name, "adjust_hue", [image]) as scope:
        return _colour_change("AdjustHue", image, ("delta", delta), kernels.adjust_hue, scope)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Return images [..., height, width, 3] of any number dtype with `saturation_factor` times the saturation."""
    with name_scope(name, "adjust_saturation", [image]) as scope:
        return _colour_change("AdjustSaturation", image, ("scale", saturation_factor), kernels.adjust_saturation, scope)


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None) -> Tensor:
    """Return an image [height, width, 1 or 3] of any number dtype as JPEG of a quality makes it.

    Args:
        image: The image; integers are taken for parts of their dtype's largest.
        jpeg_quality: 0 to 100, a number or int32 scalar.
        dct_method: Taken for the interface's sake.
        name: Name of the scope.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        channels = image.shape.as_list()[-1]
        small = convert_image_dtype(image, dtypes.uint8, saturate=True)
        if not is_tensor(jpeg_quality):
            jpeg_quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        contents = encode_jpeg_variable_quality(small, jpeg_quality)
        decoded = decode_jpeg(contents, channels=channels, dct_method=dct_method)
        return convert_image_dtype(decoded, image.dtype, saturate=True)


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
    """`adjust_brightness` by a random amount from -max_delta to max_delta; ValueError if that is negative."""
    return adjust_brightness(image, _about_zero(max_delta, seed))


def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_contrast` by a random factor from lower to upper; ValueError unless 0 <= lower < upper."""
    return adjust_contrast(image, _between(lower, upper, seed))


def random_hue(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """`adjust_hue` by a random amount from -max_delta to max_delta; ValueError unless that is 0 to 0.5."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    return adjust_hue(image, _about_zero(max_delta, seed))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_saturation` by a random factor from lower to upper; ValueError unless 0 <= lower < upper."""
    return adjust_saturation(image, _between(lower, upper, seed))


def random_jpeg_quality(image: Any, min_jpeg_quality: Any, max_jpeg_quality: Any, seed: Any = None) -> Tensor:
    """`adjust_jpeg_quality` of a random quality from the least up to, without, the largest one.

    Raises:
        ValueError: A quality is not from 0 to 100, or the least is not below the largest.
    """
    qualities = (min_jpeg_quality, max_jpeg_quality)
    if min(qualities) < 0 or max(qualities) > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)
