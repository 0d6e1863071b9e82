"""mix: elements of several datasets, drawn by weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, joined
from pipeline.stages.draws import uniform
from pipeline.stages.node import Node, opened, total
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Several, Stream, whole

STOPS = ("all_exhausted", "first_exhausted")

# The most elements to hand out at once, and the most draws to make ahead. After a stream has ended, draws are few at
# first: with 4,096 for each of 2,000 short streams, mixing took twice as long.
_AT_ONCE, _DRAWN = 256, 4096


class Mix(Node):
    """Elements of several datasets, drawn by weight.

    Args:
        inputs: The datasets.
        weights: How often each is drawn, relative to the others.
        seed: Of the draws.
        stop: "all_exhausted" or "first_exhausted".
    """

    kind = "mix"

    def __init__(self, inputs: Sequence[Node], weights: NDArray[np.float64], seed: int | None, stop: str) -> None:
        self.inputs, self._weights, self.stop = tuple(inputs), weights, stop
        self._seed = Seed(seed, self.kind)
        self.note_place()

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"weights": [float(each) for each in self._weights], "stop": self.stop}

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        return total(self.inputs) if self.stop == "all_exhausted" else None

    def stream(self, run: Run, state: Any = None) -> Stream:
        count = len(self.inputs)
        drawn, ended, states = (0, [False] * count, [(None, 0)] * count) if state is None else state
        if len(ended) != count or not all(isinstance(each, (bool, int)) for each in ended):
            raise invalid("load_state_dict: the state is damaged: it is of a mix with another number of inputs")
        inputs = zip(self.inputs, states, strict=True)
        sources = [Ahead(opened(each, run.inner(i), at), whole(skip)) for i, (each, (at, skip)) in enumerate(inputs)]
        seed, seed2 = run.seeds.pair(self._seed)
        pair = seed, (seed2 + run.epoch) & (1 << 63) - 1
        to_the_end, names = self.stop == "all_exhausted", [each.name_of for each in self.inputs]
        return Mixing(sources, names, self._weights, pair, to_the_end, whole(drawn), np.array(ended, bool))


class Mixing(Several):
    """Elements drawn from streams. The state is [the number of draws, which streams have ended, their states].

    A draw is the same whatever is taken at once.

    Args:
        sources: The streams.
        names: Returns of each the name of the element with a number.
        weights: How often each is drawn.
        pair: The two seeds of the draws.
        to_the_end: Whether it goes on when one has ended.
        count: How many draws were made before.
        ended: Which streams have ended.
    """

    def __init__(
        self,
        sources: list[Ahead],
        names: Sequence[Callable[[int], str | None]],
        weights: NDArray[np.float64],
        pair: tuple[int, int],
        to_the_end: bool,
        count: int,
        ended: NDArray[np.bool_],
    ) -> None:
        super().__init__(sources)
        self._names, self._weights, self._pair, self._to_the_end = names, weights, pair, to_the_end
        self._count, self._ended = count, ended
        self._forget_draws()

    def _forget_draws(self) -> None:
        """Forget draws that were made ahead, as a stream has ended."""
        self._draws, self._draws_from, self._ahead = np.empty(0, np.int64), 0, _AT_ONCE

    def take(self, n: int) -> Block | None:
        while self._to_the_end or not self._ended.any():
            picks = self._picks(min(n, _AT_ONCE))
            if picks is None:
                break
            block = self._drawn(picks)
            if block is not None:
                self._count += len(block)
                return block
        return None

    def drop(self, n: int) -> int:
        left = n
        while left and (self._to_the_end or not self._ended.any()) and (picks := self._picks(1)) is not None:
            if self.sources[int(picks[0])].drop(1):
                self._count += 1
                left -= 1
            else:
                self._end(int(picks[0]))
        return n - left

    def _end(self, which: int) -> None:
        """Note that a stream has ended."""
        self._ended[which] = True
        self._forget_draws()

    def _picks(self, n: int) -> NDArray[np.int64] | None:
        """Return which streams the next draws come from; None if all have ended."""
        at = self._count - self._draws_from
        if at + n > len(self._draws):
            weights = np.where(self._ended, 0.0, self._weights)
            if not weights.any():
                return None
            limits = np.cumsum(weights) / weights.sum()
            draws = uniform(self._pair, np.arange(self._count, self._count + self._ahead))
            self._ahead = min(2 * self._ahead, _DRAWN)
            self._draws = np.minimum(np.searchsorted(limits, draws, "right"), int(np.flatnonzero(weights)[-1]))
            self._draws_from, at = self._count, 0
        return self._draws[at : at + n]

    def _drawn(self, picks: NDArray[np.int64]) -> Block | None:
        """Return the elements of draws, up to the first whose stream has ended or fails; None if that is the first."""
        looked, n = [], len(picks)
        for i in np.flatnonzero(np.bincount(picks)).tolist():
            mine = np.flatnonzero(picks[:n] == i)
            if not len(mine):
                continue
            block = self._look(i, len(mine), first=mine[0] == 0)
            have = 0 if block is None else len(block)
            if have < len(mine):
                n = int(mine[have])
            if block is not None:
                looked.append((i, mine, block))
        if n == 0:
            self._end(int(picks[0]))
            return None
        blocks, places = [], []
        for i, mine, block in looked:
            mine = mine[: np.searchsorted(mine, n)]
            if len(mine):
                self.sources[i].drop(len(mine))
                blocks.append(
                    (block if len(block) == len(mine) else block.part(0, len(mine))).renumbered(i, self._names[i])
                )
                places.append(mine)
        if len(blocks) == 1:
            return blocks[0]
        return joined(blocks).picked(np.concatenate(places).argsort(kind="stable"))

    def _look(self, i: int, n: int, first: bool) -> Block | None:
        """Look at elements of stream i. Its error is raised by the `first` draw; else it comes after those before."""
        try:
            return self.sources[i].look(n)  # type: ignore[no-any-return]
        except Exception:
            if first:
                raise
            return None

    def state(self) -> Any:
        return [self._count, [int(each) for each in self._ended], super().state()]
