"""Colours of pixels along the last axis: RGB and HSV, and changes of hue, saturation and contrast."""

from __future__ import annotations

from typing import Any

import numpy as np


def _hue(red: Any, green: Any, blue: Any, value: Any, spread: Any) -> Any:
    """The hue from 0 to 1; 0 for gray."""
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


def rgb_to_hsv(colours: Any) -> Any:
    """Hue, saturation and value, each from 0 to 1, of red, green and blue."""
    red, green, blue = colours[..., 0], colours[..., 1], colours[..., 2]
    value = colours.max(axis=-1)
    spread = value - colours.min(axis=-1)
    with np.errstate(all="ignore"):
        saturation = np.where(value > 0, spread / value, value.dtype.type(0))
    return np.stack((_hue(red, green, blue, value, spread), saturation, value), axis=-1)


def hsv_to_rgb(colours: Any) -> Any:
    """Red, green and blue of hue, saturation and value."""
    hue, saturation, value = colours[..., 0], colours[..., 1], colours[..., 2]
    kind = colours.dtype.type
    turned = hue * kind(6)
    red = np.clip(np.abs(turned - kind(3)) - kind(1), kind(0), kind(1))
    green = np.clip(kind(2) - np.abs(turned - kind(2)), kind(0), kind(1))
    blue = np.clip(kind(2) - np.abs(turned - kind(4)), kind(0), kind(1))
    pale = kind(1) - saturation
    return np.stack([(pale + saturation * each) * value for each in (red, green, blue)], axis=-1)


def adjust_hue(colours: Any, delta: Any) -> Any:
    """The colours with `delta` full turns of the hue; what is brightest and darkest stays so."""
    wide = colours.astype(np.float32, copy=False)
    high, low = wide.max(axis=-1), wide.min(axis=-1)
    spread = high - low
    turned = _hue(wide[..., 0], wide[..., 1], wide[..., 2], high, spread) * np.float32(6)
    turned = np.mod(turned + np.float32(delta) * np.float32(6), np.float32(6))
    parts = []
    for start in (5, 3, 1):
        place = np.mod(turned + np.float32(start), np.float32(6))
        level = np.clip(np.minimum(place, np.float32(4) - place), np.float32(0), np.float32(1))
        parts.append(high - spread * level)
    return np.stack(parts, axis=-1).astype(colours.dtype, copy=False)


def adjust_saturation(colours: Any, scale: Any) -> Any:
    """The colours with `scale` times the saturation, at most full."""
    hsv = rgb_to_hsv(colours.astype(np.float32, copy=False))
    hsv[..., 1] = np.clip(hsv[..., 1] * np.float32(scale), np.float32(0), np.float32(1))
    return hsv_to_rgb(hsv).astype(colours.dtype, copy=False)


def adjust_contrast(images: Any, factor: Any) -> Any:
    """Each channel with `factor` times the distance from its mean over the image."""
    wide = images.astype(np.float32, copy=False)
    count = np.float32(wide.shape[-3] * wide.shape[-2])
    mean = wide.sum(axis=(-3, -2), keepdims=True, dtype=np.float32) / count if wide.size else wide
    return ((wide - mean) * np.float32(factor) + mean).astype(images.dtype, copy=False)
