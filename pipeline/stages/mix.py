"""mix: elements of several datasets, drawn by weight, by examples or by tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._block import mix_numbers
from pipeline.errors import invalid
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, joined
from pipeline.stages.draws import uniform
from pipeline.stages.lengths import Lengths
from pipeline.stages.node import Node, opened, total
from pipeline.stages.run import Measured, Run
from pipeline.stages.stream import Ahead, Several, Stream, whole
from pipeline.tracebacks import from_handler

STOPS = ("all_exhausted", "first_exhausted")

# The most elements to hand out at once, and the most draws to make ahead. After a stream has ended, draws are few at
# first: with 4,096 for each of 2,000 short streams, mixing took twice as long.
_AT_ONCE, _DRAWN = 256, 4096

# Examples to measure together.
_MEASURED = 32


class Schedule(NamedTuple):
    """Weights, and when they begin.

    Attributes:
        starts: The examples, or tokens, before each phase: ascending from 0.
        weights: The weights of each phase.
    """

    starts: list[int]
    weights: list[NDArray[np.float64]]

    def plain(self) -> list[Any]:
        """Return plain data: the weights alone, if there is one phase."""
        weights = [[float(each) for each in phase] for phase in self.weights]
        return weights[0] if len(weights) == 1 else [list(each) for each in zip(self.starts, weights, strict=True)]

    def until_then(self, drawn: int, other: Schedule) -> Schedule:
        """Return this schedule for the first examples or tokens, and another one behind them."""
        old = [(start, w) for start, w in zip(*self, strict=True) if start < drawn]
        now = int(np.searchsorted(other.starts, drawn, "right")) - 1
        new = [(max(start, drawn), w) for start, w in zip(other.starts[now:], other.weights[now:], strict=True)]
        starts, weights = zip(*old, *new, strict=True)
        return Schedule(list(starts), list(weights))

    def at(self, drawn: int, ended: NDArray[np.bool_]) -> tuple[int, NDArray[np.float64] | None]:
        """Return the phase after so many examples or tokens, and its weights; None if all that has any has ended.

        Where all that has a weight has ended, the next phase begins early.
        """
        phase = int(np.searchsorted(self.starts, drawn, "right")) - 1
        while phase < len(self.starts):
            weights = np.where(ended, 0.0, self.weights[phase])
            if weights.any():
                return phase, weights
            phase += 1
        return phase, None

    def until(self, phase: int) -> float:
        """Return the number of examples or tokens before the next phase."""
        return self.starts[phase + 1] if phase + 1 < len(self.starts) else np.inf


def schedule_of(plain: Any, count: int) -> Schedule:
    """Return the schedule of plain data, with weight 0 for inputs that it does not have."""
    phases = [[0, plain]] if not isinstance(plain[0], list) else plain
    weights = [np.pad(np.array(each, np.float64), (0, count - len(each))) for _, each in phases]
    return Schedule([whole(start) for start, _ in phases], weights)


# The state of an input that nothing was drawn of.
_UNREAD = [0, 0, 0, 0, [None, 0]]


class Mix(Node):
    """Elements of several datasets, drawn by weight.

    Args:
        inputs: The datasets.
        names: What they are called; None if they have no names.
        schedule: How often each is drawn, relative to the others.
        seed: Of the draws.
        ending: "all_exhausted" or "first_exhausted".
        by: Returns the lengths by which weights count; None for examples.
    """

    kind = "mix"

    def __init__(
        self,
        inputs: Sequence[Node],
        names: list[str] | None,
        schedule: Schedule,
        seed: int | None,
        ending: str,
        by: Lengths | None,
    ) -> None:
        self.inputs, self.names, self.schedule, self.ending, self.by = tuple(inputs), names, schedule, ending, by
        self._seed = Seed(seed, self.kind)
        self.note_place()

    def seed(self) -> Seed:
        return self._seed

    def input_names(self) -> Sequence[str]:
        return self.names or super().input_names()

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"weights": self.schedule.plain(), "stop": self.ending}
        if self.by is not None:
            found["by"] = self.by.name
        return found if self.names is None else {**found, "names": self.names}

    def functions(self) -> tuple[Any, ...]:
        return () if self.by is None else self.by.functions()

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        return total(self.inputs) if self.ending == "all_exhausted" else None

    def stream(self, run: Run, state: Any = None) -> Stream:
        count = len(self.inputs)
        places, last = ([], -1) if state is None else state
        if len(places) > count:
            raise invalid("load_state_dict: the state is damaged: it is of a mix with more inputs")
        places = [*places, *[_UNREAD] * (count - len(places))]  # of inputs that were added
        numbers = np.array([[whole(each) for each in place[:4]] for place in places], np.int64)
        sources = [
            Ahead(opened(each, run.inner(i), at), whole(skip))
            for i, (each, (*_, (at, skip))) in enumerate(zip(self.inputs, places, strict=True))
        ]
        seed, seed2 = run.seeds.pair(self._seed)
        pair = seed, (seed2 + run.epoch) & (1 << 63) - 1
        drawn = Drawn(*np.ascontiguousarray(numbers[:, :3].T))
        measured = run.measured.get(self.written)
        if measured is not None:
            _show(measured, self, drawn)
        if self.by is None:
            return ByExamples(sources, self, run, pair, drawn)
        return ByTokens(sources, self, run, pair, drawn, numbers[:, 3], last)

    def in_effect(self, run: Run) -> Schedule:
        """Return the schedule of a pass: that of the recipe, behind those that states were saved with."""
        _, _, before = run.mixed.get(self.written, (0, 0, []))
        schedules = [schedule_of(plain, len(self.inputs)) for _, _, plain in before] + [self.schedule]
        found = schedules[0]
        for (epoch, drawn, _), following in zip(before, schedules[1:], strict=True):
            if run.epoch == epoch:
                found = found.until_then(drawn, following)
            elif run.epoch > epoch:
                found = following
        return found


class Drawn(NamedTuple):
    """What was drawn of each input.

    Attributes:
        ended: Whether it has ended.
        examples: How many examples.
        tokens: How long these are together; 0 where nothing measures them.
    """

    ended: NDArray[np.int64]
    examples: NDArray[np.int64]
    tokens: NDArray[np.int64]


def _show(measured: Measured, node: Mix, drawn: Drawn) -> None:
    """Let reports show what is drawn."""
    names = node.input_names()

    def counts() -> dict[str, Any]:
        tokens = [None] * len(names) if node.by is None else drawn.tokens.tolist()
        numbers = zip(names, drawn.examples.tolist(), tokens, strict=True)
        return {name: {"examples": examples, "tokens": length} for name, examples, length in numbers}

    measured.drawn = counts


class Mixing(Several):
    """Elements drawn from streams.

    Args:
        sources: The streams.
        node: The step.
        run: Of the iterator: it notes how far draws have come.
        pair: The two seeds of the draws.
        drawn: What was drawn before; it is counted up.
    """

    def __init__(self, sources: list[Ahead], node: Mix, run: Run, pair: tuple[int, int], drawn: Drawn) -> None:
        super().__init__(sources)
        self._node, self._run, self._pair, self._drawn = node, run, pair, drawn
        self._schedule = node.in_effect(run)
        self._names: list[Callable[[int], str | None]] = [each.name_of for each in node.inputs]
        self._to_the_end = node.ending == "all_exhausted"

    @property
    def _over(self) -> bool:
        return not self._to_the_end and bool(self._drawn.ended.any())

    def _picks(self, n: int) -> NDArray[np.int64] | None:
        """Return which streams the next draws come from, n at most; None if all have ended."""
        raise NotImplementedError

    def _end(self, which: int) -> None:
        """Note that a stream has ended."""
        self._drawn.ended[which] = 1

    def _count(self, which: int, n: int) -> None:
        """Note that n elements of a stream were drawn."""
        self._drawn.examples[which] += n

    def _note(self, drawn: int) -> None:
        """Note how many examples or tokens were drawn, if they are more than ever before."""
        node, epoch = self._node.written, self._run.epoch
        furthest = self._run.mixed.get(node, (0, 0, []))
        if (epoch, drawn) > furthest[:2]:
            self._run.mixed[node] = epoch, drawn, furthest[2]

    def take(self, n: int) -> Block | None:
        while not self._over:
            picks = self._picks(min(n, _AT_ONCE))
            if picks is None:
                break
            block = self._taken(picks)
            if block is not None:
                return block
        return None

    def _taken(self, picks: NDArray[np.int64]) -> Block | None:
        """Return the elements of draws, up to the first whose stream has ended or fails; None if that is the first."""
        if len(picks) == 1:
            return self._one(int(picks[0]))
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
                blocks.append(
                    (block if len(block) == len(mine) else block.part(0, len(mine))).renumbered(i, self._names[i])
                )
                places.append(mine)
        if len(blocks) == 1:
            return blocks[0]
        return joined(blocks).picked(np.concatenate(places).argsort(kind="stable"))

    def _one(self, which: int) -> Block | None:
        """Return the next element of a stream; None if it has ended."""
        block = self.sources[which].look(1)
        if block is None:
            self._end(which)
            return None
        self.sources[which].drop(1)
        self._count(which, 1)
        return block.renumbered(which, self._names[which])  # type: ignore[no-any-return]

    def _look(self, i: int, n: int, first: bool) -> Block | None:
        """Look at elements of stream i. Its error is raised by the `first` draw; else it comes after those before."""
        try:
            return self.sources[i].look(n)  # type: ignore[no-any-return]
        except Exception:
            if first:
                raise
            return None

    def _state_with(self, since: list[int], last: int) -> Any:
        """Return the state: of each input [whether it has ended, examples, tokens, more, its state]; and more."""
        numbers = zip(*(each.tolist() for each in self._drawn), since, super().state(), strict=True)
        return [list(map(list, numbers)), last]


class ByExamples(Mixing):
    """Elements drawn by chance. A draw is the same whatever is taken at once."""

    def __init__(self, sources: list[Ahead], node: Mix, run: Run, pair: tuple[int, int], drawn: Drawn) -> None:
        super().__init__(sources, node, run, pair, drawn)
        self._made = int(drawn.examples.sum())  # draws
        self._forget_draws()

    def _forget_draws(self) -> None:
        """Forget draws that were made ahead, as a stream has ended."""
        self._draws, self._draws_from, self._ahead = np.empty(0, np.int64), 0, _AT_ONCE

    def _end(self, which: int) -> None:
        super()._end(which)
        self._forget_draws()

    def _count(self, which: int, n: int) -> None:
        super()._count(which, n)
        self._made += n
        self._note(self._made)

    def drop(self, n: int) -> int:
        left = n
        while left and not self._over and (picks := self._picks(1)) is not None:
            which = int(picks[0])
            if self.sources[which].drop(1):
                self._count(which, 1)
                left -= 1
            else:
                self._end(which)
        return n - left

    def _picks(self, n: int) -> NDArray[np.int64] | None:
        at = self._made - self._draws_from
        if at + n > len(self._draws):
            phase, weights = self._schedule.at(self._made, self._drawn.ended.astype(bool))
            if weights is None:
                return None
            ahead = int(min(self._ahead, max(1, self._schedule.until(phase) - self._made)))
            limits = np.cumsum(weights) / weights.sum()
            draws = uniform(self._pair, np.arange(self._made, self._made + ahead))
            self._ahead = min(2 * self._ahead, _DRAWN)
            self._draws = np.minimum(np.searchsorted(limits, draws, "right"), int(np.flatnonzero(weights)[-1]))
            self._draws_from, at = self._made, 0
        return self._draws[at : at + n]

    def state(self) -> Any:
        return self._state_with([0] * len(self.sources), -1)


class ByTokens(Mixing):
    """Elements in an order by which, at any time, the tokens of each stream are as the weights say, to an element.

    The tokens of a stream, divided by its weight, are its time. An element takes up a stretch of that time, and is due
    at a random point of the stretch; the element that is due first comes next. A new phase begins at time 0.

    Args:
        sources, node, run, pair, drawn: See `Mixing`.
        since: The tokens of each stream in this phase.
        last: The phase; -1 before the first draw.
    """

    def __init__(
        self,
        sources: list[Ahead],
        node: Mix,
        run: Run,
        pair: tuple[int, int],
        drawn: Drawn,
        since: NDArray[np.int64],
        last: Any,
    ) -> None:
        super().__init__(sources, node, run, pair, drawn)
        self._by: Lengths = node.by  # type: ignore[assignment]
        self._since, self._phase = since.tolist(), int(last)
        self._lengths: list[list[int]] = [[] for _ in sources]  # of the elements that were measured and not taken
        self._plan: list[int] = []  # the next draws
        self._points: list[NDArray[np.float64]] = [np.empty(0)] * len(sources)
        self._points_from = [0] * len(sources)
        self._pairs = [(pair[0], int(mix_numbers(np.array([pair[1]], np.int64), i)[0])) for i in range(len(sources))]

    def take(self, n: int) -> Block | None:
        block = super().take(n)
        del self._plan[: 0 if block is None else len(block)]
        return block

    def _picks(self, n: int) -> NDArray[np.int64] | None:
        if not self._plan:
            found = self._planned(max(n, _MEASURED))
            if found is None:
                return None
            self._plan = found
        return np.array(self._plan[:n], np.int64)

    def _planned(self, n: int) -> list[int] | None:
        """Return which streams the next draws come from; None if all have ended."""
        tokens = int(self._drawn.tokens.sum())
        phase, weights = self._schedule.at(tokens, self._drawn.ended.astype(bool))
        if weights is None:
            return None
        if phase != self._phase:
            self._phase, self._since = phase, [0] * len(self.sources)
        until = self._schedule.until(phase)
        since, taken = list(self._since), [0] * len(self.sources)
        due: dict[int, float] = {}
        picks: list[int] = []
        changed = np.flatnonzero(weights).tolist()
        while len(picks) < n:
            for i in changed:
                length = self._length(i, taken[i], bool(picks))
                if length is None:
                    return picks or self._without(i, n)
                point = self._point(i, int(self._drawn.examples[i]) + taken[i])
                due[i] = (since[i] + point * max(1, length)) / float(weights[i])
            which = min(due, key=due.__getitem__)
            length = self._lengths[which][taken[which]]
            since[which] += max(1, length)
            taken[which] += 1
            picks.append(which)
            tokens += length
            if tokens >= until:
                break
            changed = [which]
        return picks

    def _without(self, which: int, n: int) -> list[int] | None:
        """Return the next draws, as a stream has ended."""
        self._end(which)
        return None if self._over else self._planned(n)

    def _length(self, i: int, k: int, begun: bool) -> int | None:
        """Return the length of an element of stream i, after k others; None if there is none, or an error comes after
        elements that were drawn before."""
        lengths = self._lengths[i]
        try:
            if k == len(lengths):
                block = self.sources[i].look(k + _MEASURED)
                if block is None or len(block) == k:
                    block = self.sources[i].look_whole(k + 1)  # raises the error that comes instead
                if block is None or len(block) <= k:
                    return None
                node = self._node.inputs[i]
                for j, example in enumerate(block.part(k, len(block)).values.examples(), k):
                    if j > k and self._by.functions():  # a function is called when it is time
                        break
                    lengths.append(self._by.whole(example, lambda j=j: _named(node, block, j)))  # type: ignore[misc]
            return lengths[k]
        except Exception as error:
            if from_handler(error) or not begun:
                raise
            return None

    def _point(self, i: int, k: int) -> float:
        """Return where element k of stream i is due, from 0 up to 1."""
        at = k - self._points_from[i]
        if not 0 <= at < len(self._points[i]):
            self._points[i], self._points_from[i], at = uniform(self._pairs[i], np.arange(k, k + _AT_ONCE)), k, 0
        return float(self._points[i][at])

    def _count(self, which: int, n: int) -> None:
        super()._count(which, n)
        lengths = self._lengths[which]
        self._drawn.tokens[which] += sum(lengths[:n])
        self._since[which] += sum(max(1, each) for each in lengths[:n])
        del lengths[:n]
        self._note(int(self._drawn.tokens.sum()))

    def state(self) -> Any:
        return self._state_with(self._since, self._phase)


def _named(node: Node, block: Block, i: int) -> str:
    """Return what errors call example i of a block."""
    name = None if block.names is None else block.names(i)
    return name or node.name_of(int(block.numbers[i])) or block.named(i)
