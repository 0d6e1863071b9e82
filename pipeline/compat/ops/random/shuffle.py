"""random_shuffle: for the same seeds, the same order of rows as in TensorFlow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._random import permutation
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.seeds import get_seed
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.convert import convert_to_tensor


def random_shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """Return the rows of `value` in random order. For given seeds it is TensorFlow's order, row for row."""
    seeds = get_seed(seed)
    with name_scope(name, "RandomShuffle") as scope:
        value = convert_to_tensor(value, name="value")
        kernel = _shuffling(seeds)
        attrs = {"T": value.dtype, "seed": seeds[0], "seed2": seeds[1]}
        shape = value.get_shape()
        return tensor_node("RandomShuffle", [value], kernel, value.dtype, shape, name=scope, attrs=attrs, stateful=True)


class _Shuffles:
    """The position of one session's shuffle in its random numbers.

    `used` counts the groups of four numbers drawn so far; `lock` guards it.
    """

    def __init__(self, seeds: tuple[int, int]) -> None:
        if seeds == (0, 0):
            words = np.random.SeedSequence().generate_state(2, np.uint32)
            seeds = int(words[0]), int(words[1])
        self.seeds = seeds
        self.used = 0
        self.lock = threading.Lock()

    def order(self, count: int) -> Any:
        """Return the next order of `count` rows."""
        with self.lock:
            skip = self.used
            self.used += (count + 2) // 4
        return permutation(self.seeds[0], self.seeds[1], skip, count)


def _shuffling(seeds: tuple[int, int]) -> Callable[..., Any]:
    key = object()

    def kernel(run: Any, value: Any) -> Any:
        if np.ndim(value) == 0 or len(value) <= 1:
            return value
        return value[run.state(key, lambda: _Shuffles(seeds)).order(len(value))]

    return kernel
