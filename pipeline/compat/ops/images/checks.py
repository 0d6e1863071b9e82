"""Checks of images' shapes: at once where a shape is known, else by operations that what is made of them waits for."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import expand_dims, rank, shape
from pipeline.compat.ops.arrays.stacking import unstack
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.checks import assert_equal, assert_greater_equal, assert_positive
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.variables.variable import Variable
from pipeline.compat.values.convert import convert_to_tensor


def is_tensor(value: Any) -> bool:
    """Whether it is known only when run."""
    return isinstance(value, (Tensor, Variable))


def require(condition: Any, message: str) -> list[Any]:
    """Check a condition: ValueError if it is a false Python value; the operation that checks a tensor, in a list."""
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def dimensions(image: Any, count: int) -> list[Any]:
    """The sizes of an image of `count` axes: numbers where they are known, else scalar tensors."""
    known = image.get_shape()
    if known.is_fully_defined():
        return list(known.sizes)
    sizes = known.with_rank(count).sizes
    found = unstack(shape(image), count)
    return [size if size is not None else each for size, each in zip(sizes, found, strict=True)]


def check_image(image: Any) -> list[Any]:
    """Operations that check that an image, or batch of images, has three axes and pixels.

    Raises:
        ValueError: It is known to have less than three axes, or none of a size.
    """
    known = image.get_shape()
    if known.sizes is None:
        known = unknown_shape(3)
    elif len(known.sizes) < 3:
        raise ValueError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    inner = known.sizes[-3:]
    if 0 in inner:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {known}")
    if None not in inner:
        return []
    sizes: Any = shape(image)
    return [
        assert_positive(sizes[-3:], ["inner 3 dims of 'image.shape' must be > 0."]),
        assert_greater_equal(rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def checked_image(image: Any) -> Any:
    """The image, to be had after its checks; see `check_image`."""
    return with_dependencies(check_image(image), image)


def checked_gray(image: Any) -> Any:
    """The image, to be had after checks that its last axis has size 1.

    Raises:
        ValueError: It is known to have another.
    """
    known = image.get_shape()
    if known.sizes is None:
        known = unknown_shape(2)
    elif len(known.sizes) < 2:
        raise ValueError(f"A grayscale image (shape {image.shape}) must be at least two-dimensional.")
    text = "Last dimension of a grayscale image should be size 1."
    checks: list[Any] = []
    if not known.is_fully_defined():
        sizes: Any = shape(image)
        checks.append(assert_equal(sizes[-1], 1, message=text))
        least = "A grayscale image must be at least two-dimensional."
        checks.append(assert_greater_equal(rank(image), 3, message=least))
    elif known.sizes[-1] != 1:
        raise ValueError(text)
    return with_dependencies(checks, image)


def as_batch(image: Any) -> tuple[Any, bool]:
    """The image as a batch, and whether it was one; it counts as single where its rank is not known.

    Raises:
        ValueError: It has other than three or four axes.
    """
    image = convert_to_tensor(image, name="image")
    known = image.get_shape()
    if known.ndims == 4:
        return image, True
    if known.ndims not in (None, 3):
        raise wrong_rank(known)
    image = expand_dims(image, 0)
    if known.ndims is None:
        image.set_shape([None] * 4)
    return image, False


def largest(x: Any, y: Any) -> Any:
    """The larger of two sizes: a number if both are, else a tensor."""
    return maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def wrong_rank(known: Any) -> ValueError:
    """The error for an image that has other than three or four axes."""
    return ValueError(f"'image' (shape {known}) must have either 3 or 4 dimensions.")
