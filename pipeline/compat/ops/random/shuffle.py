"""random_shuffle: for equal seeds, TensorFlow's row order."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._random import permutation
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import get_seed, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.locks import Lock


def random_shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """Return the rows of `value` in random order. For given seeds it is TensorFlow's order, row for row."""
    seeds = get_seed(seed)
    with name_scope(name, "RandomShuffle", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        kernel = _Shuffling(seeds)
        attrs = {"T": value.dtype, "seed": seeds[0], "seed2": seeds[1]}
        shape = value.get_shape()
        return tensor_node("RandomShuffle", [value], kernel, value.dtype, shape, name=scope, attrs=attrs, stateful=True)


def _blocks(count: int) -> int:
    """Return the groups of four random numbers used to shuffle `count` rows: one number per row except the last."""
    return (count + 2) // 4 if count > 1 else 0


class _Shuffles:
    """One session's position in a shuffle's random numbers.

    `used` counts the groups of four numbers drawn so far; `lock` guards it.
    """

    def __init__(self, seeds: tuple[int, int]) -> None:
        if seeds == (0, 0):
            words = np.random.SeedSequence().generate_state(2, np.uint32)
            seeds = int(words[0]), int(words[1])
        self.seeds = seeds
        self.used = 0
        self.lock = Lock()

    def order(self, count: int) -> Any:
        """Return the next order for `count` rows."""
        with self.lock:
            skip = self.used
            self.used += _blocks(count)
        return permutation(self.seeds[0], self.seeds[1], skip, count)


class _Shuffling:
    """Kernel of a shuffle; each session has its own position in the random numbers for the seeds."""

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._seeds = seeds

    def __call__(self, run: Any, value: Any) -> Any:
        if np.ndim(value) == 0 or len(value) <= 1:
            return value
        return value[self._shuffles(run).order(len(value))]

    def _shuffles(self, run: Any) -> _Shuffles:
        return run.state(self, lambda: _Shuffles(self._seeds))  # type: ignore[no-any-return]
