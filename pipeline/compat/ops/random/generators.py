"""What random ops share: a generator for each session, and the shape to draw."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid


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

    def _make(self) -> tuple[np.random.Generator, threading.Lock]:
        return _generator(*self._seeds), threading.Lock()


def _dimension(size: Any) -> Any:
    return getattr(size, "value", size) if type(size).__name__ == "Dimension" else size


def shape_tensor(shape: Any) -> Tensor:
    """Return a shape argument as a tensor of int32 or int64; other values become a node named `shape`.

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
        # A scalar would stand for the unknown shape, and that cannot be drawn.
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.get_shape().ndims}")
    return tensor


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return the value of a shape as a tuple; InvalidArgumentError for a negative size."""
    sizes = tuple(int(size) for size in np.atleast_1d(shape))
    if any(size < 0 for size in sizes):
        raise invalid(f"Dimension {next(s for s in sizes if s < 0)} must be >= 0")
    return sizes
