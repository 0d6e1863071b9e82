"""pack: the Pack operation, which stacks tensors along a new axis; also used for lists containing tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.errors import invalid, show


def pack(tensors: list[Tensor], axis: int, name: str | None) -> Tensor:
    """Add a Pack for tensors with equal dtype and shape, along a new axis.

    Raises:
        ValueError: The static shapes differ, or the axis is out of range.
        TypeError: The dtypes differ.
    """
    shape = tensors[0].shape
    for each in tensors[1:]:
        try:
            shape = shape.merge_with(each.shape)
        except ValueError as error:
            raise ValueError(f"Shapes must be equal rank and sizes to be packed: {error}") from None
    if shape.sizes is None:
        result = as_shape(None)
    else:
        rank = len(shape.sizes) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
        at = axis % rank
        result = as_shape((*shape.sizes[:at], len(tensors), *shape.sizes[at:]))
    dtype = tensors[0].dtype.base_dtype
    for i, each in enumerate(tensors):
        if each.dtype.base_dtype != dtype:
            raise TypeError(
                "Tensors in list passed to 'values' of 'Pack' Op have types "
                f"[{', '.join(one.dtype.name for one in tensors)}] that don't all match (number {i})."
            )

    def kernel(*values: Any) -> Any:
        if dtype is dtypes.string:
            values = tuple(np.asarray(each, object) for each in values)
        _check_shapes(values)
        return np.stack(values, axis)

    def rows(is_row: tuple[bool, ...], *values: Any) -> Any:
        count = next(len(each) for each, row in zip(values, is_row, strict=True) if row)
        blocks = [
            np.asarray(each) if row else np.broadcast_to(np.asarray(each, dtype.np), (count, *np.shape(each)))
            for each, row in zip(values, is_row, strict=True)
        ]
        return np.stack(blocks, axis + 1 if axis >= 0 else axis)

    attrs = {"N": len(tensors), "T": dtype, "axis": axis}
    return tensor_node("Pack", tensors, kernel, dtype, result, name, attrs=attrs, rows=rows)


def _check_shapes(values: tuple[Any, ...]) -> None:
    shape = np.shape(values[0])
    for i, each in enumerate(values):
        if np.shape(each) != shape:
            raise invalid(
                f"Shapes of all inputs must match: values[0].shape = {show(shape)} != values[{i}].shape = "
                f"{show(np.shape(each))}"
            )
