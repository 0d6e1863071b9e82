"""Resizing of images [batch, height, width, channels] at TensorFlow's pixel positions, by the kernels of `_resize`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from pipeline import _resize

_TABLE = 1024  # steps in which TensorFlow tabulates the cubic weights
_HELD = 256  # cached sizes: programs with random crops have many
_COPIES: dict[int, Callable[..., None]] = {
    1: _resize.nearest_8,
    2: _resize.nearest_16,
    4: _resize.nearest_32,
    8: _resize.nearest_64,
}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _scale(size: int, wanted: int, align_corners: bool) -> Any:
    if align_corners and wanted > 1:
        return np.float32(size - 1) / np.float32(wanted - 1)
    return np.float32(size) / np.float32(wanted)


def _positions(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> Any:
    """Return the position of each pixel of the result among those of the image, as float32."""
    scale = _scale(size, wanted, align_corners)
    numbers = np.arange(wanted, dtype=np.float32)
    half = np.float32(0.5)
    return (numbers + half) * scale - half if half_pixel else numbers * scale


@lru_cache(_HELD)
def _neighbours(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> tuple[Any, Any]:
    """Return the pixels before and after each position, [2, wanted], and how far it lies between them, from 0 to 1."""
    positions = _positions(size, wanted, align_corners, half_pixel)
    floor = np.floor(positions)
    pixels = np.stack((floor, np.ceil(positions))).clip(0, size - 1).astype(np.intp)
    return pixels, positions - floor


def _lines(images: Any) -> Any:
    """Return the images as [batch, height, width * channels], without a copy even for a part of an image."""
    batch, height, width, channels = images.shape
    lines = images.reshape(batch, height, width * channels)
    return lines if lines.strides[2] == lines.itemsize else np.ascontiguousarray(lines)


def _numbers(images: Any) -> Any:
    """Return the images as uint8 or float32, for the kernels."""
    return images if images.dtype == np.uint8 or images.dtype == np.float32 else images.astype(np.float32)


def bilinear(images: Any, height: int, width: int, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """Resize; each pixel is a weighted mean of the four around its position. Returns float32."""
    batch, before, across, channels = images.shape
    if (before, across) == (height, width):
        return images.astype(np.float32)
    rows, below = _neighbours(before, height, align_corners, half_pixel)
    columns, beside = _neighbours(across, width, align_corners, half_pixel)
    result = np.empty((batch, height, width * channels), np.float32)
    scratch = np.empty((2, width * channels), np.float32)
    lines = _lines(_numbers(images))
    kernel = _resize.bilinear_of_bytes if lines.dtype == np.uint8 else _resize.bilinear_of_floats
    if channels:
        kernel(lines, rows, below, columns, beside, channels, scratch, result)
    return result.reshape(batch, height, width, channels)


@lru_cache(_HELD)
def _nearest_pixels(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> Any:
    scale = _scale(size, wanted, align_corners)
    numbers = np.arange(wanted, dtype=np.float32)
    positions = (numbers + np.float32(0.5)) * scale if half_pixel else numbers * scale
    # Halves round up, not to even numbers.
    rounded = np.floor(positions + np.float32(0.5)) if align_corners else np.floor(positions)
    return np.clip(rounded, 0, size - 1).astype(np.intp)


def nearest(images: Any, height: int, width: int, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """Resize; each pixel is the nearest one. Returns the dtype of the images."""
    rows = _nearest_pixels(images.shape[1], height, align_corners, half_pixel)
    return copied(images, rows, _nearest_pixels(images.shape[2], width, align_corners, half_pixel))


def copied(images: Any, rows: Any, columns: Any) -> Any:
    """Return the pixels at some rows and columns."""
    batch, _, _, channels = images.shape
    result = np.empty((batch, len(rows), len(columns), channels), images.dtype)
    kind, copy = _UNSIGNED[images.itemsize], _COPIES[images.itemsize]
    if channels:
        copy(_lines(images).view(kind), rows, columns, channels, _lines(result).view(kind))
    return result


@lru_cache(2)
def _cubic_table(keys: bool) -> Any:
    """Return the weights of the nearer and the farther pixel for each of 1025 distances."""
    # Computed in float64 and then rounded, as in TensorFlow.
    a = -0.5 if keys else -0.75
    x = np.arange(_TABLE + 1) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return near.astype(np.float32), far.astype(np.float32)


@lru_cache(_HELD)
def _cubic_weights(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> tuple[Any, Any]:
    """Return four pixels for each position, and their weights; [4, wanted] each."""
    near, far = _cubic_table(half_pixel)
    positions = _positions(size, wanted, align_corners, half_pixel)
    floor = np.floor(positions)
    offsets = np.rint((positions - floor) * np.float32(_TABLE)).astype(np.intp)
    unclipped = floor.astype(np.intp) + np.arange(-1, 3)[:, None]
    indices = np.clip(unclipped, 0, size - 1)
    weights = np.stack((far[offsets], near[offsets], near[_TABLE - offsets], far[_TABLE - offsets]))
    if half_pixel:  # pixels beyond the border have no weight
        weights[indices != unclipped] = 0
        total = weights.sum(axis=0, dtype=np.float32)
        weights /= np.where(np.abs(total) >= 1000 * np.finfo(np.float32).tiny, total, np.float32(1))
    return indices, weights


def _weighted(images: Any, rows: Any, row_weights: Any, columns: Any, column_weights: Any, factor: float) -> Any:
    """Return weighted sums of rows and then of columns, given [taps, sums] of indices and of weights."""
    batch, _, across, channels = images.shape
    height, width = rows.shape[1], columns.shape[1]
    result = np.empty((batch, height, width * channels), np.float32)
    scratch = np.empty(across * channels, np.float32)
    lines = np.ascontiguousarray(_lines(_numbers(images)))
    kernel = _resize.weighted_of_bytes if lines.dtype == np.uint8 else _resize.weighted_of_floats
    if channels:
        kernel(lines, rows, row_weights, columns, column_weights, channels, factor, scratch, result)
    return result.reshape(batch, height, width, channels)


def bicubic(images: Any, height: int, width: int, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """Resize; each pixel is a cubic mean of the sixteen around its position. Returns float32."""
    rows = _cubic_weights(images.shape[1], height, align_corners, half_pixel)
    columns = _cubic_weights(images.shape[2], width, align_corners, half_pixel)
    return _weighted(images, *rows, *columns, 1)


@lru_cache(_HELD)
def _covered(size: int, wanted: int, align_corners: bool) -> tuple[Any, Any, Any]:
    """Return the pixels that each result covers, the covered parts, [taps, wanted] each, and the scale."""
    scale = _scale(size, wanted, align_corners)
    starts = np.arange(wanted, dtype=np.float32) * scale
    ends = np.arange(1, wanted + 1, dtype=np.float32) * scale
    first = np.floor(starts).astype(np.intp)
    taps = int((np.ceil(ends).astype(np.intp) - first).max())
    indices = first + np.arange(taps)[:, None]
    edges = indices.astype(np.float32)
    parts = np.minimum(edges + np.float32(1), ends) - np.maximum(edges, starts)
    # Beyond the border, the last pixel counts.
    return np.minimum(indices, size - 1), np.maximum(parts, np.float32(0)), scale


def area(images: Any, height: int, width: int, align_corners: bool = False) -> Any:
    """Resize by the mean of each pixel's area. Returns float32."""
    rows, row_parts, tall = _covered(images.shape[1], height, align_corners)
    columns, column_parts, wide = _covered(images.shape[2], width, align_corners)
    return _weighted(images, rows, row_parts, columns, column_parts, float(np.float32(1) / (tall * wide)))
