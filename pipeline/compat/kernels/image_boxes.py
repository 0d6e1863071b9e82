"""Boxes in images: outlines drawn, and random crops that cover a box."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_COLOURS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def draw_boxes(images: Any, boxes: Any, colours: Any) -> Any:
    """Return the images with the outlines of boxes [y1, x1, y2, x2] (1 is the last pixel); 10 colours if None given."""
    height, width, depth = images.shape[1:]
    if colours is None:
        colours = _COLOURS.copy()
        if depth == 1:
            colours[:, 0] = 1
    colours = colours[:, :depth].astype(images.dtype)
    result = images.copy()
    last = np.array([height - 1, width - 1] * 2, np.float32)
    for image, its_boxes in zip(result, boxes, strict=True):
        for index, box in enumerate(its_boxes):
            top, left, bottom, right = (int(each) for each in box * last)
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
                continue
            colour = colours[index % len(colours)]
            rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
            if top >= 0:
                image[top, columns] = colour
            if bottom < height:
                image[bottom, columns] = colour
            if left >= 0:
                image[rows, left] = colour
            if right < width:
                image[rows, right] = colour
    return result


def _drawn(generator: np.random.Generator, low: int, limit: int) -> int:
    """Draw an integer: `generator.integers` takes ten times as long for a single one."""
    return low + int(generator.random() * (limit - low))


def _crop_size(
    generator: np.random.Generator, size: tuple[int, int], areas: tuple[float, float], aspect: float
) -> tuple[int, int] | None:
    """Return height and width of a random part of that aspect, with an area within the limits; None if impossible."""
    height, width = size
    low, high = areas[0] * height * width, areas[1] * height * width
    rows, most = round(math.sqrt(low / aspect)), round(math.sqrt(high / aspect))
    if round(most * aspect) > width:
        most = int((width + 0.5 - 1e-7) / aspect)
        if round(most * aspect) > width:
            most -= 1
    most = min(most, height)
    rows = _drawn(generator, rows, most + 1) if rows < most else most
    columns = round(rows * aspect)
    if rows * columns < low:
        rows += 1
        columns = round(rows * aspect)
    if rows * columns > high:
        rows -= 1
        columns = round(rows * aspect)
    fits = low <= rows * columns <= high and 0 < columns <= width and 0 < rows <= height
    return (rows, columns) if fits else None


def _covers(crop: tuple[int, int, int, int], boxes: list[tuple[int, int, int, int]], min_covered: float) -> bool:
    """Whether the part contains at min_covered that fraction of one of the boxes."""
    top, left, bottom, right = crop
    for y1, x1, y2, x2 in boxes:
        area = (y2 - y1) * (x2 - x1)
        inner = max(min(bottom, y2) - max(top, y1), 0) * max(min(right, x2) - max(left, x1), 0)
        if area >= 1 and inner / area >= min_covered:
            return True
    return False


def sample_part(
    generator: np.random.Generator,
    size: tuple[int, int],
    boxes: list[tuple[int, int, int, int]],
    min_covered: float,
    limits: tuple[tuple[float, float], tuple[float, float], int],
) -> tuple[int, int, int, int]:
    """Return a random part of an image that covers enough of a box, or the whole image if none is found.

    Args:
        generator: Draws the part.
        size: Height and width of the image.
        boxes: In pixels: top, left, bottom, right.
        min_covered: The fraction of a box that the part must contain.
        limits: The ranges of aspect ratio and relative area, and the number of attempts.

    Returns:
        Top, left, bottom, right.
    """
    aspects, areas, attempts = limits
    height, width = size
    for _ in range(attempts):
        aspect = float(generator.random()) * (aspects[1] - aspects[0]) + aspects[0]
        if height <= 0 or width <= 0 or aspect <= 0:
            break
        found = _crop_size(generator, size, areas, aspect)
        if found is None:
            continue
        rows, columns = found
        top = _drawn(generator, 0, height - rows) if rows < height else 0
        left = _drawn(generator, 0, width - columns) if columns < width else 0
        part = (top, left, top + rows, left + columns)
        if _covers(part, boxes, min_covered):
            return part
    return 0, 0, height, width
