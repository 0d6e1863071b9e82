"""Flip, rotate and transpose images and batches of images; flip them at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays import arranging
from pipeline.compat.ops.arrays.arranging import reverse
from pipeline.compat.ops.arrays.shaping import rank, reshape, shape
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.images.checks import checked_image, wrong_rank
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import equal, less
from pipeline.compat.ops.math.unary import round as round_
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid, show


def _by_rank(image: Any, single: Callable[[], Any], batch: Callable[[], Any]) -> Any:
    """The result of `single` for three axes, of `batch` for four; decided at run time if the rank is not static."""
    axes = image.get_shape().ndims
    if axes is None:
        return cond(equal(rank(image), 3), single, batch)
    if axes not in (3, 4):
        raise wrong_rank(image.get_shape())
    return single() if axes == 3 else batch()


def _like(image: Any, result: Any) -> Any:
    """The result with the image's static shape; three axes of any size if its rank is unknown."""
    result.set_shape([None, None, None] if image.get_shape().ndims is None else image.get_shape())
    return result


def _flip(image: Any, axis: int, name: str) -> Any:
    with name_scope(None, name, [image]):
        image = checked_image(convert_to_tensor(image, name="image"))
        return _by_rank(image, lambda: _like(image, reverse(image, [axis])), lambda: reverse(image, [axis + 1]))


def flip_left_right(image: Any) -> Tensor:
    """Mirror an image, or each image of a batch, horizontally; ValueError unless it has 3 or 4 axes."""
    return _flip(image, 1, "flip_left_right")  # type: ignore[no-any-return]


def flip_up_down(image: Any) -> Tensor:
    """Mirror an image, or each image of a batch, vertically; ValueError unless it has 3 or 4 axes."""
    return _flip(image, 0, "flip_up_down")  # type: ignore[no-any-return]


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Any:
    with name_scope(None, name, [image]) as scope:
        image = checked_image(convert_to_tensor(image, name="image"))

        def single() -> Any:
            number = random_uniform(shape=[], minval=0, maxval=1.0, seed=seed)
            made = cond(less(number, 0.5), lambda: reverse(image, [axis]), lambda: image, name=scope)
            return _like(image, made)

        def batch() -> Any:
            sizes: Any = shape(image)
            count = sizes[0]
            numbers: Any = random_uniform(shape=[count], minval=0, maxval=1.0, seed=seed)
            flips = cast(round_(reshape(numbers, [count, 1, 1, 1])), image.dtype)
            flipped = reverse(image, [axis + 1])
            return flips * flipped + (1 - flips) * image

        return _by_rank(image, single, batch)


def random_flip_left_right(image: Any, seed: Any = None) -> Tensor:
    """Mirror an image horizontally with probability 1/2; each image of a batch independently.

    Args:
        image: Any dtype, [height, width, channels] or a batch.
        seed: The op's seed.

    Raises:
        ValueError: It does not have 3 or 4 axes.
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")  # type: ignore[no-any-return]


def random_flip_up_down(image: Any, seed: Any = None) -> Tensor:
    """Mirror an image vertically with probability 1/2; otherwise as `random_flip_left_right`."""
    return _random_flip(image, 0, seed, "random_flip_up_down")  # type: ignore[no-any-return]


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Swap rows and columns of an image, or of each image of a batch; ValueError unless it has 3 or 4 axes."""
    with name_scope(name, "transpose", [image]):
        image = checked_image(convert_to_tensor(image, name="image"))
        return _by_rank(  # type: ignore[no-any-return]
            image,
            lambda: arranging.transpose(image, [1, 0, 2], name=name),
            lambda: arranging.transpose(image, [0, 2, 1, 3], name=name),
        )


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Rotate an image, or each image of a batch, counter-clockwise by `k` (a number or int32 scalar) times 90 degrees.

    Raises:
        ValueError: It does not have 3 or 4 axes, or `k` is not a scalar.
    """

    def rule(image: Tensor, k: Tensor) -> Any:
        check_rank(k, 0)
        sizes = image.shape.sizes
        return None if sizes is None else [*sizes[:-3], None, None, sizes[-1]]

    def kernel(image: Any, k: Any) -> Any:
        if np.ndim(image) not in (3, 4):
            raise invalid(f"'image' must have either 3 or 4 dimensions, got shape {show(np.shape(image))}")
        return np.rot90(image, int(k), (-3, -2))

    with name_scope(name, "rot90", [image, k]) as scope:
        image = checked_image(convert_to_tensor(image, name="image"))
        if image.get_shape().ndims not in (None, 3, 4):
            raise wrong_rank(image.get_shape())
        return tensor_op("Rot90", "image:T k:int32", [image, k], rule, kernel, scope)
