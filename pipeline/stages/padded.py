"""Equal shards without loss: a host without a last element gets another host's element as padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.stages.block import Block, Numbers, sizes_of
from pipeline.stages.index import Index, Spaced
from pipeline.stages.node import Node, indexed, opened
from pipeline.stages.run import Run
from pipeline.stages.selection import Shard
from pipeline.stages.stream import Stage, Stream, whole


class PaddedShard(Shard):
    """Every n-th element, starting at index i. A host without an element in the last turn gets another host's.

    Padding counts as no examples: its size in a block is 0.
    """

    def __init__(self, source: Node, i: int, n: int, alike: bool = False) -> None:
        super().__init__(source, i, n, False, alike)
        self.equal = True

    def options(self) -> dict[str, Any]:
        return {**super().options(), "pad": True}

    def end(self) -> int:
        return self.source.end()

    def length(self) -> int | None:
        length = self.source.length()
        return None if length is None else -(-length // self.n)

    def index(self, run: Run) -> Index:
        source = indexed(self.source, self._of_hosts(run))
        return PaddedIndex(source, self.i * source.step, self.step, source.stop)

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, left = (None, 0) if state is None else state
        return PaddedSharding(opened(self.source, self._of_hosts(run), before), self.i, self.n, whole(left))


class PaddedIndex(Spaced):
    """Examples at equal distances. A place past the end is replaced by the first in its turn."""

    def block(self, places: Numbers) -> Block:
        wanted = places + self._offset
        missing = wanted >= self._source.stop
        block = self._source.block(np.where(missing, places, wanted))
        if not missing.any():
            return block
        sizes = np.where(missing[: len(block)], 0, sizes_of(block))
        return Block(block.values, block.numbers, block.error, block.names, sizes)


class PaddedSharding(Stage):
    """One element per turn over all hosts, or the turn's first. The state is as in `Sharding`."""

    def __init__(self, source: Stream, i: int, n: int, left: int) -> None:
        super().__init__(source)
        self._i, self._n, self._left = i, n, left

    def take(self, n: int) -> Block | None:
        left, self._left = self._left, 0
        if self.source.drop(left) < left:
            return None
        first = self.source.take(1)
        if first is None or not self._i:
            self._left = 0 if first is None else self._n - 1
            return first
        others = self._i - 1
        mine = self.source.take(1) if self.source.drop(others) == others else None
        if mine is None:
            return Block(first.values, first.numbers, first.error, first.names, 0)
        self._left = self._n - self._i - 1
        return mine

    def state(self) -> Any:
        return [self.source.state(), self._left]
