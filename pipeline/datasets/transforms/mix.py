"""mix: elements of several datasets, drawn by weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.flow.block import Block, Columns, Examples, join, join_made
from pipeline.flow.draws import uniform
from pipeline.flow.ids import PartHashes, marked
from pipeline.flow.stream import Ahead, Stream, dropped, place, seek_later, whole

STOPS = ("all_exhausted", "first_exhausted")


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
        known = [each.length() for each in self.inputs]
        if self.stop != "all_exhausted" or None in known:
            return None
        return ENDLESS if ENDLESS in known else sum(each for each in known if each is not None)

    def open(self, shared: Opening, epoch: int) -> Stream:
        streams = [each.open(shared, epoch) for each in self.inputs]
        seed, seed2 = shared.pair(self._seed)
        pair = seed, (seed2 + epoch) & (1 << 63) - 1
        return shared.gauged(self, _Mixed(streams, self._weights, pair, self.stop == "all_exhausted"))


class _Mixed:
    """Elements drawn from streams. The draw of a number is the same whatever is taken at once."""

    _AT_ONCE = 256
    _DRAWN = 4096  # the most draws to make at once: for each batch of 128 they were a seventh of its time

    def __init__(
        self, streams: Sequence[Stream], weights: NDArray[np.float64], pair: tuple[int, int], whole: bool
    ) -> None:
        self._streams = [Ahead(each, 4 * self._AT_ONCE) for each in streams]
        self._weights, self._pair, self._whole = weights, pair, whole
        self._ended = np.zeros(len(streams), bool)
        self._count = 0
        self._forget_draws()
        self._over = False

    def _forget_draws(self) -> None:
        """Forget draws made ahead: a stream has ended, or the number is another one. The next ones are few at first:
        with 4,096 for each of 2,000 short streams, mixing took twice as long."""
        self._draws, self._draws_from, self._ahead = np.zeros(0, np.int64), 0, self._AT_ONCE

    def take(self, n: int) -> Block | None:
        while not self._over:
            picks = self._picks(min(n, self._AT_ONCE))
            if picks is None:
                break
            got, drawn = self._look(picks)
            if drawn:
                return self._drawn(got, drawn)
        return None

    def _picks(self, n: int) -> NDArray[np.int64] | None:
        """Return which streams the next draws come from; None if all have ended."""
        at = self._count - self._draws_from
        if at + n > len(self._draws):
            weights = np.where(self._ended, 0.0, self._weights)
            if not weights.any():
                self._over = True
                return None
            limits = np.cumsum(weights) / weights.sum()
            draws = uniform(self._pair, np.arange(self._count, self._count + self._ahead))
            self._ahead = min(2 * self._ahead, self._DRAWN)
            last = int(np.flatnonzero(weights)[-1])
            self._draws = np.minimum(np.searchsorted(limits, draws, "right"), last)
            self._draws_from, at = self._count, 0
        return self._draws[at : at + n]

    def _look(self, picks: NDArray[np.int64]) -> tuple[list[tuple[int, NDArray[np.int64], list[Block]]], int]:
        """Look at the elements of the draws. Return each stream's number, its places and elements, and how many draws
        can be made before a stream ends."""
        got, n = [], len(picks)
        for i in np.bincount(picks).nonzero()[0].tolist():
            places = (picks[:n] == i).nonzero()[0]
            if not len(places):
                continue
            blocks = self._streams[i].ready(len(places))
            got.append((i, places, blocks))
            have = sum(map(len, blocks))
            if have < len(places):
                n = int(places[have])  # the draw that finds it at its end, or fails
                if n == 0:
                    self._streams[i].raise_error()
                    self._ended[i] = True
                    self._forget_draws()
                    self._over = self._over or not self._whole
        return got, n

    def _drawn(self, got: list[tuple[int, NDArray[np.int64], list[Block]]], n: int) -> Block:
        drawn, blocks, parts = [], [], []
        for i, places, looked_at in got:
            mine = places[: np.searchsorted(places, n)] if places[-1] >= n else places
            if not len(mine):
                continue
            block = join(looked_at)
            if len(block) > len(mine):
                block = block[: len(mine)]
            ids = marked(block.ids, i)
            blocks.append(Block(block.values, ids, range(0)))
            drawn.append(mine)
            parts.append(ids)
            self._streams[i].drop(len(mine))
        first, self._count = self._count, self._count + n
        numbers = range(first, self._count)
        if len(blocks) == 1:
            return Block(blocks[0].values, blocks[0].ids, numbers)
        order = np.concatenate(drawn).argsort(kind="stable")
        hashes = np.concatenate([each.hashes for each in parts])[order]
        counts = np.concatenate([each.counts for each in parts])[order]
        return Block(Merged(blocks, drawn, order), PartHashes(hashes, counts), numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        inputs = place(*[each.position() for each in self._streams])
        return place(self._count, [int(each) for each in self._ended], inputs)

    def seek(self, position: Any) -> None:
        count, ended, inner = position
        if len(ended) != len(self._streams) or not all(isinstance(each, (bool, int)) for each in ended):
            raise ValueError("mix has another number of inputs")
        self._count = whole(count)
        self._ended = np.array(ended, bool)
        self._forget_draws()
        self._over = bool(self._ended.any()) if not self._whole else bool(self._ended.all())
        for stream, at in zip(self._streams, inner, strict=True):
            seek_later(stream, at)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


class Merged:
    """Elements of several blocks in the order of the draws, not made yet."""

    def __init__(self, blocks: Sequence[Block], places: Sequence[NDArray[np.int64]], order: NDArray[np.int64]) -> None:
        self._blocks, self._places, self._order = blocks, places, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, which: slice) -> Merged | Columns | Examples:
        begin, end, step = which.indices(len(self))
        if step != 1:
            return self.made()[which]
        blocks, places = [], []
        for block, at in zip(self._blocks, self._places, strict=True):
            first, last = np.searchsorted(at, [begin, end]).tolist()
            if last > first:
                blocks.append(block[first:last])
                places.append(at[first:last] - begin)
        return Merged(blocks, places, np.argsort(np.concatenate(places), kind="stable"))

    def made(self) -> Columns | Examples:
        return join_made([block.made() for block in self._blocks]).picked(self._order)

    def name(self, i: int) -> str | None:
        for block, places in zip(self._blocks, self._places, strict=True):
            at = np.flatnonzero(places == i)
            if len(at):
                return block.values.name(int(at[0]))
        return None
