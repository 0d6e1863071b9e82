"""Mixing: draws from several streams, by examples or by tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.stages.block import Block, joined
from pipeline.stages.draws import uniform
from pipeline.stages.lengths import Lengths
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.schedule import Schedule
from pipeline.stages.stream import MOST, Ahead, Several
from pipeline.tracebacks import from_handler

# Limits for elements per block and for draws ahead. After a stream has ended, draws start small, because with 4,096 for
# each of 2,000 short streams, mixing took twice as long.
_AT_ONCE, _DRAWN = 256, 4096

# Examples to measure together.
_MEASURED = 32


class Drawn:
    """The number of elements drawn from each input.

    Args:
        places: Each slot's state, which begins with [True if the input has ended, examples, tokens, tokens in this
            phase].
        slots: Each input's slot.

    Attributes:
        ended, examples, tokens, since: These numbers for each input; tokens are 0 if nothing measures them.
        all_examples, all_tokens: Their sums, removed inputs included.
    """

    def __init__(self, places: Sequence[Any], slots: Sequence[int]) -> None:
        self.places, self.slots = list(places), slots
        numbers = [places[slot][:4] for slot in slots]
        self.ended, self.examples, self.tokens, self.since = (list(each) for each in zip(*numbers, strict=True))
        self.all_examples, self.all_tokens = (sum(each[i] for each in places) for i in (1, 2))

    def has_ended(self) -> NDArray[np.bool_]:
        return np.array(self.ended, np.bool_)

    def state(self, i: int, source: Any) -> None:
        """Note input i's state."""
        now = [self.ended[i], self.examples[i], self.tokens[i], self.since[i], source]
        self.places[self.slots[i]] = now


class Mixing(Several):
    """Elements drawn from streams.

    Args:
        sources: The streams.
        node: The step, a `Mix`.
        run: The iterator's run; it notes the drawing progress.
        drawn: Numbers drawn so far; updated in place.
        schedule: Relative weights by phase.
    """

    def __init__(self, sources: list[Ahead], node: Any, run: Run, drawn: Drawn, schedule: Schedule) -> None:
        super().__init__(sources)
        self._node, self._epoch, self._drawn, self._schedule = node, run.epoch, drawn, schedule
        self._notes = node.notes(run)
        self._names: list[Callable[[int], str | None]] = [each.name_of for each in node.inputs]
        self._to_the_end = node.ending == "all_exhausted"
        self._changed = set(range(len(sources)))  # inputs whose states in `drawn` are outdated

    @property
    def _over(self) -> bool:
        return not self._to_the_end and any(self._drawn.ended)

    def _picks(self, n: int) -> Sequence[int] | None:
        """Return the streams for the next draws, at most n; None if all have ended."""
        raise NotImplementedError

    def _end(self, which: int) -> None:
        """Record a stream's end."""
        self._drawn.ended[which] = 1
        self._changed.add(which)

    def _count(self, which: int, n: int) -> None:
        """Record n elements drawn from a stream."""
        self._drawn.examples[which] += n
        self._drawn.all_examples += n
        self._changed.add(which)

    def take(self, n: int) -> Block | None:
        while not self._over:
            picks = self._picks(min(n, _AT_ONCE))
            if picks is None:
                break
            block = self._one(picks[0]) if len(picks) == 1 else self._taken(np.array(picks, np.int64))
            if block is not None:
                return block
        self._notes.ended = self._epoch
        return None

    def _taken(self, picks: NDArray[np.int64]) -> Block | None:
        """Return the drawn elements, up to the first ended or failing stream; None if there are none."""
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
                self._count(i, len(mine))
                blocks.append(self._of(i, block if len(block) == len(mine) else block.part(0, len(mine))))
                places.append(mine)
        if len(blocks) == 1:
            return blocks[0]
        return joined(blocks).picked(np.concatenate(places).argsort(kind="stable"))

    def _of(self, i: int, block: Block) -> Block:
        """Return elements as belonging to stream i."""
        return block.renumbered(self._drawn.slots[i], self._names[i])

    def _one(self, which: int) -> Block | None:
        """Return a stream's next element; None if it has ended."""
        block = self.sources[which].take(1)
        if block is None:
            self._end(which)
            return None
        self._count(which, 1)
        return self._of(which, block)

    def _look(self, i: int, n: int, first: bool) -> Block | None:
        """Peek at stream i. The `first` draw raises its error; otherwise the error follows the earlier elements."""
        try:
            return self.sources[i].look(n)  # type: ignore[no-any-return]
        except Exception:
            if first:
                raise
            return None

    def _state_with(self, last: int) -> Any:
        for i in self._changed:
            self._drawn.state(i, self.sources[i].state())
        self._changed.clear()
        return [list(self._drawn.places), last]


class ByExamples(Mixing):
    """Elements drawn by chance. A draw does not depend on how many are taken at once.

    Args:
        sources, node, run, drawn, schedule: See `Mixing`.
        pair: The two seeds for the draws.
    """

    def __init__(
        self,
        sources: list[Ahead],
        node: Any,
        run: Run,
        pair: tuple[int, int],
        drawn: Drawn,
        schedule: Schedule,
    ) -> None:
        super().__init__(sources, node, run, drawn, schedule)
        self._pair = pair
        self._forget_draws()

    def _forget_draws(self) -> None:
        """Drop draws made ahead, after a stream has ended."""
        self._draws: list[int] = []
        self._draws_from, self._ahead = 0, _AT_ONCE

    def _end(self, which: int) -> None:
        super()._end(which)
        self._forget_draws()

    def _count(self, which: int, n: int) -> None:
        super()._count(which, n)
        self._notes.note(self._epoch, self._drawn.all_examples)

    def drop(self, n: int) -> int:
        left = n
        while left and not self._over and (picks := self._picks(1)) is not None:
            if self.sources[picks[0]].drop(1):
                self._count(picks[0], 1)
                left -= 1
            else:
                self._end(picks[0])
        return n - left

    def _picks(self, n: int) -> Sequence[int] | None:
        made = self._drawn.all_examples
        at = made - self._draws_from
        if at + n > len(self._draws):
            phase, weights = self._schedule.at(made, self._drawn.has_ended())
            if weights is None:
                return None
            ahead = int(min(self._ahead, max(1, self._schedule.until(phase) - made)))
            limits = np.cumsum(weights) / weights.sum()
            draws = uniform(self._pair, np.arange(made, made + ahead))
            self._ahead = min(2 * self._ahead, _DRAWN)
            last = int(np.flatnonzero(weights)[-1])
            self._draws = np.minimum(np.searchsorted(limits, draws, "right"), last).tolist()
            self._draws_from, at = made, 0
        return self._draws[at : at + n]

    def state(self) -> Any:
        return self._state_with(-1)


class ByTokens(Mixing):
    """Elements in an order with exact token shares at any time, to within one element.

    A stream's tokens, divided by its weight, are its time. Each element has a stretch of this time and a random due
    point within it; the element with the earliest point comes next. A new phase begins at time 0.

    Args:
        sources, node, run, drawn, schedule: See `Mixing`.
        pairs: The two seeds for each stream's points.
        last: The phase; -1 before the first draw.
    """

    def __init__(
        self,
        sources: list[Ahead],
        node: Any,
        run: Run,
        pairs: list[tuple[int, int]],
        drawn: Drawn,
        schedule: Schedule,
        last: Any,
    ) -> None:
        super().__init__(sources, node, run, drawn, schedule)
        self._by: Lengths = node.by
        self._phase, self._pairs = int(last), pairs
        self._plan: list[int] = []  # the next draws
        # Per stream: the lengths of measured elements not taken yet, and these elements.
        self._lengths: list[list[int]] = [[] for _ in sources]
        self._looked: list[list[Any]] = [[] for _ in sources]
        self._blocks: list[Block | None] = [None] * len(sources)  # blocks ending with these elements
        self._points: list[list[float]] = [[] for _ in sources]
        self._points_from = [0] * len(sources)

    def take(self, n: int) -> Block | None:
        block = super().take(n)
        del self._plan[: 0 if block is None else len(block)]
        return block

    def _picks(self, n: int) -> Sequence[int] | None:
        if not self._plan:
            found = self._planned(max(n, _MEASURED))
            if found is None:
                return None
            self._plan = found
        return self._plan[:n]

    def _planned(self, n: int) -> list[int] | None:
        """Return the streams for the next draws; None if all have ended."""
        drawn = self._drawn
        tokens = drawn.all_tokens
        phase, found = self._schedule.at(tokens, drawn.has_ended())
        if found is None:
            return None
        if phase != self._phase:
            self._phase, drawn.since[:] = phase, [0] * len(self.sources)
            self._changed.update(range(len(self.sources)))
        until, weights = self._schedule.until(phase), found.tolist()
        since, taken = list(drawn.since), [0] * len(self.sources)
        due = [np.inf] * len(self.sources)
        picks: list[int] = []
        changed = [i for i, weight in enumerate(weights) if weight]
        while len(picks) < n and tokens < until:
            for i in changed:
                length = self._length(i, taken[i], bool(picks))
                if length is None:
                    return picks or self._without(i, n)
                point = self._point(i, drawn.examples[i] + taken[i])
                due[i] = (since[i] + point * (length or 1)) / weights[i]
            which = due.index(min(due))
            length = self._lengths[which][taken[which]]
            if tokens + length > MOST:  # the limit of states
                if picks:
                    break
                raise invalid("mix: by: the lengths of elements drawn add up to more than 2**62: use a larger unit")
            since[which] += length or 1
            taken[which] += 1
            picks.append(which)
            tokens += length
            changed = [which]
        return picks

    def _without(self, which: int, n: int) -> list[int] | None:
        """Return the next draws after a stream has ended."""
        self._end(which)
        return None if self._over else self._planned(n)

    def _length(self, i: int, k: int, begun: bool) -> int | None:
        """Return the length of stream i's element after k others.

        None if there is none, or if an error must wait for elements drawn earlier.
        """
        lengths = self._lengths[i]
        if k < len(lengths):
            return lengths[k]
        try:
            return self._measured(i, k)
        except Exception as error:
            if from_handler(error) or not begun:
                raise
            return None

    def _measured(self, i: int, k: int) -> int | None:
        """Measure element k in stream i, and more unless this calls a user function; None if there is none."""
        if not self._looked[i]:
            block = self.sources[i].look(k + _MEASURED, k)
            if block is None:
                self.sources[i].look_whole(k + 1)  # raises the error in its place
                return None
            self._looked[i], self._blocks[i] = list(block.values.examples()), block
        looked, node, block = self._looked[i], self._node.inputs[i], self._blocks[i]
        first = len(block) - len(looked)  # type: ignore[arg-type]
        found = self._by.wholes(looked, lambda j: _named(node, block, first + j))  # type: ignore[arg-type]
        self._lengths[i] += found
        del looked[: len(found)]
        return found[0]

    def _point(self, i: int, k: int) -> float:
        """Return the due point for stream i's element k, from 0 up to 1."""
        at = k - self._points_from[i]
        if not 0 <= at < len(self._points[i]):
            made = uniform(self._pairs[i], np.arange(k, k + _AT_ONCE))
            self._points[i], self._points_from[i], at = made.tolist(), k, 0
        return self._points[i][at]

    def _count(self, which: int, n: int) -> None:
        super()._count(which, n)
        lengths, drawn = self._lengths[which][:n], self._drawn
        del self._lengths[which][:n]
        tokens = sum(lengths)
        drawn.tokens[which] += tokens
        drawn.all_tokens += tokens
        drawn.since[which] += tokens + lengths.count(0)
        self._notes.note(self._epoch, drawn.all_tokens)

    def state(self) -> Any:
        return self._state_with(self._phase)


def _named(node: Node, block: Block, i: int) -> str:
    """Return the name of a block's example i for errors."""
    name = None if block.names is None else block.names(i)
    return name or node.name_of(int(block.numbers[i])) or block.named(i)
