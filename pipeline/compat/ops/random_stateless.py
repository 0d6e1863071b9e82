"""Random numbers that are a function of their seed: tf.random.stateless_uniform and its siblings.

The numbers are TensorFlow's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import first_input
from pipeline.compat.ops.random.random import FLOATS, binary, shape_tensor, sizes_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value_as_shape

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_SCRAMBLE = (0x3EC8F720, 0x02461E29)


def philox(key: Any, counters: Any) -> Any:
    """Return the Philox 4x32-10 blocks of uint32 (n, 4) for counters (n, 4) and a key of two words."""
    words = np.asarray(counters, np.uint64).T.copy()
    first, second = (int(each) for each in key)
    for _ in range(10):
        a, b = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = np.stack(
            [
                (b >> _SHIFT) ^ words[1] ^ np.uint64(first),
                b & _LOW,
                (a >> _SHIFT) ^ words[3] ^ np.uint64(second),
                a & _LOW,
            ]
        )
        first, second = (first + 0x9E3779B9) & 0xFFFFFFFF, (second + 0xBB67AE85) & 0xFFFFFFFF
    return words.T.astype(np.uint32)


def _key_counter(seed: Any) -> tuple[Any, Any]:
    words = np.asarray(seed, np.int64).view(np.uint64)
    mixed = philox(_SCRAMBLE, [[words[0] & _LOW, words[0] >> _SHIFT, words[1] & _LOW, words[1] >> _SHIFT]])[0]
    mixed = mixed.astype(np.uint64)
    pairs = mixed[0::2] | (mixed[1::2] << _SHIFT)
    return pairs[:1], np.array([0, pairs[1]], np.uint64)


class _Source:
    """The random words of a key and a counter."""

    def __init__(self, key: Any, counter: Any) -> None:
        self._key, self._counter = key, counter

    def blocks(self, places: Any) -> Any:
        """Four words for each place."""
        numbers = np.asarray(places, np.uint64) + self._counter[0]
        high = np.broadcast_to(self._counter[1], numbers.shape)
        counters = np.stack([numbers & _LOW, numbers >> _SHIFT, high & _LOW, high >> _SHIFT], axis=1)
        return philox((int(self._key[0]) & 0xFFFFFFFF, int(self._key[0]) >> 32), counters)

    def __call__(self, count: int) -> Any:
        """The first `count` words, at least."""
        return self.blocks(np.arange(-(-count // 4))).reshape(-1)


def _pairs(words: Any) -> Any:
    """Words of 64 bits, the low half first."""
    wide = words.astype(np.uint64)
    return wide[0::2] | (wide[1::2] << _SHIFT)


def _fractions(words: Any, dtype: DType) -> Any:
    """Numbers from [0, 1): random mantissas."""
    if dtype is dtypes.float64:
        wide = words.astype(np.uint64)
        mantissa = ((wide[0::2] & np.uint64(0xFFFFF)) << _SHIFT) | wide[1::2]
        return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0
    if dtype is dtypes.float32:
        return ((words & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
    bits = 10 if dtype is dtypes.float16 else 7
    scaled = (words & np.uint32((1 << bits) - 1)).astype(np.float32) / np.float32(1 << bits)
    return scaled.astype(dtype.np)


def _uniform(words: _Source, count: int, dtype: DType) -> Any:
    return _fractions(words(2 * count if dtype is dtypes.float64 else count), dtype)[:count]


def _box_muller(words: Any, exact: DType) -> Any:
    flat = _fractions(words, exact)
    radius = np.sqrt(exact.np.type(-2) * np.log(np.maximum(flat[0::2], exact.np.type(1e-7))))
    angle = exact.np.type(2 * np.pi) * flat[1::2]
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=1).reshape(-1)


def _normal(words: _Source, count: int, dtype: DType) -> Any:
    exact = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    found = _box_muller(words(2 * count + 4 if exact is dtypes.float64 else count + 1), exact)
    return found[:count].astype(dtype.np, copy=False)


def _truncated(words: _Source, count: int, dtype: DType) -> Any:
    # Each group of results has a stretch of 256 words for each of them, and takes the first numbers within bounds.
    exact = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    group = 2 if exact is dtypes.float64 else 4
    groups, length = -(-count // group), 64 * group
    tried = 16
    places = (np.arange(groups)[:, None] * length + np.arange(tried)).reshape(-1)
    numbers = _box_muller(words.blocks(places).reshape(-1), exact).reshape(groups, -1)
    within = np.abs(numbers) < 2
    rank = np.cumsum(within, axis=1)
    chosen = within & (rank <= group)
    return numbers[chosen][:count].astype(dtype.np, copy=False)


def _seeded(seed: Any) -> tuple[Tensor, Tensor]:
    """The key and the counter that a seed gives: nodes of the graph."""
    with name_scope(None, "StatelessRandomGetKeyCounter") as scope:
        seed = first_input("seed", seed, ("int32", "int64"), dtypes.int64 if isinstance(seed, np.ndarray) else None)
        sizes = seed.shape.sizes
        where = f" for '{scope.rstrip('/')}' (op: 'StatelessRandomGetKeyCounter') with input shapes: {seed.shape}."
        if sizes is not None and len(sizes) != 1:
            raise ValueError(f"Shape must be rank 1 but is rank {len(sizes)}{where}")
        if sizes is not None and sizes[0] not in (None, 2):
            raise ValueError(f"Dimension must be 2 but is {sizes[0]}{where}")
        outputs = [(dtypes.uint64, (1,)), (dtypes.uint64, (2,))]
        made = node("StatelessRandomGetKeyCounter", [seed], outputs, _key_counter, scope)
    return made.outputs[0], made.outputs[1]


def _draw(op_type: str, shape: Tensor, seed: Any, dtype: DType, numbers: Any, name: Any = None, *more: Any) -> Tensor:
    """Make the op that draws `numbers(words, count, *more values)`."""
    key, counter = _seeded(seed)
    with name_scope(name, op_type) as scope:
        algorithm = convert_to_tensor(3, dtypes.int32, name="alg")

        def kernel(shape: Any, key: Any, counter: Any, _: Any, *values: Any) -> Any:
            sizes = sizes_of(shape)
            count = int(np.prod(sizes, dtype=np.int64))
            drawn = numbers(_Source(key, counter), count, *values)
            return np.asarray(drawn, dtype.np).reshape(sizes)

        static = constant_value_as_shape(shape)
        return tensor_node(op_type, [shape, key, counter, algorithm, *more], kernel, dtype, static, name=scope)


def _integers(dtype: DType) -> Any:
    def numbers(words: Any, count: int, *bounds: Any) -> Any:
        wide = dtype.size == 8
        drawn = _pairs(words(2 * count))[:count] if wide else words(count)[:count]
        if not bounds:
            return drawn.astype(dtype.np)
        low, high = (int(each) for each in bounds)
        if not low < high:
            from pipeline.errors import InvalidArgumentError

            raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
        return (drawn % drawn.dtype.type(high - low)).astype(dtype.np) + dtype.np.type(low)

    return numbers


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return numbers drawn uniformly from [minval, maxval): the same for the same seed.

    Args:
        shape: 1-D int32 or int64.
        seed: Two int32 or int64.
        minval, maxval: Of `dtype`; `maxval` is 1 for floats. For integers both may be None: all integers.
        dtype: float16, bfloat16, float32, float64, int32, int64, uint32 or uint64.
        name: Name of the op.
        alg: Not used: the algorithm is Philox.

    Raises:
        ValueError: Another dtype, one bound without the other, or a seed of another shape.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype.name not in (*FLOATS, "int32", "int64", "uint32", "uint64"):
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are floats and integers.")
    if dtype.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be both None or not None. "
            f"Got `minval`={minval} and `maxval`={maxval}."
        )
    if not dtype.is_integer and maxval is None:
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        shape = shape_tensor(shape)
        if dtype.is_integer and minval is None:
            return _draw("StatelessRandomUniformFullIntV2", shape, seed, dtype, _integers(dtype), scope)
        low = convert_to_tensor(minval, dtype, name="min")
        high = convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return _draw("StatelessRandomUniformIntV2", shape, seed, dtype, _integers(dtype), scope, low, high)
        numbers = _draw("StatelessRandomUniformV2", shape, seed, dtype, lambda words, n: _uniform(words, n, dtype))
        width = binary("Sub", np.subtract, high, low, "sub")
        return binary("AddV2", np.add, binary("Mul", np.multiply, numbers, width, "mul"), low, scope)


def _about(kind: str, label: str, numbers: Any, args: tuple[Any, ...], dtype: Any, name: Any) -> Tensor:
    shape, seed, mean, stddev = args
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, label, [shape, seed, mean, stddev]) as scope:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        drawn = _draw(kind, shape, seed, dtype, lambda words, count: numbers(words, count, dtype))
        return binary("AddV2", np.add, binary("Mul", np.multiply, drawn, stddev, "mul"), mean, scope)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return numbers of a floating dtype from a normal distribution; arguments as `stateless_uniform`."""
    kind = "StatelessRandomNormalV2"
    return _about(kind, "stateless_random_normal", _normal, (shape, seed, mean, stddev), dtype, name)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """As `stateless_normal`, without what is more than two deviations away."""
    kind = "StatelessTruncatedNormalV2"
    return _about(kind, "stateless_truncated_normal", _truncated, (shape, seed, mean, stddev), dtype, name)
