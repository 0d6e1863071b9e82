"""relu, softmax, moments and l2_normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import as_dtype, float16, float32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import in_single, quiet
from pipeline.compat.ops.arrays.arranging import transpose
from pipeline.compat.ops.arrays.identities import stop_gradient
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.masking import where
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import rank as rank_of
from pipeline.compat.ops.arrays.shaping import squeeze
from pipeline.compat.ops.making.elementwise import unary
from pipeline.compat.ops.making.inputs import FLOATS, REALS, first_input, renamed
from pipeline.compat.ops.math import arithmetic
from pipeline.compat.ops.math import unary as functions
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_mean, reduce_sum
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def _relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


relu = unary("Relu", _relu, (*REALS, "qint8"), "Return max(x, 0).", argument="features", integers=_relu)


@in_single
def _softmax(x: Any) -> Any:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return powers / np.sum(powers, axis=-1, keepdims=True, dtype=x.dtype)


def _checked_softmax(x: Any) -> Any:
    if not np.ndim(x):
        raise invalid("logits must have >= 1 dimension, got []")
    return _softmax(x)


def _softmax_of_last(logits: Any, name: str | None = None) -> Tensor:
    with name_scope(name, "Softmax", [logits]) as scope:
        x = first_input("logits", logits, FLOATS)
        if x.shape.ndims == 0:
            raise ValueError(
                f"Shape must be at least rank 1 but is rank 0 for '{scope.rstrip('/')}' (op: 'Softmax') "
                "with input shapes: []."
            )
        dtype = x.dtype.base_dtype
        kernel = quiet(_checked_softmax if x.shape.ndims is None else _softmax)
        return tensor_node("Softmax", [x], kernel, dtype, x.shape, name=scope, attrs={"T": dtype}, rows=True)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return exp(x) divided by its sum along an axis, the last by default; `dim` is the old name of `axis`."""
    axis = renamed("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    x = convert_to_tensor(logits)
    rank = x.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return _softmax_of_last(x, name)
    known = constant_value(axis) if isinstance(axis, Tensor) else axis
    if known is not None and rank is not None and not -rank <= known < rank:
        raise invalid(
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: dim={known}"
        )
    # Swap the axis with the last one, before and after.
    dims: Any = rank_of(x)
    if isinstance(axis, Tensor):
        axis = where(axis < 0, axis + dims, axis)  # type: ignore[operator]
    elif axis < 0:
        axis = axis + dims
    total: Any = rank_of(x)
    at = axis % rank
    moved = _swapped(x, at, arithmetic.subtract(total, 1), None)
    result = _swapped(_softmax_of_last(moved), at, arithmetic.subtract(total, 1), name)
    result.set_shape(x.shape)
    return result


def _swapped(x: Any, at: Any, last: Any, name: str | None) -> Any:
    return transpose(x, concat([range_(at), [last], range_(at + 1, last), [at]], 0), name=name)


def moments(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: Any = None, keepdims: Any = None
) -> tuple[Any, Any]:
    """Return mean and variance of x over axes. float16 is computed in float32; `shift` is ignored."""
    keep = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "moments", [x, axes, shift]):
        half = as_dtype(x.dtype).base_dtype is float16
        y = cast(x, float32) if half else x
        mean: Any = reduce_mean(y, axes, keepdims=True, name="mean")
        squares = arithmetic.squared_difference(y, stop_gradient(mean))
        variance: Any = reduce_mean(squares, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return (cast(mean, float16), cast(variance, float16)) if half else (mean, variance)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """Return x divided by its Euclidean norm along axes; `dim` is the old name of `axis`.

    The square of the norm counts as `epsilon` at least.
    """
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x, axis]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(functions.square(x), axis, keepdims=True)
        inverse = functions.rsqrt(arithmetic.maximum(total, epsilon))
        return arithmetic.multiply(x, inverse, name=scope)
