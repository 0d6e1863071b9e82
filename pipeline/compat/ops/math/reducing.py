"""reduce_sum, reduce_mean and other reductions over axes; argmax and argmin."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, int32, int64
from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel, quiet
from pipeline.compat.ops.arrays.filling import zeros
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import rank as rank_of
from pipeline.compat.ops.making.inputs import ANY_NUMBER, INDEX, REALS, check_allowed, first_input, fixed_input, renamed
from pipeline.compat.ops.making.opdef import check_scalar
from pipeline.compat.ops.math import unary
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import not_equal
from pipeline.compat.ops.math.unary import sqrt
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show

_EXTREMES = (*REALS, "qint8", "quint8", "qint32", "qint16", "quint16")


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes counted from 0; InvalidArgumentError if one is out of range or given twice."""
    found = []
    for each in np.ravel(axis).tolist():
        if not -rank <= each < rank:
            raise invalid(f"Invalid reduction dimension ({each} for input with {rank} dimension(s)")
        found.append(each % rank)
        if found.count(found[-1]) > 1:
            raise invalid(f"Invalid reduction arguments: Axes contains duplicate dimension: {found[-1]}")
    return tuple(found)


def _reduced_shape(x: Tensor, axis: Tensor, keepdims: bool) -> TensorShape:
    if axis.shape.ndims is not None and axis.shape.ndims > 1:
        raise ValueError(f"reduction_indices must be a scalar or a vector, but its shape is {axis.shape}")
    sizes, axes = x.shape.sizes, constant_value(axis)
    if sizes is None:
        return unknown_shape()
    if axes is None:
        return unknown_shape(len(sizes)) if keepdims else unknown_shape()
    picked = set()
    for each in np.ravel(axes).tolist():
        if not -len(sizes) <= each < len(sizes):
            raise ValueError(f"Invalid reduction dimension {each} for input with {len(sizes)} dimensions.")
        picked.add(each % len(sizes))
    if keepdims:
        return TensorShape([1 if at in picked else size for at, size in enumerate(sizes)])
    return TensorShape([size for at, size in enumerate(sizes) if at not in picked])


def reduction(
    op_type: str, x: Any, axis: Any, keepdims: bool, kernel: Kernel, allowed: Any, name: str | None
) -> Tensor:
    """Make a reduction node.

    Args:
        op_type: The node's type.
        x: The value to reduce.
        axis: The axes, a number or a vector.
        keepdims: Keep the reduced axes, with size 1.
        kernel: `kernel(value, axes, keepdims)`.
        allowed: Names of accepted dtypes for x; None for bool.
        name: The node's name.
    """
    with name_scope(name, op_type, [x, axis]) as scope:
        x = fixed_input(op_type, "input", x, bool_) if allowed is None else first_input("input", x, allowed)
        axis = first_input("reduction_indices", axis, INDEX, int32)
        dtype = x.dtype.base_dtype
        attrs = {"T": dtype, "Tidx": axis.dtype.base_dtype, "keep_dims": keepdims}

        def run(value: Any, axes: Any) -> Any:
            return kernel(value, _axes(axes, np.ndim(value)), keepdims)

        def known(value: Any, axes: Any) -> Any:
            if value is not None or axes is None:
                return None
            bare = getattr(kernel, "bare", kernel)
            by_rank: dict[int, tuple[int, ...]] = {}

            def quick(value: Any) -> Any:
                rank = value.ndim
                if rank not in by_rank:
                    by_rank[rank] = _axes(axes, rank)
                return bare(value, by_rank[rank], keepdims)

            quick.bare = quick  # type: ignore[attr-defined]  # as `quiet`
            return quick

        run.known = known  # type: ignore[attr-defined]  # for plans

        def rows(is_row: tuple[bool, ...], value: Any, axes: Any) -> Any:
            if is_row[1]:
                return None
            return kernel(value, tuple(each + 1 for each in _axes(axes, np.ndim(value) - 1)), keepdims)

        return tensor_node(
            op_type, [x, axis], run, dtype, _reduced_shape(x, axis, keepdims), name=scope, attrs=attrs, rows=rows
        )


def all_axes(x: Any, axis: Any) -> Any:
    """Return the axes to reduce: `axis`, or all axes of x, as a constant if the rank is known."""
    if axis is not None:
        return axis
    rank = getattr(getattr(x, "shape", None), "rank", None)
    if rank:
        return constant(np.arange(rank, dtype=np.int32))
    return range_(0, rank_of(x))


def _reduce(op_type: str, x: Any, axis: Any, keepdims: Any, kernel: Kernel, allowed: Any, name: str | None) -> Tensor:
    keepdims = False if keepdims is None else bool(keepdims)
    result = reduction(op_type, x, all_axes(x, axis), keepdims, kernel, allowed, name)
    if axis is None and not keepdims and not result.shape.is_fully_defined():
        result.set_shape(())
    return result


# The kernels name the dtype, because NumPy would widen sums of small integers. An empty maximum is the lowest value.
# `keepdims` is a bool; NumPy 2.5 declares its reductions for a literal True or False only.


def _sum(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.add.reduce(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


def _prod(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.prod(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


def _mean(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    if x.dtype.kind in "iu":
        total = np.sum(x, axis=axes, dtype=np.int64 if x.dtype.kind == "i" else np.uint64, keepdims=keepdims)
        if not count:
            return total.astype(x.dtype)
        quotient = np.abs(total) // total.dtype.type(count) if x.dtype.kind == "i" else total // np.uint64(count)
        return (np.sign(total) * quotient).astype(x.dtype)
    if x.dtype == np.float32:  # half the time
        mean = np.add.reduce(x, axis=axes, dtype=np.float32, keepdims=keepdims)
        return np.divide(mean, np.float32(count))
    wide = np.float32 if x.dtype.kind not in "fc" or x.dtype.itemsize < 4 else x.dtype
    return (np.sum(x, axis=axes, dtype=wide, keepdims=keepdims) / np.dtype(wide).type(count)).astype(x.dtype)


def _lowest(dtype: Any, sign: int) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max
    return dtype.type(sign * np.inf)


def _max(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.max(x, axis=axes, keepdims=keepdims, initial=_lowest(x.dtype, -1))


def _min(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.min(x, axis=axes, keepdims=keepdims, initial=_lowest(x.dtype, 1))


def _all(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.all(x, axis=axes, keepdims=keepdims)


def _any(x: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return np.any(x, axis=axes, keepdims=keepdims)


def _function(op_type: str, kernel: Kernel, allowed: Any, doc: str) -> Any:
    kernel = quiet(kernel)

    def function(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Tensor:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
        return _reduce(op_type, input_tensor, axis, keepdims, kernel, allowed, name)

    function.__doc__ = f"{doc} All axes by default; `keepdims` keeps them with size 1."
    return function


reduce_sum = _function("Sum", _sum, ANY_NUMBER, "Return the sum over axes, of the same dtype.")
reduce_prod = _function("Prod", _prod, ANY_NUMBER, "Return the product over axes, of the same dtype.")
reduce_mean = _function("Mean", _mean, ANY_NUMBER, "Return the mean over axes; that of integers is truncated.")
reduce_max = _function("Max", _max, _EXTREMES, "Return the largest over axes.")
reduce_min = _function("Min", _min, _EXTREMES, "Return the smallest over axes.")
reduce_all = _function("All", _all, None, "Return whether all are true over axes.")
reduce_any = _function("Any", _any, None, "Return whether any is true over axes.")


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: Any = None,
    dtype: DType = int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
    input: Any = None,
) -> Tensor:
    """Return the count of elements over axes except 0 (empty, for strings), as `dtype`."""
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    value = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [input_tensor, axis, input]):
        value = convert_to_tensor(value, name="input")
        if value.dtype.base_dtype is bool_:
            counted = value
        else:
            counted = not_equal(value, zeros([], dtype=value.dtype.base_dtype))
        total = reduce_sum(cast(counted, int64), axis=axis, keepdims=keepdims)
        return cast(total, dtype)  # type: ignore[no-any-return]


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Tensor:
    """Return the variance over axes; TypeError for integers."""
    with name_scope(name or "reduce_variance", values=[input_tensor, axis]):
        x: Any = convert_to_tensor(input_tensor)
        means: Any = reduce_mean(x, axis=axis, keepdims=True)
        if means.dtype.is_integer or means.dtype.is_complex:
            raise TypeError(f"Input must be real. Received {means.dtype.name}.")
        difference = x - means
        return reduce_mean(unary.square(difference), axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Tensor:
    """Return the standard deviation over axes; TypeError for integers."""
    with name_scope(name or "reduce_std", values=[input_tensor, axis]):
        x = convert_to_tensor(input_tensor)
        return sqrt(reduce_variance(x, axis=axis, keepdims=keepdims))


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
    """Return the index of the largest element along an axis: `argmax` with another argument order."""
    return _node("ArgMax", input, dimension, output_type, name, ("int16", "uint16", *INDEX))


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the smallest element along an axis: `argmin` with another argument order."""
    return _node("ArgMin", input, dimension, output_type, name, INDEX)
