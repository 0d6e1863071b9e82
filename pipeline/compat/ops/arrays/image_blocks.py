"""space_to_depth: blocks of images as channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, failing_at_run_time, tensor_op


def _divided(size: int | None, by: int) -> int | None:
    if size is not None and size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return None if size is None else size // by


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Return images with each square block moved into the channels."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"Value for attr 'data_format' of \"{data_format}\" is not supported: NHWC or NCHW")
    if block_size < 2:
        raise ValueError(f"Attr 'block_size' passed {block_size} less than minimum 2.")
    at = 3 if data_format == "NHWC" else 1  # the axis of the channels

    def sizes(given: Any) -> list[Any]:
        batch, height, width, depth = given
        depth = None if depth is None else depth * block_size**2
        return [batch, _divided(height, block_size), _divided(width, block_size), depth]

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 4)
        known = list(tensor.shape.sizes or (None,) * 4)
        made = sizes([*known[:at], *known[at + 1 :], known[at]])
        return [*made[:at], made[3], *made[at:3]]

    def kernel(images: Any) -> Any:
        images = np.moveaxis(images, at, 3)
        shape = sizes(images.shape)
        parts = images.reshape(shape[0], shape[1], block_size, shape[2], block_size, images.shape[3])
        return np.ascontiguousarray(np.moveaxis(parts.transpose(0, 1, 3, 2, 4, 5).reshape(shape), 3, at))

    attrs = {"block_size": block_size, "data_format": data_format.encode()}
    return tensor_op("SpaceToDepth", "input:T", [input], rule, failing_at_run_time(kernel), name, attrs)
