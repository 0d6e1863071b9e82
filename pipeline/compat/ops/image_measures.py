"""Numbers about images: how much they vary and differ, and where their edges are."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.arranging import tile
from pipeline.compat.ops.arrays.filling import zeros
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.joining import concat, stack, unstack
from pipeline.compat.ops.arrays.padding import pad
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import reshape, shape, shape_n, shape_of, size
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.images.colour import convert_image_dtype
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.ops.math.arithmetic import squared_difference, subtract
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import equal, greater_equal
from pipeline.compat.ops.math.nn import softmax
from pipeline.compat.ops.math.reducing import reduce_all, reduce_mean, reduce_sum
from pipeline.compat.ops.math.unary import abs as abs_
from pipeline.compat.ops.math.unary import log, square
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor

_DECIBELS: Any = np.float32(10 / np.log(10))


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Return the sum of the differences of all neighbouring pixels, of a tensor [height, width, channels] or a batch.

    Raises:
        ValueError: It has other than 3 or 4 axes.
    """
    with name_scope(name, "total_variation"):
        axes = images.get_shape().ndims
        if axes == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            across = images[:, 1:, :] - images[:, :-1, :]
        elif axes == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            across = images[:, :, 1:, :] - images[:, :, :-1, :]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        over = None if axes == 3 else [1, 2, 3]
        total: Any = reduce_sum(abs_(down), axis=over)
        return total + reduce_sum(abs_(across), axis=over)  # type: ignore[no-any-return]


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Return the differences to the pixel below and to the one beside, of a tensor [batch, height, width, channels].

    Raises:
        ValueError: It has other than 4 axes.
    """
    if image.get_shape().ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.get_shape()}.")
    sizes = shape(image)
    batch, height, width, depth = unstack(sizes)
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    row = stack([batch, 1, width, depth])
    down = reshape(concat([down, zeros(row, image.dtype)], 1), sizes)
    column = stack([batch, height, 1, depth])
    across = reshape(concat([across, zeros(column, image.dtype)], 2), sizes)
    return down, across


def _filtered(images: Any, filters: Any) -> Any:
    """Each channel with each of its filters, where they are within the image."""
    rows, columns, channels, count = filters.shape
    height, width = images.shape[1] - rows + 1, images.shape[2] - columns + 1
    made = np.zeros((len(images), max(height, 0), max(width, 0), channels, count), images.dtype)
    for y in range(rows):
        for x in range(columns):
            made += images[:, y : y + height, x : x + width, :, None] * filters[y, x]
    return made.reshape(*made.shape[:3], channels * count)


def _filter_each(images: Tensor, filters: Tensor, name: str = "depthwise") -> Tensor:
    def rule(images: Tensor, filters: Tensor) -> Any:
        check_rank(images, 4)
        check_rank(filters, 4)
        sizes, parts = images.shape.sizes or (None,) * 4, filters.shape.sizes or (None,) * 4
        inner = [None if a is None or b is None else a - b + 1 for a, b in zip(sizes[1:3], parts[:2], strict=True)]
        if any(each is not None and each < 0 for each in inner):
            raise ValueError("Negative dimension size caused by subtracting the filter from the image")
        channels = sizes[3] if parts[2] is None else parts[2]
        return [sizes[0], *inner, None if channels is None or parts[3] is None else channels * parts[3]]

    with name_scope(name, "depthwise", [images, filters]) as scope:
        # The sizes of the filter, and the steps between its elements.
        shape_of(filters, name="Shape", out_type=dtypes.int32)
        constant([1, 1], dtypes.int32, name="dilation_rate")
        floats = "(float16,bfloat16,float32,float64)"
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "explicit_paddings": [], "data_format": "NHWC"}
        attrs["dilations"] = [1, 1, 1, 1]
        definition = f"input:T{floats} filter:T"
        return tensor_op("DepthwiseConv2dNative", definition, [images, filters], rule, _filtered, scope, attrs)


def sobel_edges(image: Any) -> Tensor:
    """Return how much a float tensor [batch, height, width, channels] changes downwards and sidewards: [..., 2]."""
    known = image.get_shape()
    sizes: Any = shape(image)
    edge = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    filters = constant(np.stack((edge, edge.T), axis=-1)[:, :, None], dtype=image.dtype)
    filters = tile(filters, [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    made = reshape(_filter_each(padded, filters), shape=concat([sizes, [2]], 0))
    made.set_shape(known.concatenate([2]))
    return made


def _check_alike(first: Any, second: Any) -> list[Any]:
    """Operations that check that two tensors of images have the same last three sizes; ValueError if known not."""
    one, other = first.get_shape().with_rank_at_least(3), second.get_shape().with_rank_at_least(3)
    one[-3:].assert_is_compatible_with(other[-3:])
    if one.ndims is not None and other.ndims is not None:
        for a, b in zip(reversed(one.sizes[:-3]), reversed(other.sizes[:-3]), strict=False):
            if a != 1 and b != 1 and None not in (a, b) and a != b:
                raise ValueError(f"Two images are not compatible: {one} and {other}")
    sizes: list[Any] = shape_n([first, second])
    same = [Assert(greater_equal(size(sizes[0]), 3), sizes, summarize=10)]
    same.append(Assert(reduce_all(equal(sizes[0][-3:], sizes[1][-3:])), sizes, summarize=10))
    return same


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of images [..., height, width, channels] to others, in decibels.

    Args:
        a: A tensor of any number dtype.
        b: Another of the same shape.
        max_val: The largest value of a pixel less the least.
        name: Name of the scope.
    """
    with name_scope(name, "PSNR", [a, b]):
        largest = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
        a = convert_image_dtype(a, dtypes.float32)
        b = convert_image_dtype(b, dtypes.float32)
        error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        peak: Any = log(largest)
        peak = 20 * peak / log(10.0)
        ratio = subtract(peak, _DECIBELS * log(error), name="psnr")
        with control_dependencies(_check_alike(a, b)):
            return identity(ratio)  # type: ignore[no-any-return]


def _bell(count: Tensor, sigma: Any) -> Tensor:
    """A normal distribution over a square of `count` pixels each way."""
    places: Any = cast(range_(count), sigma.dtype)
    last: Any = count
    places -= cast(last - 1, sigma.dtype) / 2.0
    bell: Any = square(places)
    bell *= -0.5 / square(sigma)  # type: ignore[operator]
    bell = reshape(bell, shape=[1, -1]) + reshape(bell, shape=[-1, 1])  # type: ignore[operator]
    bell = softmax(reshape(bell, shape=[1, -1]))
    return reshape(bell, shape=[count, count, 1, 1])


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Return the structural similarity of images [..., height, width, channels] to others, 1 if they are the same.

    Args:
        img1: A tensor of any number dtype.
        img2: Another of the same shape.
        max_val: The largest value of a pixel less the least.
        filter_size: Over how many pixels each way means are taken.
        filter_sigma: Standard deviation of their weights.
        k1: Steadies the quotient of means.
        k2: Steadies the quotient of variances.
        return_index_map: Whether a value for each pixel is returned, and not their mean.
    """
    with name_scope(None, "SSIM", [img1, img2]):
        img1 = convert_to_tensor(img1, name="img1")
        img2 = convert_to_tensor(img2, name="img2")
        with control_dependencies(_check_alike(img1, img2)):
            img1 = identity(img1)
        largest: Any = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
        img1 = convert_image_dtype(img1, dtypes.float32)
        img2 = convert_image_dtype(img2, dtypes.float32)
        count = constant(filter_size, dtype=dtypes.int32)
        sigma = constant(filter_sigma, dtype=img1.dtype)
        sizes: list[Any] = shape_n([img1, img2])
        checks = [Assert(reduce_all(greater_equal(each[-3:-1], count)), [each, count], summarize=8) for each in sizes]
        with control_dependencies(checks):
            img1 = identity(img1)
        weights = tile(_bell(count, sigma), multiples=[1, 1, sizes[0][-1], 1])

        def means(values: Any) -> Any:
            before: Any = shape(values)
            values = reshape(values, shape=concat([[-1], before[-3:]], 0))
            after: Any = _filter_each(values, weights)
            return reshape(after, concat([before[:-3], shape(after)[1:]], 0))  # type: ignore[index]

        steady1, steady2 = (k1 * largest) ** 2, (k2 * largest) ** 2
        first, second = means(img1), means(img2)
        product = first * second * 2.0
        squares = square(first) + square(second)  # type: ignore[operator]
        luminance = (product + steady1) / (squares + steady1)
        both = means(img1 * img2) * 2.0
        each = means(square(img1) + square(img2))  # type: ignore[operator]
        steady2 *= 1.0
        contrast = (both - product + steady2) / (each - squares + steady2)
        if return_index_map:
            similarity = luminance * contrast
        else:
            axes = constant([-3, -2], dtype=dtypes.int32)
            similarity = reduce_mean(luminance * contrast, axes)
            reduce_mean(contrast, axes)  # TensorFlow makes it too: what follows has the same names
        made: Tensor = reduce_mean(similarity, [-1])
        return made
