"""Blocks of images: as channels (space_to_depth), back again, and the patches under a sliding window."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import renamed
from pipeline.compat.ops.making.opdef import check_rank, failing_at_run_time, tensor_op


def _divided(size: int | None, by: int) -> int | None:
    if size is not None and size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return None if size is None else size // by


def _times(size: int | None, by: int) -> int | None:
    return None if size is None else size * by


def _check_format(data_format: str, block_size: int) -> bool:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"Value for attr 'data_format' of \"{data_format}\" is not supported: NHWC or NCHW")
    if block_size < 2:
        raise ValueError(f"Attr 'block_size' passed {block_size} less than minimum 2.")
    return data_format == "NCHW"


def _on_images(channels_first: bool, function: Any) -> Any:
    """Turn a function of images with channels last into a kernel; its ValueErrors become run-time errors."""

    def kernel(value: Any) -> Any:
        made = function(np.moveaxis(value, 1, 3) if channels_first else value)
        return np.ascontiguousarray(np.moveaxis(made, 3, 1) if channels_first else made)

    return failing_at_run_time(kernel)


def _block_op(
    op_type: str, input: Any, size: int, name: str | None, data_format: str, sizes: Any, kernel: Any
) -> Tensor:
    first = _check_format(data_format, size)

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 4)
        known = tensor.shape.sizes or (None,) * 4
        if first:
            batch, height, width, depth = sizes(known[0], known[2], known[3], known[1])
            return batch, depth, height, width
        return sizes(*known)

    attrs = {"block_size": size, "data_format": data_format.encode()}
    return tensor_op(op_type, "input:T", [input], rule, _on_images(first, kernel), name, attrs)


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Return images with each square block moved into the channels."""

    def sizes(batch: Any, height: Any, width: Any, depth: Any) -> Any:
        return batch, _divided(height, block_size), _divided(width, block_size), _times(depth, block_size**2)

    def kernel(images: Any) -> Any:
        shape = sizes(*images.shape)
        parts = images.reshape(shape[0], shape[1], block_size, shape[2], block_size, images.shape[3])
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(shape)

    return _block_op("SpaceToDepth", input, block_size, name, data_format, sizes, kernel)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Return images with the channels moved back into square blocks: the inverse of `space_to_depth`."""

    def sizes(batch: Any, height: Any, width: Any, depth: Any) -> Any:
        return batch, _times(height, block_size), _times(width, block_size), _divided(depth, block_size**2)

    def kernel(images: Any) -> Any:
        shape = sizes(*images.shape)
        parts = images.reshape(*images.shape[:3], block_size, block_size, shape[3])
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(shape)

    return _block_op("DepthToSpace", input, block_size, name, data_format, sizes, kernel)


class _Window(NamedTuple):
    """A window that slides over images; each list is [1, rows, columns, 1]."""

    sizes: list[int]
    strides: list[int]
    rates: list[int]
    padding: str

    def span(self, axis: int) -> int:
        """Return how many pixels the window covers along an axis (1 or 2)."""
        return (self.sizes[axis] - 1) * self.rates[axis] + 1

    def places(self, size: int | None, axis: int) -> int | None:
        """Return how many places the window takes along an axis; ValueError if it does not fit."""
        if size is None:
            return None
        free = size if self.padding == "SAME" else size - self.span(axis) + 1
        if self.padding == "VALID" and free < 0:
            raise ValueError(f"Computed output size would be negative: {free}")
        return -(-free // self.strides[axis])

    def under(self, count: int, offset: int, axis: int) -> slice:
        """Return the pixels along an axis that lie under element `offset` of the window at its `count` places."""
        first = offset * self.rates[axis]
        return slice(first, max(first + (count - 1) * self.strides[axis] + 1, first), self.strides[axis])


def _extract(window: _Window, images: Any) -> Any:
    counts = [window.places(images.shape[axis], axis) or 0 for axis in (1, 2)]
    if window.padding == "SAME":
        around = []
        for axis, count in enumerate(counts, 1):
            missing = max((count - 1) * window.strides[axis] + window.span(axis) - images.shape[axis], 0)
            around.append((missing // 2, missing - missing // 2))
        images = np.pad(images, [(0, 0), *around, (0, 0)])
    parts = [
        images[:, window.under(counts[0], row, 1), window.under(counts[1], column, 2)]
        for row in range(window.sizes[1])
        for column in range(window.sizes[2])
    ]
    return np.concatenate(parts, axis=3)


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Return the patches of images under a sliding window, each flattened into the depth of one place.

    Args:
        images: [batch, height, width, depth].
        ksizes: [1, rows, columns, 1], the size of the window; also `sizes`.
        strides: [1, rows, columns, 1], how far the window moves.
        rates: [1, rows, columns, 1], how far apart the pixels under the window are.
        padding: "VALID", or "SAME" for zeros around the images.
        name: Name of the op.
        sizes: Other name of `ksizes`.
    """
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: SAME, VALID")
    given = [[int(each) for each in numbers] for numbers in (renamed("sizes", sizes, "ksizes", ksizes), strides, rates)]
    window = _Window(given[0], given[1], given[2], padding)

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 4)
        batch, height, width, depth = tensor.shape.sizes or (None,) * 4
        known = None not in (height, width)
        rows, columns = (window.places(height, 1), window.places(width, 2)) if known else (None, None)
        return batch, rows, columns, _times(depth, window.sizes[1] * window.sizes[2])

    def kernel(images: Any) -> Any:
        return _extract(window, images)

    attrs = {"ksizes": window.sizes, "strides": window.strides, "rates": window.rates, "padding": padding.encode()}
    return tensor_op("ExtractImagePatches", "images:T", [images], rule, kernel, name, attrs)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None) -> Tensor:
    """Return the patches of images: `extract_image_patches` under its later name."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)
