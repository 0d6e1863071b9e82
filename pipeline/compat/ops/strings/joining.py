"""string_join and reduce_join: concatenate strings across tensors or along axes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int32, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, scalar, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.sequences import range as range_of
from pipeline.compat.ops.arrays.shaping import rank as rank_of
from pipeline.compat.ops.making.inputs import fixed_input, renamed
from pipeline.compat.ops.making.text import encoded, objects, scalar_or, text
from pipeline.compat.ops.math.arithmetic import subtract
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import OutOfRangeError, invalid, show


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Concatenate the strings of several tensors elementwise.

    Args:
        inputs: A list of string tensors of the same shape; scalars broadcast.
        separator: Goes between the strings.
        name: Name of the op.

    Raises:
        ValueError: The static shapes differ.
        TypeError: `inputs` is not a list, or holds something other than strings.
        InvalidArgumentError: At run time: the shapes differ.
    """
    glue = encoded(separator)
    with name_scope(name, "StringJoin", [inputs]) as scope:
        tensors = _strings(inputs)
        shape = _joined_shape(tensors)

        def kernel(*values: Any) -> Any:
            return _joined(glue, values)

        attrs = {"N": len(tensors), "separator": glue}
        return tensor_node("StringJoin", tensors, kernel, string, shape, name=scope, attrs=attrs, rows=_blocks(glue))


def _strings(inputs: Any) -> list[Tensor]:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected list for 'inputs' argument to 'string_join' Op, not {inputs!r}.")
    try:
        return [text(value, f"inputs_{i}", "StringJoin") for i, value in enumerate(inputs)]
    except TypeError as error:
        text_ = f"Tensors in list passed to 'inputs' of 'StringJoin' Op do not match expected type string. {error}"
        raise TypeError(text_) from None


def _joined_shape(tensors: Sequence[Tensor]) -> TensorShape:
    shapes = [tensor.shape for tensor in tensors]
    shape: TensorShape = scalar() if all(each.ndims == 0 for each in shapes) else unknown_shape()
    for other in shapes:
        if other.ndims:
            shape = other if not shape.ndims else shape.merge_with(other)
    return shape


def _joined(glue: bytes, values: Sequence[Any]) -> Any:
    shape: tuple[int, ...] | None = None
    for value in values:
        if isinstance(value, np.ndarray) and value.ndim:
            if shape not in (None, value.shape):
                raise invalid(f"Input shapes do not match: {show(shape)} vs. {show(value.shape)}")
            shape = value.shape
    if shape is None:
        return glue.join(values)
    columns = [
        value.ravel().tolist() if isinstance(value, np.ndarray) and value.ndim else itertools.repeat(value)
        for value in values
    ]
    return objects(list(map(glue.join, zip(*columns, strict=False)))).reshape(shape)


def _blocks(glue: bytes) -> Any:
    """The kernel for blocks: scalars of many rows are a vector; other shapes run row by row."""

    def rows(is_row: Sequence[bool], *values: Any) -> Any:
        for row, value in zip(is_row, values, strict=True):
            if (row and value.ndim > 1) or (not row and isinstance(value, np.ndarray)):
                return None
        return _joined(glue, values)

    return rows


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Concatenate the strings along axes.

    Args:
        inputs: Strings.
        axis: An axis, or several in the order in which to join them; all by default.
        keep_dims: Old name of `keepdims`.
        separator: Goes between the strings.
        name: Name of the op.
        reduction_indices: Old name of `axis`.
        keepdims: Keep the joined axes with size 1.

    Raises:
        ValueError: There is no such axis.
        InvalidArgumentError, OutOfRangeError: At run time: an axis is given twice, or does not exist.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    glue = encoded(separator)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        tensor = convert_to_tensor(inputs)
        given = _all_axes(tensor) if axis is None else axis
        with name_scope(name, "ReduceJoin", [inputs, axis]) as scope:
            tensor = text(tensor, "inputs", "ReduceJoin")
            axes = fixed_input("ReduceJoin", "reduction_indices", given, int32)
            shape = _reduced_shape(tensor.shape, constant_value(axes), keep)

            def kernel(values: Any, axes: Any) -> Any:
                return _reduced(values, np.ravel(axes).tolist(), keep, glue)

            attrs = {"keep_dims": keep, "separator": glue}
            return tensor_node("ReduceJoin", [tensor, axes], kernel, string, shape, name=scope, attrs=attrs)


def _all_axes(tensor: Tensor) -> Any:
    rank = tensor.shape.ndims
    if rank is not None:
        return constant(np.arange(rank - 1, -1, -1, dtype=np.int32))
    return range_of(subtract(rank_of(tensor), 1, name="sub"), -1, -1)


def _reduced_shape(shape: TensorShape, axes: Any, keep: bool) -> TensorShape:
    sizes = shape.sizes
    if sizes is None:
        return unknown_shape()
    if axes is None:
        return unknown_shape(len(sizes)) if keep else unknown_shape()
    joined = set()
    for axis in np.ravel(axes).tolist():
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Invalid reduction dimension {axis} for input with {len(sizes)} dimensions.")
        joined.add(axis % len(sizes))
    if keep:
        return as_shape([1 if i in joined else size for i, size in enumerate(sizes)])
    return as_shape([size for i, size in enumerate(sizes) if i not in joined])


def _reduced(values: Any, axes: list[int], keep: bool, glue: bytes) -> Any:
    array = values if isinstance(values, np.ndarray) else objects([values]).reshape(())
    rank = array.ndim
    order = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise OutOfRangeError(None, None, f"Invalid reduction dimension {axis} for input with {rank} dimension(s)")
        if axis % rank in order:
            raise invalid(f"Duplicate reduction dimension {axis}")
        order.append(axis % rank)
    left = [i for i in range(rank) if i not in order]
    joined = int(np.prod([array.shape[i] for i in order], dtype=np.int64))
    shape = [array.shape[i] for i in left]
    count = int(np.prod(shape, dtype=np.int64))
    table = array.transpose(left + order[::-1]).reshape(count, joined)
    result = objects([glue.join(row) for row in table.tolist()])
    final = [1 if i in order else array.shape[i] for i in range(rank)] if keep else shape
    return scalar_or(result.reshape(final))
