"""Bounding boxes in images: draw their outlines, choose a random crop covering one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, convert_inputs, tensor_op
from pipeline.compat.ops.random.numbers import RandomKernel
from pipeline.errors import invalid, show


def size_along(tensor: Tensor, axis: int, rank: int) -> int | None:
    """Return the static size along an axis; ValueError if the tensor is known to have another rank."""
    check_rank(tensor, rank)
    return None if tensor.shape.sizes is None else tensor.shape.sizes[axis]


def must_be(size: int | None, wanted: int) -> None:
    """Raise ValueError for a static size other than `wanted`."""
    if size not in (None, wanted):
        raise ValueError(f"Dimension must be {wanted} but is {size}")


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Return a batch of images with box outlines drawn in.

    Args:
        images: float32 or float16 [batch, height, width, 1, 3 or 4].
        boxes: float32 [batch, boxes, 4]: y1, x1, y2, x2; 0 is the first pixel and 1 the last one.
        name: Name of the op.
        colors: float32 [colors, channels], used in turn; ten default colours by default.

    Raises:
        ValueError: A shape is known to be different.
    """

    def rule(images: Tensor, boxes: Tensor, *_: Tensor) -> Any:
        depth = size_along(images, 3, 4)
        must_be(size_along(boxes, 2, 3), 4)
        if depth not in (None, 1, 3, 4):
            raise ValueError("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
        return images.shape

    def kernel(images: Any, boxes: Any, colours: Any = None) -> Any:
        if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
            raise invalid("The rank of the images should be 4, and the channel depth 1 (GRY), 3 (RGB), or 4 (RGBA)")
        if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) != len(images):
            raise invalid(f"The boxes must be [{len(images)}, boxes, 4], not {show(boxes.shape)}")
        if colours is not None:
            if colours.ndim != 2 or colours.shape[1] < images.shape[3]:
                raise invalid(f"colors must have equal or more channels than the image provided: {show(colours.shape)}")
            colours = colours if colours.size else None
        return draw_boxes(images, boxes, colours)

    definition = "images:T(float32,float16)=float32 boxes:float32"
    if colors is None:
        return tensor_op("DrawBoundingBoxes", definition, [images, boxes], rule, kernel, name)
    values = [images, boxes, colors]
    return tensor_op("DrawBoundingBoxesV2", definition + " colors:float32", values, rule, kernel, name)


def _random_op(
    op_type: str, definition: str, values: Any, rule: Any, draw: Any, seeds: tuple[int, int], attrs: Any, name: Any
) -> list[Tensor]:
    """Return the outputs of an op with random numbers; its kernel is `draw(generator, *values)`."""
    with name_scope(name, op_type, [values]) as scope:
        tensors, found = convert_inputs(op_type, definition, values)
        try:
            outputs = rule(*tensors)
        except ValueError as error:
            raise ValueError(f"{error} for '{scope.rstrip('/')}' (op: '{op_type}')") from None
        kernel = RandomKernel(draw, seeds)
        return node(op_type, tensors, outputs, kernel, scope, {**found, **attrs}, stateful=True).outputs


def _range(value: Any, default: tuple[float, float]) -> tuple[float, ...]:
    return default if value is None else tuple(float(each) for each in value)


class SampleDistortedBoundingBoxV2(NamedTuple):
    """The result of `sample_distorted_bounding_box`."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBoxV2:
    """Choose a random crop that covers enough of a box.

    Args:
        image_size: An integer vector: height, width, channels.
        bounding_boxes: float32 [batch, boxes, 4]: y1, x1, y2, x2, in 0 to 1.
        seed: The op's first seed; the graph's seed is not used.
        seed2: The op's second seed.
        min_object_covered: The fraction of a box the crop must cover.
        aspect_ratio_range: Smallest and largest ratio of width to height; (0.75, 1.33) by default.
        area_range: Smallest and largest fraction of the image's area; (0.05, 1.0) by default.
        max_attempts: After this many attempts (100 by default) the whole image is chosen.
        use_image_if_no_bounding_boxes: Without boxes, use the whole image as the box instead of raising an error.
        name: Name of the op and its scope.

    Returns:
        `begin` and `size` for `tf.slice`, and the crop as a box, float32 [1, 1, 4].

    Raises:
        InvalidArgumentError: At run time, if an argument is out of range, or there are no boxes.
    """
    aspects, areas = _range(aspect_ratio_range, (0.75, 1.33)), _range(area_range, (0.05, 1.0))
    attempts = 100 if max_attempts is None else int(max_attempts)
    whole, seeds = bool(use_image_if_no_bounding_boxes), (int(seed or 0), int(seed2 or 0))
    limits: Any = (aspects, areas, attempts)

    def rule(size: Tensor, boxes: Tensor, covered: Tensor) -> Any:
        must_be(size_along(size, 0, 1), 3)
        must_be(size_along(boxes, 2, 3), 4)
        check_rank(covered, 0)
        kind = size.dtype.base_dtype
        return [(kind, [3]), (kind, [3]), (dtypes.float32, [1, 1, 4])]

    def draw(generator: np.random.Generator, size: Any, boxes: Any, covered: Any) -> Any:
        _check_ranges(*limits)
        _check_sampling(size, boxes, covered, whole)
        return _sampled(generator, size, boxes, float(covered), limits)

    attrs = {"seed": seeds[0], "seed2": seeds[1], "aspect_ratio_range": list(aspects), "area_range": list(areas)}
    attrs |= {"max_attempts": attempts, "use_image_if_no_bounding_boxes": whole}
    definition = "image_size:T(uint8,int8,int16,int32,int64) bounding_boxes:float32 min_object_covered:float32"
    with name_scope(name, "sample_distorted_bounding_box", [image_size, bounding_boxes]):
        values = [image_size, bounding_boxes, min_object_covered]
        made = _random_op("SampleDistortedBoundingBoxV2", definition, values, rule, draw, seeds, attrs, name)
        return SampleDistortedBoundingBoxV2(*made)


def _check_ranges(aspects: Sequence[float], areas: Sequence[float], attempts: int) -> None:
    if len(aspects) != 2 or min(aspects) <= 0:
        raise invalid("Aspect ratio range must be two positive numbers")
    if len(areas) != 2 or min(areas) <= 0 or max(areas) > 1:
        raise invalid("Area range must be two numbers above 0.0 and at most 1.0")
    if attempts <= 0:
        raise invalid(f"Max attempts must be positive: {attempts}")


def _check_sampling(size: Any, boxes: Any, covered: Any, whole: bool) -> None:
    if size.shape != (3,) or np.ndim(covered) or not covered >= 0:
        raise invalid("image_size must be 1-D containing 3 elements, and min_object_covered at least 0.0")
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise invalid(f"input boxes must be 3-dimensional [batch, num_boxes, coords]: {show(boxes.shape)}")
    if not boxes.size and not whole:
        text = "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes"
        raise invalid(text + " if you wish to not provide any bounding boxes.")
    if np.any((boxes < 0) | (boxes > 1)):
        raise invalid("All bounding box coordinates must be in [0.0, 1.0]")


def _sampled(generator: np.random.Generator, size: Any, boxes: Any, covered: float, limits: Any) -> Any:
    """Return begin, size and box of the chosen crop."""
    height, width = int(size[0]), int(size[1])
    whole_size = np.array([height, width] * 2, np.float32)
    pixels: Any = [tuple(int(each) for each in box) for box in boxes.reshape(-1, 4) * whole_size]
    pixels = pixels or [(0, 0, height, width)]
    top, left, bottom, right = sample_part(generator, (height, width), pixels, covered, limits)
    begin = np.array([top, left, 0], size.dtype)
    with np.errstate(all="ignore"):
        box = np.array([top, left, bottom, right], np.float32) / whole_size
    extent = np.array([bottom - top, right - left, -1]).astype(size.dtype)
    return begin, extent, box.reshape(1, 1, 4)


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
    """Return the images with outlines for boxes [y1, x1, y2, x2] (1 is the last pixel); 10 default colours."""
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
    """Draw an integer; `generator.integers` takes ten times as long for a single one."""
    return low + int(generator.random() * (limit - low))


def _crop_size(
    generator: np.random.Generator, size: tuple[int, int], areas: tuple[float, float], aspect: float
) -> tuple[int, int] | None:
    """Return a random crop's (height, width) with this aspect ratio and an area within the limits, or None."""
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
    """Return whether the crop contains at least the fraction min_covered of any box."""
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
    """Return a random crop that covers enough of a box, or the whole image if none is found.

    Args:
        generator: Random generator.
        size: Image height and width.
        boxes: Top, left, bottom, right in pixels.
        min_covered: The fraction of a box the crop must contain.
        limits: Ranges for aspect ratio and relative area, and the number of attempts.

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
