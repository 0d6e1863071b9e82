"""stack and unstack: along a new axis, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import expand_dims
from pipeline.compat.ops.making.inputs import list_input
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.packing import pack
from pipeline.errors import invalid


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stack a list of tensors (of one dtype and shape) along a new axis.

    Raises:
        ValueError: The shapes differ, or `axis` is out of range.
        TypeError: The dtypes differ.
    """
    if axis == 0:
        try:
            # If no value is a tensor, this is a constant.
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass
    first = convert_to_tensor(values[0], name=name).shape.sizes
    if first is not None and not -len(first) - 1 <= axis <= len(first):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-len(first) - 1}, {len(first) + 1})")
    with name_scope(name, "Pack", [values, axis]) as scope:
        return pack(list_input("Pack", "values", values), axis, scope)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Stack a list of tensors, whose shape is known, along a new first axis.

    Raises:
        TypeError: The dtypes differ.
        ValueError: The shapes differ, or that of the first tensor is not known.
    """

    def rule(tensors: list[Tensor]) -> Any:
        shape = tensors[0].shape
        if not shape.is_fully_defined():
            raise ValueError("shape attr must be fully defined.")
        for each in tensors[1:]:
            shape.assert_is_compatible_with(each.shape)
        return [(tensors[0].dtype.base_dtype, [len(tensors), *shape.as_list()[1:]])]

    with name_scope(name, values=[values]):
        rows = [expand_dims(each, 0) for each in values]
        return op("ParallelConcat", "values:*T", [rows], rule, lambda *parts: np.concatenate(parts)).outputs[0]


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Take a tensor apart along `axis`, which the parts no longer have.

    Raises:
        ValueError: `num` is not given and the size is not known, or it is another; `axis` is out of range.
    """
    if num is None:
        value = convert_to_tensor(value)
        sizes = value.shape.sizes
        num = None if sizes is None else sizes[_place(axis, sizes)]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    count = int(num)

    def rule(tensor: Tensor) -> Any:
        sizes = tensor.shape.sizes
        shape: Any = None
        if sizes is not None:
            place = _place(axis, sizes)
            if sizes[place] not in (None, count):
                raise ValueError(f"Dimension must be {count} but is {sizes[place]}")
            shape = sizes[:place] + sizes[place + 1 :]
        return [(tensor.dtype.base_dtype, shape)] * count

    def kernel(value: Any) -> Any:
        if not -np.ndim(value) <= axis < np.ndim(value) or np.shape(value)[axis] != count:
            raise invalid(f"Input shape axis {axis} must equal {count}, got shape {list(np.shape(value))}")
        parts = np.moveaxis(value, axis, 0)
        return [parts[index] for index in range(count)] if count != 1 else parts[0]

    def rows(is_row: tuple[bool, ...], value: Any) -> Any:
        place = axis + 1 if axis >= 0 else axis
        parts = np.moveaxis(value, place, 0)
        if len(parts) != count or not -value.ndim < place:
            return None
        return [parts[index] for index in range(count)] if count != 1 else parts[0]

    return op("Unpack", "value:T", [value], rule, kernel, name, {"num": count, "axis": axis}, rows).outputs


def _place(axis: int, sizes: tuple[int | None, ...]) -> int:
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
    return axis % len(sizes)
