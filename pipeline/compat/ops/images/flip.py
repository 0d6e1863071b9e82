"""Flip, rotate and transpose images and image batches; flip them at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int32
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.images.checks import check_image, checked_shape
from pipeline.compat.ops.making.opdef import tensor_op
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.images.parts import mirrored

_ROWS, _COLUMNS = -3, -2  # image axes, also in a batch


def _turned(
    op_type: str, image: Tensor, turn: Callable[..., Any], name: str | None, others: Any = (), sizes: Any = None
) -> Tensor:
    """Make the operation that turns an image, or each image in a batch.

    Args:
        op_type: Its type.
        image: The image, or a batch.
        turn: Computes the result from the image and the other inputs.
        name: Its name.
        others: The other inputs.
        sizes: Computes the result's static sizes from the image's, which are the default.
    """
    given = checked_shape(image)

    def kernel(image: Any, *values: Any) -> Any:
        check_image(image)
        return turn(image, *values)

    def rows(is_row: tuple[bool, ...], image: Any) -> Any:
        check_image(image[0])
        return turn(image)

    definition = "image:T " + " ".join(f"other{at}:T{at}" for at in range(len(others)))

    def rule(image: Tensor, *_: Tensor) -> Any:
        return None if image.shape.ndims is None else given if sizes is None else sizes(given)

    return tensor_op(op_type, definition, [image, *others], rule, kernel, name, rows=None if others else rows)


def _flipped(image: Any, axis: int) -> Any:
    return mirrored(image, image.ndim + axis)


def _flip(image: Any, axis: int, name: str) -> Tensor:
    with name_scope(None, name, [image]) as scope:
        image = convert_to_tensor(image, name="image")
        return _turned("ImageFlip", image, lambda image: _flipped(image, axis), scope)


def flip_left_right(image: Any) -> Tensor:
    """Mirror an image, or each image in a batch, horizontally; ValueError unless it has 3 or 4 axes."""
    return _flip(image, _COLUMNS, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Mirror an image, or each image in a batch, vertically; ValueError unless it has 3 or 4 axes."""
    return _flip(image, _ROWS, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Tensor:
    def turn(image: Any, number: Any) -> Any:
        if image.ndim == 3:
            return _flipped(image, axis) if number < 0.5 else image
        made = image.copy()
        made[number > 0.5] = np.flip(image[number > 0.5], axis)
        return made

    with name_scope(None, name, [image]) as scope:
        image = convert_to_tensor(image, name="image")
        sizes = checked_shape(image)
        count: Any = [] if image.shape.ndims == 3 else [sizes[0]] if sizes[0] is not None else shape(image)[:-3]  # type: ignore[index]
        return _turned("ImageRandomFlip", image, turn, scope, [random_uniform(count, seed=seed)])


def random_flip_left_right(image: Any, seed: Any = None) -> Tensor:
    """Mirror an image horizontally with probability 1/2; in a batch each image independently.

    Args:
        image: Any dtype, [height, width, channels] or a batch.
        seed: The op's seed.

    Raises:
        ValueError: It does not have 3 or 4 axes.
    """
    return _random_flip(image, _COLUMNS, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: Any = None) -> Tensor:
    """Mirror an image vertically with probability 1/2; otherwise as `random_flip_left_right`."""
    return _random_flip(image, _ROWS, seed, "random_flip_up_down")


def _swapped(sizes: tuple[int | None, ...]) -> list[int | None]:
    return [*sizes[:-3], sizes[-2], sizes[-3], sizes[-1]]


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Swap rows and columns in an image, or in each image in a batch; ValueError unless it has 3 or 4 axes."""
    with name_scope(name, "transpose", [image]) as scope:
        image = convert_to_tensor(image, name="image")
        return _turned("ImageTranspose", image, lambda x: np.swapaxes(x, _ROWS, _COLUMNS), scope, sizes=_swapped)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Rotate an image, or each image in a batch, counter-clockwise by `k` (a number or int32 scalar) times 90 degrees.

    Raises:
        ValueError: It does not have 3 or 4 axes, or `k` is not a scalar.
    """

    def sizes(given: tuple[int | None, ...]) -> list[int | None]:
        return [*given[:-3], None, None, given[-1]]

    with name_scope(name, "rot90", [image, k]) as scope:
        image = convert_to_tensor(image, name="image")
        k = convert_to_tensor(k, dtype=int32, name="k")
        k.get_shape().assert_has_rank(0)
        return _turned("ImageRot90", image, lambda x, k: np.rot90(x, int(k), (_ROWS, _COLUMNS)), scope, [k], sizes)
