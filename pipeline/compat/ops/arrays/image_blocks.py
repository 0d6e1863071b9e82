"""Blocks of images as channels (space_to_depth), and back again."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Tensor
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
