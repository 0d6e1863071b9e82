"""Random numbers: uniform, normal and truncated normal, drawn by NumPy.

The distributions are those of TensorFlow, the numbers are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.seeds import get_seed
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.math.arithmetic import add_tensors, multiply, subtract
from pipeline.compat.ops.random.generators import RandomKernel, shape_tensor, sizes_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value_as_shape
from pipeline.errors import invalid

_FLOATS = ("float16", "bfloat16", "float32", "float64")
Draw = Callable[[np.random.Generator, tuple[int, ...], DType], Any]


def _scaled(numbers: Tensor, low: Tensor, high: Tensor, name: str) -> Tensor:
    width = subtract(high, low, name="sub")
    return add_tensors(multiply(numbers, width, name="mul"), low, name)


def _uniform(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from [0, 1), with as many random bits as the mantissa of the dtype has."""
    if dtype == dtypes.float32 or dtype == dtypes.float64:
        return np.asarray(generator.random(sizes, dtype.np))
    bits = 10 if dtype == dtypes.float16 else 7
    return (generator.integers(0, 1 << bits, sizes).astype(np.float32) / np.float32(1 << bits)).astype(dtype.np)


def _standard_normal(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from the standard normal distribution."""
    exact = np.float64 if dtype == dtypes.float64 else np.float32
    return np.asarray(generator.standard_normal(sizes, exact)).astype(dtype.np, copy=False)


def _truncated_normal(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from the standard normal distribution; those of 2 and more in size are drawn again."""
    exact = np.float64 if dtype == dtypes.float64 else np.float32
    numbers = np.asarray(generator.standard_normal(sizes, exact))
    flat = numbers.reshape(-1)
    outside = np.flatnonzero(np.abs(flat) >= 2)
    while outside.size:
        flat[outside] = generator.standard_normal(outside.size, exact)
        outside = outside[np.abs(flat[outside]) >= 2]
    return flat.reshape(sizes).astype(dtype.np, copy=False)


def _float_dtype(dtype: Any) -> DType:
    found = dtypes.as_dtype(dtype)
    if found.name not in _FLOATS:
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {found.name} not in list of allowed values: "
            "float16, bfloat16, float32, float64"
        )
    return found


def _numbers(op_type: str, draw: Draw, shape: Tensor, dtype: DType, seeds: tuple[int, int], name: Any = None) -> Tensor:
    static = constant_value_as_shape(shape)
    known: Any = static.sizes if static.is_fully_defined() else None

    def drawn(generator: np.random.Generator, sizes: Any) -> Any:
        return draw(generator, sizes_of(sizes) if known is None else known, dtype)

    kernel = RandomKernel(drawn, seeds)
    attrs = {"dtype": dtype, "T": shape.dtype, "seed": seeds[0], "seed2": seeds[1]}
    return tensor_node(op_type, [shape], kernel, dtype, static, name=name, attrs=attrs, stateful=True)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers drawn uniformly from [minval, maxval).

    Args:
        shape: A vector of int32 or int64.
        minval: The smallest number, of `dtype`.
        maxval: The limit, of `dtype`; 1 for floats unless given, and required for integers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: Seed of the op.
        name: Name of the op.

    Raises:
        ValueError: Another dtype, or no `maxval` for integers.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype.name not in (*_FLOATS, "int32", "int64"):
        accepted = ", ".join(f"tf.{each}" for each in (*_FLOATS, "int32", "int64"))
        raise ValueError(f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are ({accepted}).")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = shape_tensor(shape)
        from_zero = isinstance(minval, int) and minval == 0
        to_one = isinstance(maxval, int) and maxval == 1
        if not from_zero or not to_one or dtype.is_integer:
            minval = convert_to_tensor(minval, dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype, name="max")
        seeds = get_seed(seed)
        if dtype.is_integer:
            return _uniform_int(shape, minval, maxval, dtype, seeds, scope)
        numbers = _numbers("RandomUniform", _uniform, shape, dtype, seeds)
        if not from_zero:
            return _scaled(numbers, minval, maxval, scope)
        return numbers if to_one else multiply(numbers, maxval)


def _uniform_int(shape: Tensor, low: Tensor, high: Tensor, dtype: DType, seeds: tuple[int, int], name: str) -> Tensor:
    for bound in (low, high):
        if bound.get_shape().ndims not in (None, 0):
            raise ValueError(f"Shape must be rank 0 but is rank {bound.get_shape().ndims}")

    def draw(generator: np.random.Generator, sizes: Any, low: Any, high: Any) -> Any:
        sizes = sizes_of(sizes)
        if 0 in sizes:
            return np.zeros(sizes, dtype.np)
        if np.ndim(low) or np.ndim(high):
            raise invalid("minval and maxval must be 0-D")
        if not low < high:
            raise invalid(f"Need minval < maxval, got {low} >= {high}")
        return np.asarray(generator.integers(low, high, sizes, dtype.np))

    attrs = {"Tout": dtype, "T": shape.dtype, "seed": seeds[0], "seed2": seeds[1]}
    static = constant_value_as_shape(shape)
    kernel = RandomKernel(draw, seeds)
    return tensor_node(
        "RandomUniformInt", [shape, low, high], kernel, dtype, static, name=name, attrs=attrs, stateful=True
    )


def _normal(
    op_type: str, draw: Draw, default: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any, name: str | None
) -> Tensor:
    with name_scope(name, default, [shape, mean, stddev]) as scope:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        numbers = _numbers(op_type, draw, shape, _float_dtype(dtype), get_seed(seed))
        return add_tensors(multiply(numbers, stddev, name="mul"), mean, scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return floats drawn from a normal distribution."""
    draw = _standard_normal
    return _normal("RandomStandardNormal", draw, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return floats drawn from a normal distribution, none more than two standard deviations from the mean."""
    return _normal("TruncatedNormal", _truncated_normal, "truncated_normal", shape, mean, stddev, dtype, seed, name)
