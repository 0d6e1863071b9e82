"""Checks of the shapes of images: at once where a shape is static, else by ops that the results wait for."""

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
    """Whether the value is known only at run time."""
    return isinstance(value, (Tensor, Variable))


def require(condition: Any, message: str) -> list[Any]:
    """Check a condition: raise ValueError for a false Python value; for a tensor return a list of one Assert op."""
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def dimensions(image: Any, count: int) -> list[Any]:
    """The sizes of an image with `count` axes: ints where they are static, else scalar tensors."""
    known = image.get_shape()
    if known.is_fully_defined():
        return list(known.sizes)
    sizes = known.with_rank(count).sizes
    found = unstack(shape(image), count)
    return [size if size is not None else each for size, each in zip(sizes, found, strict=True)]


def check_image(image: Any) -> list[Any]:
    """Return ops that check that an image or batch of images has at least three axes and is not empty.

    Raises:
        ValueError: It is known to have fewer than three axes, or to be empty.
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
    """The image, available only after the checks of `check_image`."""
    return with_dependencies(check_image(image), image)


def checked_gray(image: Any) -> Any:
    """The image, available only after a check that its last axis has size 1.

    Raises:
        ValueError: It is known to have another size.
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
    """The image as a batch, and whether it was a batch; an unknown rank counts as a single image.

    Raises:
        ValueError: It does not have three or four axes.
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


def batch_for_target(image: Any, target_height: Any, target_width: Any) -> tuple[Any, bool, list[Any]]:
    """As `as_batch`, after checks of the image and of the size that it is to get; also returns the checks.

    Raises:
        ValueError: The image does not have three or four axes, or the size is known not to be positive.
    """
    image, is_batch = as_batch(image)
    checks = check_image(image)
    checks += require(target_width > 0, "target_width must be > 0.")
    checks += require(target_height > 0, "target_height must be > 0.")
    return with_dependencies(checks, image), is_batch, checks


def larger(x: Any, y: Any) -> Any:
    """The larger of two sizes: a number if both are numbers, else a tensor."""
    return maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def wrong_rank(known: Any) -> ValueError:
    """The error for an image that does not have three or four axes."""
    return ValueError(f"'image' (shape {known}) must have either 3 or 4 dimensions.")
