"""crop_and_resize: parts of images, cut out and resized."""

from __future__ import annotations

from typing import Any

import numpy as np


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
