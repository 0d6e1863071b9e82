"""Colours along the last axis: RGB to HSV and back, and changes of hue, saturation and contrast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline import _colour


def _pixels(colours: Any) -> tuple[Any, Any]:
    """Return the colours as float32 [pixels, 3], and an empty array of that shape."""
    pixels = np.ascontiguousarray(colours, np.float32).reshape(-1, 3)
    return pixels, np.empty_like(pixels)


def _converted(colours: Any, single: Callable[..., None], double: Callable[..., None]) -> Any:
    """Return the colours after a conversion in float64 if they have that dtype, else in float32."""
    if colours.dtype != np.float64:
        pixels, result = _pixels(colours)
        single(pixels, result)
    else:
        pixels = np.ascontiguousarray(colours).reshape(-1, 3)
        result = np.empty_like(pixels)
        double(pixels, result)
    return result.reshape(colours.shape).astype(colours.dtype, copy=False)


def rgb_to_hsv(colours: Any) -> Any:
    """Convert red, green and blue to hue, saturation and value, each from 0 to 1."""
    return _converted(colours, _colour.hsv_of_rgb_32, _colour.hsv_of_rgb_64)


def hsv_to_rgb(colours: Any) -> Any:
    """Convert hue, saturation and value to red, green and blue."""
    return _converted(colours, _colour.rgb_of_hsv_32, _colour.rgb_of_hsv_64)


def adjust_hue(colours: Any, delta: Any) -> Any:
    """Rotate the hue by `delta` full turns. The largest and smallest component of each pixel keep their values."""
    pixels, result = _pixels(colours)
    six = np.float32(6)
    _colour.adjust_hue(pixels, np.mod(np.float32(delta) * six, six), result)
    return result.reshape(colours.shape).astype(colours.dtype, copy=False)


def adjust_saturation(colours: Any, scale: Any) -> Any:
    """Multiply the saturation by `scale`, up to full saturation."""
    pixels, result = _pixels(colours)
    _colour.adjust_saturation(pixels, scale, result)
    return result.reshape(colours.shape).astype(colours.dtype, copy=False)


def adjust_contrast(images: Any, factor: Any) -> Any:
    """Multiply each channel's distance from its mean over the image by `factor`."""
    if not images.size:
        return images
    height, width, channels = images.shape[-3:]
    lines = np.ascontiguousarray(images, np.float32).reshape(-1, height, width * channels)
    result = np.empty_like(lines)
    _colour.adjust_contrast(lines, channels, factor, result)
    return result.reshape(images.shape).astype(images.dtype, copy=False)
