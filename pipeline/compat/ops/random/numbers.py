"""Random numbers: uniform, normal and truncated normal, drawn by NumPy.

The distributions match TensorFlow, but the numbers differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import get_seed, name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.math.arithmetic import add_tensors, multiply, subtract
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid
from pipeline.locks import Lock


def _generator(seed: int, seed2: int) -> np.random.Generator:
    if seed == 0 and seed2 == 0:
        return np.random.Generator(np.random.Philox())
    words = np.array([seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF], np.uint64)
    return np.random.Generator(np.random.Philox(key=words))


class RandomKernel:
    """A stateful kernel that calls `draw(generator, *values)`.

    Each op has one generator per session, seeded by the pair from `get_seed`. One call at a time uses it.
    """

    def __init__(self, draw: Callable[..., Any], seeds: tuple[int, int]) -> None:
        self._draw, self._seeds = draw, seeds

    def __call__(self, run: Any, *values: Any) -> Any:
        generator, lock = run.state(self, self._make)
        with lock:
            return self._draw(generator, *values)

    def _make(self) -> tuple[np.random.Generator, Lock]:
        return _generator(*self._seeds), Lock()


def _dimension(size: Any) -> Any:
    return getattr(size, "value", size) if type(size).__name__ == "Dimension" else size


def shape_tensor(shape: Any) -> Tensor:
    """Return a shape argument as an int32 or int64 tensor; other values become a node named `shape`.

    Raises:
        TypeError: The dtype is neither.
        ValueError: The tensor is not a vector.
    """
    if isinstance(shape, (list, tuple)):
        if not shape:
            return convert_to_tensor(shape, dtypes.int32, name="shape")
        shape = tuple(_dimension(size) for size in shape)
    tensor: Tensor = convert_to_tensor(shape, name="shape")
    if tensor.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Value passed to parameter 'shape' has DataType {tensor.dtype.name} "
            "not in list of allowed values: int32, int64"
        )
    if tensor.get_shape().ndims not in (None, 1):
        # A scalar would mean an unknown shape, for which numbers cannot be drawn.
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.get_shape().ndims}")
    return tensor


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape's value as a tuple; InvalidArgumentError for a negative size."""
    sizes = tuple(int(size) for size in np.atleast_1d(shape))
    if any(size < 0 for size in sizes):
        raise invalid(f"Dimension {next(s for s in sizes if s < 0)} must be >= 0")
    return sizes


_FLOATS = ("float16", "bfloat16", "float32", "float64")
Draw = Callable[[np.random.Generator, tuple[int, ...], DType], Any]


def _scaled(numbers: Tensor, low: Tensor, high: Tensor, name: str) -> Tensor:
    width = subtract(high, low, name="sub")
    return add_tensors(multiply(numbers, width, name="mul"), low, name)


def _uniform(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from [0, 1), with as many random bits as the dtype's mantissa."""
    if dtype == dtypes.float32 or dtype == dtypes.float64:
        return np.asarray(generator.random(sizes, dtype.np))
    bits = 10 if dtype == dtypes.float16 else 7
    return (generator.integers(0, 1 << bits, sizes).astype(np.float32) / np.float32(1 << bits)).astype(dtype.np)


def _standard_normal(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from the standard normal distribution."""
    exact = np.float64 if dtype == dtypes.float64 else np.float32
    return np.asarray(generator.standard_normal(sizes, exact)).astype(dtype.np, copy=False)


def _truncated_normal(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Draw floats from the standard normal distribution; redraw those with magnitude 2 and more."""
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
        shape: An int32 or int64 vector.
        minval: The smallest number, with dtype `dtype`.
        maxval: Upper limit, excluded, with dtype `dtype`; 1 for floats by default, and required for integers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: The op's seed.
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


def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Return random class indices, drawn with the log-probabilities `logits`.

    Args:
        logits: [batch, classes], floats, not necessarily normalised.
        num_samples: Number of draws per row, an int32 scalar.
        seed: The op's seed.
        name: Scope name.
        output_dtype: int64 (the default) or int32.
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Draw class indices: `multinomial` under its later name."""
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def _draw(generator: np.random.Generator, logits: Any, samples: Any, dtype: Any) -> Any:
    """Draw `samples` class indices for each row in `logits`."""
    if np.ndim(logits) != 2:
        raise invalid(f"logits should be a matrix, got shape {list(np.shape(logits))}")
    if samples < 0:
        raise invalid(f"num_samples should be nonnegative, got {samples}")
    rows, classes = logits.shape
    if rows and samples and not classes:
        raise invalid(f"num_classes should be positive, got {classes}")
    drawn = np.empty((rows, int(samples)), dtype)
    for row in range(rows):
        weights = np.asarray(logits[row], np.float64)
        finite = np.isfinite(weights)
        top = weights[finite].max() if finite.any() else 0.0
        total = np.cumsum(np.where(finite, np.exp(weights - top, where=finite, out=np.zeros_like(weights)), 0.0))
        picked = np.searchsorted(total, generator.random(int(samples)) * total[-1], side="right")
        drawn[row] = np.minimum(picked, classes - 1)
    return drawn


def _categorical(logits: Any, samples: Any, dtype: Any, seed: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    dtype = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are (tf.int32, tf.int64).")
    seeds = get_seed(seed)
    with name_scope(None, "Multinomial", [logits, samples]) as scope:
        samples = convert_to_tensor(samples, dtypes.int32, name="num_samples")
        rows = logits.get_shape().with_rank(2).sizes[0] if logits.get_shape().ndims is not None else None
        count = constant_value(samples)
        if count is not None and count < 0:
            raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {count}")
        kernel = RandomKernel(lambda generator, values, count: _draw(generator, values, count, dtype.np), seeds)
        attrs = {"T": logits.dtype, "output_dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
        static = TensorShape([rows, None if count is None else int(count)])
        return tensor_node(
            "Multinomial", [logits, samples], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
        )
