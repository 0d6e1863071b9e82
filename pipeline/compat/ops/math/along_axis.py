"""argmax and argmin: along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, int32, int64
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import INDEX, REALS, check_allowed, first_input, renamed
from pipeline.compat.ops.making.opdef import check_scalar
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show

_ALLOWED = (*REALS, "qint8", "quint8", "qint32", "qint16", "quint16", "bool")


def _shape(x: Tensor, axis: Tensor) -> TensorShape:
    sizes, at = x.shape.sizes, constant_value(axis)
    if axis.shape.ndims not in (None, 0):
        raise ValueError(f"Shape must be rank 0 but is rank {axis.shape.ndims}")
    if sizes is None:
        return unknown_shape()
    if len(sizes) <= 1:
        return TensorShape([])
    if at is None:
        return unknown_shape(len(sizes) - 1)
    if not -len(sizes) <= at < len(sizes):
        raise ValueError(
            f"Dimension ({at}) must be in the range [{-len(sizes)}, {len(sizes)}), where {len(sizes)} is the number "
            "of dimensions in the input."
        )
    at = int(at) % len(sizes)
    return TensorShape(sizes[:at] + sizes[at + 1 :])


def _node(op_type: str, x: Any, axis: Any, output_type: Any, name: str | None, allowed: tuple[str, ...]) -> Tensor:
    result: DType = as_dtype(output_type)
    greatest = op_type == "ArgMax"

    def kernel(value: Any, at: Any) -> Any:
        check_scalar(at, "dim must be a scalar, but received tensor of shape: {}")
        rank = np.ndim(value)
        if not -rank <= at < rank:
            raise invalid(f"Expected dimension in the range [{-rank}, {rank}), but got {at}")
        if not np.shape(value)[at]:
            raise invalid(f"Reduction axis {at} is empty in shape {show(np.shape(value))}")
        if value.dtype.kind == "f":
            # NaN never wins.
            value = np.where(np.isnan(value), -np.inf if greatest else np.inf, value)
        return (np.argmax if greatest else np.argmin)(value, axis=int(at)).astype(result.np)

    with name_scope(name, op_type, [x, axis]) as scope:
        x = first_input("input", x, _ALLOWED)
        axis = first_input("dimension", axis, ("int16", *INDEX), int32)
        check_allowed("output_type", result, allowed)
        attrs = {"T": x.dtype.base_dtype, "Tidx": axis.dtype.base_dtype, "output_type": result}
        return tensor_node(op_type, [x, axis], kernel, result, _shape(x, axis), name=scope, attrs=attrs)


def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = int64,
) -> Tensor:
    """Return the index of the largest element along an axis, the first among equals.

    Args:
        input: A tensor of real numbers or bool.
        axis: The axis, 0 unless given; `dimension` is its old name.
        name: Name of the op.
        dimension: See `axis`.
        output_type: int32, int64, int16 or uint16.

    Raises:
        ValueError: The axis is known to be out of range.
        InvalidArgumentError: The axis is out of range or empty, at run time.
    """
    axis = renamed("axis", axis, "dimension", dimension)
    if axis is None:
        axis = 0
    if hasattr(axis, "dtype"):
        if as_dtype(axis.dtype) in (as_dtype(each) for each in ("int8", "uint8", "int16", "uint16")):
            axis = cast(axis, int32)
        elif as_dtype(axis.dtype).base_dtype not in (int32, int64):
            raise TypeError(f"axis tensor dtypes {axis.dtype} is not supported")
    elif not isinstance(axis, int):
        raise TypeError("axis must be int or Tensor with integer datatype")
    return _node("ArgMax", input, axis, output_type, name, ("int16", "uint16", *INDEX))


def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = int64,
) -> Tensor:
    """Return the index of the smallest element along an axis, the first among equals; arguments as in `argmax`."""
    axis = renamed("axis", axis, "dimension", dimension)
    return _node("ArgMin", input, 0 if axis is None else axis, output_type, name, INDEX)


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the largest element along an axis: `argmax` with another order of arguments."""
    return _node("ArgMax", input, dimension, output_type, name, ("int16", "uint16", *INDEX))


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the smallest element along an axis: `argmin` with another order of arguments."""
    return _node("ArgMin", input, dimension, output_type, name, INDEX)
