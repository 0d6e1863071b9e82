"""relu, softmax, moments and l2_normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import as_dtype, float16, float32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import in_single, quiet
from pipeline.compat.ops.arrays.identities import stop_gradient
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


def _softmax(axis: int) -> Any:
    @in_single
    def kernel(x: Any) -> Any:
        powers = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
        return powers / np.sum(powers, axis=axis, keepdims=True, dtype=x.dtype)

    return kernel


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return exp(x) divided by its sum along a constant axis, the last by default; `dim` is its old name.

    Raises:
        ValueError: `logits` is a scalar, or the axis is not constant.
        InvalidArgumentError: The axis is out of range; at run time, if the rank was not known.
    """
    axis = renamed("axis", axis, "dim", dim)
    at = constant_value(axis) if isinstance(axis, Tensor) else -1 if axis is None else axis
    if at is None:
        raise ValueError(f"The axis of softmax must be constant, got {axis}.")
    given = convert_to_tensor(logits)
    with name_scope(name, "Softmax", [given]) as scope:
        x = first_input("logits", given, FLOATS)
        rank, axis = x.shape.ndims, int(at)
        if rank == 0:
            raise ValueError(f"Shape must be at least rank 1 but is rank 0 for '{scope.rstrip('/')}' (op: 'Softmax')")
        if rank is not None:
            _check_axis(axis, rank)
        compute = _softmax(axis)

        def checked(x: Any) -> Any:
            _check_axis(axis, np.ndim(x))
            return compute(x)

        def rows(is_row: tuple[bool, ...], x: Any) -> Any:
            return _softmax(axis + 1 if axis >= 0 else axis)(x)

        dtype = x.dtype.base_dtype
        kernel = quiet(checked if rank is None else compute)
        return tensor_node("Softmax", [x], kernel, dtype, x.shape, name=scope, attrs={"T": dtype}, rows=rows)


def _check_axis(axis: int, rank: int) -> None:
    if not -rank <= axis < rank:
        raise invalid(
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: dim={axis}"
        )


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
    """Return x divided by its Euclidean norm along axes; `dim` is the old name for `axis`.

    The squared norm counts as `epsilon` at least.
    """
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x, axis]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(functions.square(x), axis, keepdims=True)
        inverse = functions.rsqrt(arithmetic.maximum(total, epsilon))
        return arithmetic.multiply(x, inverse, name=scope)
