"""Resizing of images [batch, height, width, channels], one axis after the other, at TensorFlow's pixel positions."""

from __future__ import annotations

from typing import Any

import numpy as np

_TABLE = 1024  # steps in which TensorFlow tabulates the cubic weights
_tables: dict[bool, Any] = {}


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


def _neighbours(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> tuple[Any, Any, Any]:
    """Return the pixels before and after each position, and how far it lies between them, from 0 to 1."""
    positions = _positions(size, wanted, align_corners, half_pixel)
    floor = np.floor(positions)
    lower = np.maximum(floor, 0).astype(np.intp)
    upper = np.minimum(np.ceil(positions), size - 1).astype(np.intp)
    return np.minimum(lower, size - 1), upper, positions - floor


def _flat(images: Any) -> Any:
    """Return the images as float32 [batch, height, width * channels]."""
    batch, height, width, channels = images.shape
    return images.reshape(batch, height, width * channels).astype(np.float32, copy=False)


def _flat_columns(columns: Any, channels: int) -> Any:
    """Return the indices of all channels of some columns in a flat row: NumPy copies them faster than whole pixels."""
    return (columns[:, None] * channels + np.arange(channels)).ravel()


def _interpolated_rows(rows: Any, low: Any, high: Any, part: Any) -> Any:
    first = rows.take(low, axis=1, mode="clip")
    result = rows.take(high, axis=1, mode="clip")
    result -= first
    result *= part[:, None]
    result += first
    return result


def _interpolated_columns(rows: Any, low: Any, high: Any, part: Any, channels: int) -> Any:
    first = rows.take(_flat_columns(low, channels), axis=2, mode="clip")
    result = rows.take(_flat_columns(high, channels), axis=2, mode="clip")
    result -= first
    result *= np.repeat(part, channels)
    result += first
    return result


def bilinear(images: Any, height: int, width: int, align_corners: bool, half_pixel: bool) -> Any:
    """Resize; each pixel is a weighted mean of the four around its position. Returns float32."""
    top, bottom, below = _neighbours(images.shape[1], height, align_corners, half_pixel)
    left, right, beside = _neighbours(images.shape[2], width, align_corners, half_pixel)
    channels = images.shape[3]
    if 2 * height < images.shape[1]:  # most rows are not used
        images = images[:, np.concatenate((top, bottom))]
        top, bottom = np.arange(height), np.arange(height, 2 * height)
    across = _interpolated_columns(_flat(images), left, right, beside, channels)
    return _interpolated_rows(across, top, bottom, below).reshape(len(images), height, width, channels)


def _nearest_pixels(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> Any:
    scale = _scale(size, wanted, align_corners)
    numbers = np.arange(wanted, dtype=np.float32)
    positions = (numbers + np.float32(0.5)) * scale if half_pixel else numbers * scale
    # Halves round up, not to even numbers.
    rounded = np.floor(positions + np.float32(0.5)) if align_corners else np.floor(positions)
    return np.clip(rounded, 0, size - 1).astype(np.intp)


def nearest(images: Any, height: int, width: int, align_corners: bool, half_pixel: bool) -> Any:
    """Resize; each pixel is the nearest one. Returns the dtype of the images."""
    rows = _nearest_pixels(images.shape[1], height, align_corners, half_pixel)
    columns = _nearest_pixels(images.shape[2], width, align_corners, half_pixel)
    return images[:, rows][:, :, columns]


def _cubic_table(keys: bool) -> Any:
    """Return the weights of the nearer and the farther pixel for each of 1025 distances."""
    if keys not in _tables:
        # Computed in float64 and then rounded, as in TensorFlow.
        a = -0.5 if keys else -0.75
        x = np.arange(_TABLE + 1) / _TABLE
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        x = x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        _tables[keys] = (near.astype(np.float32), far.astype(np.float32))
    return _tables[keys]


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


def _weighted_rows(rows: Any, indices: Any, weights: Any) -> Any:
    """Return weighted sums of rows; `indices` and `weights` are [taps, sums]."""
    total: Any = None
    for index, weight in zip(indices, weights, strict=True):
        each = rows.take(index, axis=1, mode="clip")
        each *= weight[:, None]
        total = each if total is None else np.add(total, each, out=total)
    return total


def _weighted_columns(rows: Any, indices: Any, weights: Any, channels: int) -> Any:
    total: Any = None
    for index, weight in zip(indices, weights, strict=True):
        each = rows.take(_flat_columns(index, channels), axis=2, mode="clip")
        each *= np.repeat(weight, channels)
        total = each if total is None else np.add(total, each, out=total)
    return total


def bicubic(images: Any, height: int, width: int, align_corners: bool, half_pixel: bool) -> Any:
    """Resize; each pixel is a cubic mean of the sixteen around its position. Returns float32."""
    batch, before, across, channels = images.shape
    rows = _weighted_rows(_flat(images), *_cubic_weights(before, height, align_corners, half_pixel))
    result = _weighted_columns(rows, *_cubic_weights(across, width, align_corners, half_pixel), channels)
    return result.reshape(batch, height, width, channels)


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


def area(images: Any, height: int, width: int, align_corners: bool) -> Any:
    """Resize; each pixel is the mean of the area that it covers. Returns float32."""
    batch, before, across, channels = images.shape
    indices, parts, tall = _covered(before, height, align_corners)
    rows = _weighted_rows(_flat(images), indices, parts)
    indices, parts, wide = _covered(across, width, align_corners)
    result = _weighted_columns(rows, indices, parts, channels)
    result *= np.float32(1) / (tall * wide)
    return result.reshape(batch, height, width, channels)


def crop_and_resize(images: Any, boxes: Any, which: Any, size: Any, method: str, outside: float) -> Any:
    """Cut out each box [y1, x1, y2, x2] (1 is the last pixel) and resize it.

    Args:
        images: The images.
        boxes: [boxes, 4].
        which: The index of each box's image.
        size: Height and width of all results.
        method: "nearest" or "bilinear".
        outside: The value of pixels beyond the image.

    Returns:
        float32 [boxes, height, width, channels].
    """
    height, width = size
    result = np.full((len(boxes), height, width, images.shape[3]), outside, np.float32)
    for index, (box, image) in enumerate(zip(boxes, which, strict=True)):
        rows, good_rows = _positions_within(images.shape[1], height, box[0], box[2])
        columns, good_columns = _positions_within(images.shape[2], width, box[1], box[3])
        if not len(rows) or not len(columns):
            continue
        if method == "nearest":
            picked = images[image][_round_half_up(rows)][:, _round_half_up(columns)].astype(np.float32)
        else:
            left, right = np.floor(columns).astype(np.intp), np.ceil(columns).astype(np.intp)
            top, bottom = np.floor(rows).astype(np.intp), np.ceil(rows).astype(np.intp)
            beside, below = (columns - left.astype(np.float32))[:, None], (rows - top.astype(np.float32))[:, None, None]
            source = images[image]
            above, under = source[top].astype(np.float32), source[bottom].astype(np.float32)
            above = above[:, left] + (above[:, right] - above[:, left]) * beside
            under = under[:, left] + (under[:, right] - under[:, left]) * beside
            picked = above + (under - above) * below
        result[index][np.ix_(good_rows, good_columns)] = picked
    return result


def _round_half_up(positions: Any) -> Any:
    return np.floor(positions + np.float32(0.5)).astype(np.intp)


def _positions_within(size: int, wanted: int, start: Any, end: Any) -> tuple[Any, Any]:
    """Return the positions that lie within the image, and their indices in the result."""
    start, end, last = np.float32(start), np.float32(end), np.float32(size - 1)
    if wanted > 1:
        step = (end - start) * last / np.float32(wanted - 1)
        positions = start * last + np.arange(wanted, dtype=np.float32) * step
    else:
        positions = np.array([np.float32(0.5) * (start + end) * last], np.float32)
    good = np.flatnonzero((positions >= 0) & (positions <= last))
    return positions[good], good
