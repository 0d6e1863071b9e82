"""Random numbers: TensorFlow's distributions drawn by NumPy, and its exact row shuffle.

Every operation has one generator per session, seeded by the pair of `core.seeds.get_seed`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline import errors
from pipeline._queue import permutation
from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import DType
from pipeline.compat.core.graph import get_default_graph, name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.seeds import get_seed
from pipeline.compat.core.shapes import broadcast_static_shape
from pipeline.compat.core.static import constant_value_as_shape
from pipeline.compat.core.tensor import Tensor

FLOATS = ("float16", "bfloat16", "float32", "float64")


def set_random_seed(seed: Any) -> None:
    """Set the seed of the default graph (None: none)."""
    get_default_graph().seed = seed


def _generator(seed: int, seed2: int) -> np.random.Generator:
    if seed == 0 and seed2 == 0:
        return np.random.Generator(np.random.Philox())
    words = np.array([seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF], np.uint64)
    return np.random.Generator(np.random.Philox(key=words))


def drawing(draw: Callable[..., Any], seeds: tuple[int, int]) -> Callable[..., Any]:
    """A stateful kernel that calls `draw(generator, *values)` with its session's generator, one call at a time."""
    key = object()

    def make() -> tuple[np.random.Generator, threading.Lock]:
        return _generator(*seeds), threading.Lock()

    def kernel(run: Any, *values: Any) -> Any:
        generator, lock = run.state(key, make)
        with lock:
            return draw(generator, *values)

    return kernel


def _dimension(size: Any) -> Any:
    return getattr(size, "value", size) if type(size).__name__ == "Dimension" else size


def shape_tensor(shape: Any) -> Tensor:
    """The int32 or int64 tensor of a shape argument, a node named `shape` unless it is a tensor.

    Raises:
        TypeError: Neither int32 nor int64.
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
        # Shapes of rank 0 are accepted only as the unknown shape, which is no use for drawing.
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.get_shape().ndims}")
    return tensor


def sizes_of(shape: Any) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in np.atleast_1d(shape))
    if any(size < 0 for size in sizes):
        raise errors.InvalidArgumentError(None, None, f"Dimension {next(s for s in sizes if s < 0)} must be >= 0")
    return sizes


def binary(op_type: str, function: Any, x: Tensor, y: Tensor, name: str) -> Tensor:
    shape = broadcast_static_shape(x.get_shape(), y.get_shape())
    return tensor_node(op_type, [x, y], function, x.dtype.base_dtype, shape, name=name)


def _scaled(numbers: Tensor, low: Tensor, high: Tensor, name: str) -> Tensor:
    width = binary("Sub", np.subtract, high, low, "sub")
    return binary("AddV2", np.add, binary("Mul", np.multiply, numbers, width, "mul"), low, name)


def uniform_numbers(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Numbers from [0, 1) of a floating dtype, with as many random bits as its mantissa has."""
    if dtype == dtypes.float32 or dtype == dtypes.float64:
        return np.asarray(generator.random(sizes, dtype.np))
    bits = 10 if dtype == dtypes.float16 else 7
    return (generator.integers(0, 1 << bits, sizes).astype(np.float32) / np.float32(1 << bits)).astype(dtype.np)


def normal_numbers(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Numbers from the standard normal distribution."""
    exact = np.float64 if dtype == dtypes.float64 else np.float32
    return np.asarray(generator.standard_normal(sizes, exact)).astype(dtype.np, copy=False)


def truncated_numbers(generator: np.random.Generator, sizes: tuple[int, ...], dtype: DType) -> Any:
    """Numbers from the standard normal distribution, drawn again where they are beyond two."""
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
    if found.name not in FLOATS:
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {found.name} not in list of allowed values: "
            "float16, bfloat16, float32, float64"
        )
    return found


def _numbers(
    op_type: str, function: Any, shape: Tensor, dtype: DType, seeds: tuple[int, int], name: Any = None
) -> Tensor:
    kernel = drawing(lambda generator, sizes: function(generator, sizes_of(sizes), dtype), seeds)
    attrs = {"dtype": dtype, "T": shape.dtype, "seed": seeds[0], "seed2": seeds[1]}
    static = constant_value_as_shape(shape)
    return tensor_node(op_type, [shape], kernel, dtype, static, name=name, attrs=attrs, stateful=True)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Numbers drawn uniformly from [minval, maxval).

    Args:
        shape: 1-D int32 or int64.
        minval, maxval: Of `dtype`; `maxval` is 1 for floats and has to be given for integers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.

    Raises:
        ValueError: Another dtype, or no `maxval` for integers.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype.name not in (*FLOATS, "int32", "int64"):
        accepted = ", ".join(f"tf.{each}" for each in (*FLOATS, "int32", "int64"))
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
        numbers = _numbers("RandomUniform", uniform_numbers, shape, dtype, seeds)
        if not from_zero:
            return _scaled(numbers, minval, maxval, scope)
        return numbers if to_one else binary("Mul", np.multiply, numbers, maxval, "Mul")


def _uniform_int(shape: Tensor, low: Tensor, high: Tensor, dtype: DType, seeds: tuple[int, int], name: str) -> Tensor:
    for bound in (low, high):
        if bound.get_shape().ndims not in (None, 0):
            raise ValueError(f"Shape must be rank 0 but is rank {bound.get_shape().ndims}")

    def draw(generator: np.random.Generator, sizes: Any, low: Any, high: Any) -> Any:
        sizes = sizes_of(sizes)
        if 0 in sizes:
            return np.zeros(sizes, dtype.np)
        if np.ndim(low) or np.ndim(high):
            raise errors.InvalidArgumentError(None, None, "minval and maxval must be 0-D")
        if not low < high:
            raise errors.InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
        return np.asarray(generator.integers(low, high, sizes, dtype.np))

    attrs = {"Tout": dtype, "T": shape.dtype, "seed": seeds[0], "seed2": seeds[1]}
    static = constant_value_as_shape(shape)
    kernel = drawing(draw, seeds)
    return tensor_node(
        "RandomUniformInt", [shape, low, high], kernel, dtype, static, name=name, attrs=attrs, stateful=True
    )


def _normal(kind: str, function: Any, names: tuple[str, str], args: tuple[Any, ...], name: Any) -> Tensor:
    shape, mean, stddev, dtype, seed = args
    with name_scope(name, names[0], [shape, mean, stddev]) as scope:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        numbers = _numbers(kind, function, shape, _float_dtype(dtype), get_seed(seed))
        return binary("AddV2", np.add, binary("Mul", np.multiply, numbers, stddev, "mul"), mean, scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of a floating dtype from a normal distribution."""
    args = (shape, mean, stddev, dtype, seed)
    return _normal("RandomStandardNormal", normal_numbers, ("random_normal", ""), args, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of a floating dtype from a normal distribution without what is more than two deviations away."""
    args = (shape, mean, stddev, dtype, seed)
    return _normal("TruncatedNormal", truncated_numbers, ("truncated_normal", ""), args, name)


def random_shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order; the order for given seeds is TensorFlow's."""
    seeds = get_seed(seed)
    with name_scope(name, "RandomShuffle") as scope:
        value = convert_to_tensor(value, name="value")
        kernel = _shuffling(seeds)
        attrs = {"T": value.dtype, "seed": seeds[0], "seed2": seeds[1]}
        shape = value.get_shape()
        return tensor_node("RandomShuffle", [value], kernel, value.dtype, shape, name=scope, attrs=attrs, stateful=True)


class _Shuffles:
    """Where one session's shuffle is in its random numbers; `lock` guards `blocks`, the blocks used so far."""

    def __init__(self, seeds: tuple[int, int]) -> None:
        if seeds == (0, 0):
            words = np.random.SeedSequence().generate_state(2, np.uint32)
            seeds = int(words[0]), int(words[1])
        self.seeds = seeds
        self.blocks = 0
        self.lock = threading.Lock()

    def order(self, count: int) -> Any:
        """The next order of `count` rows."""
        with self.lock:
            skip = self.blocks
            self.blocks += (count + 2) // 4
        return permutation(self.seeds[0], self.seeds[1], skip, count)


def _shuffling(seeds: tuple[int, int]) -> Callable[..., Any]:
    key = object()

    def kernel(run: Any, value: Any) -> Any:
        if np.ndim(value) == 0 or len(value) <= 1:
            return value
        return value[run.state(key, lambda: _Shuffles(seeds)).order(len(value))]

    return kernel
