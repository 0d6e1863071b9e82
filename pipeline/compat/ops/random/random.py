"""Random numbers: TensorFlow's distributions drawn by NumPy, and its exact row shuffle.

Every operation has one generator per session, seeded by the pair of `core.seeds.get_seed`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._random import permutation
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.seeds import get_seed
from pipeline.compat.graph.shapes import TensorShape, broadcast_static_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid

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
        raise invalid(f"Dimension {next(s for s in sizes if s < 0)} must be >= 0")
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
            raise invalid("minval and maxval must be 0-D")
        if not low < high:
            raise invalid(f"Need minval < maxval, got {low} >= {high}")
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


def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Class numbers drawn with the log-probabilities `logits` (batch, classes).

    Args:
        logits: 2-D, floating, not necessarily normalised.
        num_samples: 0-D int32, samples a row.
        output_dtype: int64 (default) or int32.
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """As `multinomial`, under its later name."""
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def draw_classes(generator: np.random.Generator, logits: Any, samples: Any, dtype: Any) -> Any:
    """`samples` class numbers for each row of `logits`."""
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
    with name_scope(None, "Multinomial") as scope:
        samples = convert_to_tensor(samples, dtypes.int32, name="num_samples")
        rows = logits.get_shape().with_rank(2).sizes[0] if logits.get_shape().ndims is not None else None
        count = constant_value(samples)
        if count is not None and count < 0:
            raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {count}")
        kernel = drawing(lambda generator, values, count: draw_classes(generator, values, count, dtype.np), seeds)
        attrs = {"T": logits.dtype, "output_dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
        static = TensorShape([rows, None if count is None else int(count)])
        return tensor_node(
            "Multinomial", [logits, samples], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
        )


def random_poisson(
    lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """`shape` draws for each rate in `lam`: the result has shape `shape + lam.shape`."""
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        seeds = get_seed(seed)
        dtype = dtypes.as_dtype(dtype)
        with name_scope(None, "RandomPoissonV2") as scope:
            lam = convert_to_tensor(lam, name="rate")

            def draw(generator: np.random.Generator, sizes: Any, rates: Any) -> Any:
                return np.asarray(generator.poisson(rates, sizes_of(sizes) + np.shape(rates))).astype(dtype.np)

            static = constant_value_as_shape(shape).concatenate(lam.get_shape())
            kernel = drawing(draw, seeds)
            attrs = {"S": shape.dtype, "R": lam.dtype, "dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
            return tensor_node(
                "RandomPoissonV2", [shape, lam], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
            )


def random_gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """`shape` draws from each gamma distribution of `alpha` and `beta` (inverse scale), which broadcast."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        static = broadcast_static_shape(alpha.get_shape(), beta.get_shape())
        sizes = [_shape_of(each) for each in (alpha, beta)]
        common = tensor_node("BroadcastArgs", sizes, _broadcast_sizes, dtypes.int32, [static.ndims])
        alpha = tensor_node("BroadcastTo", [alpha, common], _broadcast_to, dtype, static)
        seeds = get_seed(seed)

        def draw(generator: np.random.Generator, sizes: Any, alphas: Any) -> Any:
            return np.asarray(generator.standard_gamma(alphas, sizes_of(sizes) + np.shape(alphas))).astype(dtype.np)

        attrs = {"S": shape.dtype, "T": dtype, "seed": seeds[0], "seed2": seeds[1]}
        full = constant_value_as_shape(shape).concatenate(static)
        numbers = tensor_node(
            "RandomGamma", [shape, alpha], drawing(draw, seeds), dtype, full, attrs=attrs, stateful=True
        )
        scaled = binary("RealDiv", np.divide, numbers, beta, "truediv")
        with name_scope(None, "Maximum") as scope:
            tiny = constant(np.finfo(dtype.np).tiny, dtype, name="x")
            return binary("Maximum", np.maximum, tiny, scaled, scope)


def _shape_of(tensor: Tensor) -> Tensor:
    shape = tensor.get_shape()
    if shape.is_fully_defined():
        return constant(shape.as_list(), dtypes.int32, name="Shape")
    return tensor_node(
        "Shape", [tensor], lambda value: np.asarray(np.shape(value), np.int32), dtypes.int32, [shape.ndims]
    )


def _broadcast_sizes(first: Any, second: Any) -> Any:
    return np.asarray(np.broadcast_shapes(tuple(first.tolist()), tuple(second.tolist())), np.int32)


def _broadcast_to(value: Any, sizes: Any) -> Any:
    return np.broadcast_to(value, tuple(sizes.tolist()))
