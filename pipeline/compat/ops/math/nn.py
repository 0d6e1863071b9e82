"""Activations, moments and normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.dtypes import as_dtype, float16, float32, int32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import in_single, quiet
from pipeline.compat.ops.making.elementwise import shown, unary
from pipeline.compat.ops.making.inputs import (
    ANY_NUMBER,
    FLOATS,
    REALS,
    first_input,
    renamed,
)
from pipeline.compat.ops.math import arithmetic
from pipeline.compat.ops.math import unary as functions
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_mean, reduce_sum
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value


@in_single
def _softplus(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x)))


def _elu(x: Any) -> Any:
    return np.where(np.less(x, 0), np.expm1(x), x)


@in_single
def _selu(x: Any) -> Any:
    scale, alpha = 1.0507009873554805, 1.7580993408473768
    return np.where(np.less(x, 0), x.dtype.type(alpha) * np.expm1(x), x.dtype.type(scale) * x).astype(x.dtype)


def _relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6))


@in_single
def _softsign(x: Any) -> Any:
    return x / (np.abs(x) + x.dtype.type(1))


relu = unary("Relu", _relu, (*REALS, "qint8"), "Return max(x, 0).", argument="features", integers=_relu)
elu = unary("Elu", _elu, FLOATS, "Return x, and exp(x) - 1 where x < 0.", argument="features")
selu = unary("Selu", _selu, FLOATS, "Return the scaled exponential linear unit of x.", argument="features")
softplus = unary("Softplus", _softplus, FLOATS, "Return log(1 + exp(x)).", argument="features")
softsign = unary("Softsign", _softsign, FLOATS, "Return x / (1 + |x|).", argument="features")
_relu6_of = unary("Relu6", _relu6, REALS, "", argument="features")


def relu6(features: Any, name: str | None = None) -> Tensor:
    """Return the features kept between 0 and 6."""
    with name_scope(name, "Relu6") as scope:
        features = convert_to_tensor(features, name="features")
        return _relu6_of(features, name=scope)


def crelu(features: Any, name: str | None = None, axis: Any = -1) -> Any:
    """Return relu(features) and relu(-features), concatenated along an axis."""
    from pipeline.compat.ops.arrays.joining import concat

    with name_scope(name, "CRelu") as scope:
        x: Any = convert_to_tensor(features, name="features")
        return relu(concat([x, -x], axis, name=scope))


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Return x, and alpha * x where x < 0; integers are cast to float32."""

    def kernel(x: Any) -> Any:
        return np.where(np.less(x, 0), x * x.dtype.type(alpha), x)

    with name_scope(name, "LeakyRelu") as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, float32)
        made = unary("LeakyRelu", kernel, FLOATS, "", argument="features")
        return made(features, name=scope)


def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """Return log(sigmoid(x))."""
    with name_scope(name, "LogSigmoid") as scope:
        x = convert_to_tensor(x, name="x")
        return functions.negative(softplus(-x), name=scope)


def swish(features: Any, beta: Any = 1.0) -> Any:
    """Return x * sigmoid(beta * x)."""
    from pipeline.compat.ops.arrays.identities import identity, identity_n

    x: Any = convert_to_tensor(features, name="features")
    beta = cast(convert_to_tensor(beta, name="beta"), x.dtype)
    result = x * functions.sigmoid(beta * x)
    return identity_n([identity(result), x, beta])[0]


@in_single
def _log_softmax(x: Any) -> Any:
    shifted = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True, dtype=x.dtype))


@in_single
def _softmax(x: Any) -> Any:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return powers / np.sum(powers, axis=-1, keepdims=True, dtype=x.dtype)


def _vectors(kernel: Any) -> Any:
    def checked(x: Any) -> Any:
        if not np.ndim(x):
            raise errors.InvalidArgumentError(None, None, "logits must have >= 1 dimension, got []")
        return kernel(x)

    return checked


def _over_last(op_type: str, kernel: Any) -> Any:
    def apply(x: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type) as scope:
            x = first_input("logits", x, FLOATS)
            if x.shape.ndims == 0:
                raise ValueError(
                    f"Shape must be at least rank 1 but is rank 0 for '{scope.rstrip('/')}' (op: '{op_type}') "
                    "with input shapes: []."
                )
            dtype = x.dtype.base_dtype
            attrs = {"T": dtype}
            compute = quiet(kernel) if x.shape.ndims is not None else _vectors(quiet(kernel))
            return tensor_node(op_type, [x], compute, dtype, x.shape, name=scope, attrs=attrs, rows=True)

    return apply


def _over_axis(x: Any, compute: Any, axis: Any, name: str | None) -> Any:
    """Apply what acts on the last axis to another one, by exchanging the two before and after."""
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return compute(x, name=name)
    known = constant_value(axis) if isinstance(axis, Tensor) else axis
    if known is not None and rank is not None and not -rank <= known < rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: dim={known}",
        )
    from pipeline.compat.ops.arrays.shaping import rank as rank_of

    dims: Any = rank_of(x)
    if isinstance(axis, Tensor):
        from pipeline.compat.ops.arrays.masking import where

        axis = where(axis < 0, axis + dims, axis)  # type: ignore[operator]
    elif axis < 0:
        axis = axis + dims
    total: Any = rank_of(x)
    at = axis % rank
    swapped = _exchanged(x, at, arithmetic.subtract(total, 1), None)
    result = _exchanged(compute(swapped), at, arithmetic.subtract(total, 1), name)
    result.set_shape(x.shape)
    return result


def _exchanged(x: Any, at: Any, last: Any, name: str | None) -> Any:
    from pipeline.compat.ops.arrays.arranging import transpose
    from pipeline.compat.ops.arrays.joining import concat
    from pipeline.compat.ops.arrays.sequences import range as range_

    return transpose(x, concat([range_(at), [last], range_(at + 1, last), [at]], 0), name=name)


_softmax_of = _over_last("Softmax", _softmax)
_log_softmax_of = _over_last("LogSoftmax", _log_softmax)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return exp(x) over its sum along an axis, the last unless given; `dim` is the axis's old name."""
    axis = renamed("axis", axis, "dim", dim)
    return _over_axis(logits, _softmax_of, -1 if axis is None else axis, name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return the logarithm of `softmax`."""
    axis = renamed("axis", axis, "dim", dim)
    return _over_axis(logits, _log_softmax_of, -1 if axis is None else axis, name)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Return the value with a vector added along its channels.

    Args:
        value: Numbers.
        bias: A vector of the same dtype.
        data_format: "N...C" (the channels are the last axis, the default) or "NC...".
        name: Name of the op.

    Raises:
        ValueError: The format is neither, or the shapes do not fit.
    """
    with name_scope(name, "BiasAdd") as scope:
        if data_format is not None and not data_format.startswith("NC"):
            if not (data_format.startswith("N") and data_format.endswith("C")):
                raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: {data_format}")
            data_format = None
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        first_input("value", value, ANY_NUMBER)
        return _bias_node(value, bias, data_format is not None, scope)


def _bias_node(value: Tensor, bias: Tensor, second: bool, scope: str) -> Tensor:
    def kernel(x: Any, b: Any) -> Any:
        if np.ndim(b) != 1 or np.ndim(x) < 2 or np.shape(x)[1 if second else -1] != len(b):
            which = "the channel dimension" if second else "the last dimension of the input tensor"
            text = f"Must provide as many biases as {which}: {shown(b)} vs. {shown(x)}"
            raise errors.InvalidArgumentError(None, None, text)
        return np.add(x, b.reshape((-1,) + (1,) * (np.ndim(x) - 2)) if second else b)

    length = bias.shape.with_rank(1).as_list()[0]
    sizes = value.shape.sizes
    if sizes is not None:
        if len(sizes) < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
        channels = sizes[1 if second else -1]
        if None not in (channels, length) and channels != length:
            raise ValueError(f"Dimensions must be equal, but are {channels} and {length}")
    dtype = value.dtype.base_dtype
    attrs = {"T": dtype, "data_format": "NCHW" if second else "NHWC"}
    return tensor_node("BiasAdd", [value, bias], quiet(kernel), dtype, value.shape, name=scope, attrs=attrs)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return matmul(x, weights) + biases."""
    from pipeline.compat.ops.math.products import matmul

    with name_scope(name, "xw_plus_b") as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return relu(matmul(x, weights) + biases)."""
    from pipeline.compat.ops.math.products import matmul

    with name_scope(name, "relu_layer") as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return relu(bias_add(matmul(x, weights), biases), name=scope)


# Moments and normalisation


def moments(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: Any = None, keepdims: Any = None
) -> tuple[Any, Any]:
    """Return mean and variance of x over axes; float16 is computed in float32. `shift` is without effect."""
    from pipeline.compat.ops.arrays.identities import stop_gradient
    from pipeline.compat.ops.arrays.shaping import squeeze

    keep = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "moments"):
        half = as_dtype(x.dtype).base_dtype is float16
        y = cast(x, float32) if half else x
        mean: Any = reduce_mean(y, axes, keepdims=True, name="mean")
        squares = arithmetic.squared_difference(y, stop_gradient(mean))
        variance: Any = reduce_mean(squares, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return (cast(mean, float16), cast(variance, float16)) if half else (mean, variance)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Return mean and variance from a count, a sum and a sum of squares, the latter two shifted by `shift`."""
    with name_scope(name, "normalize"):
        divisor = functions.reciprocal(counts, name="divisor")
        if shift is None:
            shifted = mean = arithmetic.multiply(mean_ss, divisor, name="mean")
        else:
            shifted = arithmetic.multiply(mean_ss, divisor, name="shifted_mean")
            mean = arithmetic.add(shifted, shift, name="mean")
        squares = arithmetic.multiply(variance_ss, divisor)
        return mean, arithmetic.subtract(squares, functions.square(shifted), name="variance")


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """Return x over the root of its sum of squares (at least `epsilon`) along axes; `dim` is their old name."""
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize") as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return _complex_l2_normalize(x, axis, epsilon, scope)
        total = reduce_sum(functions.square(x), axis, keepdims=True)
        inverse = functions.rsqrt(arithmetic.maximum(total, epsilon))
        return arithmetic.multiply(x, inverse, name=scope)


def _complex_l2_normalize(x: Tensor, axis: Any, epsilon: float, scope: str) -> Tensor:
    from pipeline.compat.ops.math.complex import complex as complex_of
    from pipeline.compat.ops.math.complex import imag, real

    first: Any = functions.square(real(x))
    second: Any = functions.square(imag(x))
    total = real(reduce_sum(first + second, axis, keepdims=True))
    inverse = functions.rsqrt(arithmetic.maximum(total, epsilon))
    first, second = (arithmetic.multiply(part(x), inverse) for part in (real, imag))
    return complex_of(first, second, name=scope)


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Any:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + offset; scale and offset may be None."""
    with name_scope(name, "batchnorm"):
        inverse: Any = functions.rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * cast(inverse, x.dtype)
        shift = -mean * inverse if offset is None else offset - mean * inverse
        return scaled + cast(shift, x.dtype)


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Return which part of the elements is 0, as float32."""
    from pipeline.compat.graph.dtypes import int64
    from pipeline.compat.ops.arrays.filling import zeros
    from pipeline.compat.ops.arrays.identities import identity
    from pipeline.compat.ops.arrays.shaping import size as size_of
    from pipeline.compat.ops.control.cond import cond
    from pipeline.compat.ops.math.comparing import not_equal

    def count(dtype: Any) -> Any:
        with name_scope("count_nonzero"):
            zero = zeros([], dtype=value.dtype)
            return reduce_sum(cast(not_equal(value, zero), dtype), name="nonzero_count")

    with name_scope(name, "zero_fraction"):
        value = convert_to_tensor(value, name="value")
        size: Any = size_of(value, out_type=int64)
        nonzero = cond(size <= 2**31 - 1, lambda: cast(count(int32), int64), lambda: count(int64))
        with name_scope("counts_to_fraction"):
            zeros_there = cast(size - nonzero, float32)
            fraction = zeros_there / cast(size, float32)
        return identity(fraction, "fraction")
