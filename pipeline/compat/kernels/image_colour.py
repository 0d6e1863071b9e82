"""Colours along the last axis: RGB to HSV and back, and changes of hue, saturation and contrast."""

from __future__ import annotations

from typing import Any

import numpy as np


def _hue(red: Any, green: Any, blue: Any, value: Any, spread: Any) -> Any:
    """Return the hue from 0 to 1; 0 for gray."""
    kind = value.dtype.type
    with np.errstate(all="ignore"):
        norm = kind(1) / (kind(6) * spread)
        hue = np.where(
            red == value,
            norm * (green - blue),
            np.where(green == value, norm * (blue - red) + kind(2.0 / 6.0), norm * (red - green) + kind(4.0 / 6.0)),
        )
    hue = np.where(spread > 0, hue, kind(0))
    return np.where(hue < 0, hue + kind(1), hue)


def _planes(colours: Any) -> Any:
    """Return each component as an array of its own: contiguous memory makes the arithmetic several times faster."""
    return np.ascontiguousarray(np.moveaxis(colours, -1, 0))


def _pixels(planes: Any) -> Any:
    return np.stack(planes, axis=-1)


def _hsv(red: Any, green: Any, blue: Any) -> tuple[Any, Any, Any]:
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    with np.errstate(all="ignore"):
        saturation = np.where(value > 0, spread / value, value.dtype.type(0))
    return _hue(red, green, blue, value, spread), saturation, value


def rgb_to_hsv(colours: Any) -> Any:
    """Convert red, green and blue to hue, saturation and value, each from 0 to 1."""
    return _pixels(_hsv(*_planes(colours)))


def _rgb(hue: Any, saturation: Any, value: Any) -> list[Any]:
    kind = value.dtype.type
    turned = hue * kind(6)
    red = np.clip(np.abs(turned - kind(3)) - kind(1), kind(0), kind(1))
    green = np.clip(kind(2) - np.abs(turned - kind(2)), kind(0), kind(1))
    blue = np.clip(kind(2) - np.abs(turned - kind(4)), kind(0), kind(1))
    pale = kind(1) - saturation
    return [(pale + saturation * each) * value for each in (red, green, blue)]


def hsv_to_rgb(colours: Any) -> Any:
    """Convert hue, saturation and value to red, green and blue."""
    return _pixels(_rgb(*_planes(colours)))


def adjust_hue(colours: Any, delta: Any) -> Any:
    """Turn the hue by `delta` full turns; the largest and smallest component of a pixel keep their values."""
    red, green, blue = _planes(colours.astype(np.float32, copy=False))
    high = np.maximum(np.maximum(red, green), blue)
    spread = high - np.minimum(np.minimum(red, green), blue)
    six = np.float32(6)
    turned = _hue(red, green, blue, high, spread) * six + np.float32(np.mod(np.float32(delta) * six, six))
    parts = []
    for start in (5, 3, 1):
        place = turned + np.float32(start)
        place -= six * np.floor(place / six)
        level = np.clip(np.minimum(place, np.float32(4) - place), np.float32(0), np.float32(1))
        parts.append(high - spread * level)
    return _pixels(parts).astype(colours.dtype, copy=False)


def adjust_saturation(colours: Any, scale: Any) -> Any:
    """Multiply the saturation by `scale`, up to full saturation."""
    hue, saturation, value = _hsv(*_planes(colours.astype(np.float32, copy=False)))
    saturation = np.clip(saturation * np.float32(scale), np.float32(0), np.float32(1))
    return _pixels(_rgb(hue, saturation, value)).astype(colours.dtype, copy=False)


def adjust_contrast(images: Any, factor: Any) -> Any:
    """Multiply each channel's distance from its mean over the image by `factor`."""
    wide = images.astype(np.float32, copy=False)
    count = np.float32(wide.shape[-3] * wide.shape[-2])
    mean = wide.sum(axis=(-3, -2), keepdims=True, dtype=np.float32) / count if wide.size else wide
    return ((wide - mean) * np.float32(factor) + mean).astype(images.dtype, copy=False)
