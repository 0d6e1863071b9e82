"""take, skip, shard, shuffle() and sample: a choice of elements, and their order.

Choices above a one-to-one function are made among its inputs, so the function is called only for chosen elements.
"""

from __future__ import annotations

import copy
import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pipeline._block import mix_pairs
from pipeline._random import permutation
from pipeline.dtypes import object_vector
from pipeline.orders.numbered import digest
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Numbers
from pipeline.stages.draws import uniform
from pipeline.stages.index import ENDLESS, Index, Picked, Spaced
from pipeline.stages.node import Node, OneInput, index_of, indexed, nodes_of, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Stage, Stream, whole
from pipeline.tracebacks import from_handler


class Choice(OneInput):
    """A choice among one input's elements.

    Attributes:
        counts: True if it counts the elements before a place, so elements left out by a function must not count.
    """

    stage = ""
    keeps_elements = True
    counts: ClassVar[bool] = True

    def lends(self) -> bool:
        return self.source.lends()

    def goes_below(self, node: Node) -> bool:
        """Return whether the choice may be made among a node's inputs instead of its elements."""
        return node.choices_below and not (self.counts and node.skips)


class Sliced(Choice):
    """A range of neighbouring elements: take and skip."""

    by_number = True
    holds_back = False

    def places(self) -> tuple[int, int]:
        """Return the first element and the end, which is not included."""
        raise NotImplementedError

    def length(self) -> int | None:
        length = self.source.length()
        start, stop = self.places()
        if length is None or (length == ENDLESS and stop >= ENDLESS):
            return length
        return max(0, min(stop, length) - start)

    def index(self, run: Run) -> Index:
        source, (start, stop) = index_of(self.source, run), self.places()
        return Picked(source, max(0, min(stop, len(source)) - start), Behind(start))

    def stream(self, run: Run, state: Any = None) -> Stream:
        at, before = (0, None) if state is None else state
        return Slicing(opened(self.source, run, before), *self.places(), whole(at))

    def state_at(self, place: int) -> Any:
        at = self.places()[0] + place
        return [at, at * self.source.step]

    def input_state(self, state: Any) -> tuple[Node, Any]:
        return self.source, state[1]


class Behind:
    """Adds an offset to places."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __call__(self, numbers: Numbers) -> Numbers:
        return numbers + self.start


class Slicing(Stage):
    """A range of neighbouring elements in a stream. The state is [elements read from the input, its state]."""

    def __init__(self, source: Stream, start: int, stop: int, at: int) -> None:
        super().__init__(source)
        self._start, self._stop, self._at = start, stop, at

    def take(self, n: int) -> Block | None:
        count = self._neighbours(n)
        block = self.source.take(count) if count else None
        if block is not None:
            self._at += len(block)
        return block

    def drop(self, n: int) -> int:
        count = self._neighbours(n)
        passed = self.source.drop(count) if count else 0
        self._at += passed
        return passed

    def _neighbours(self, n: int) -> int:
        """Go to the first chosen element; return the number of elements still allowed, n at most."""
        others = max(0, self._start - self._at)
        if self._at + others >= self._stop:
            return 0
        passed = self.source.drop(others)
        self._at += passed
        return 0 if passed < others else min(n, self._stop - self._at)

    def state(self) -> Any:
        return [self._at, self.source.state()]


class Take(Sliced):
    """The first elements."""

    kind = "take"

    def __init__(self, source: Node, n: int, written: bool = True) -> None:
        super().__init__(source, written)
        self.n = n

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def places(self) -> tuple[int, int]:
        return 0, self.n


class Skip(Sliced):
    """All but the first elements."""

    kind = "skip"

    def __init__(self, source: Node, n: int) -> None:
        super().__init__(source)
        self.n = n

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def places(self) -> tuple[int, int]:
        return self.n, ENDLESS


class Until(Choice):
    """The elements before a place, for inputs whose later elements would be dropped."""

    kind = "take"

    def __init__(self, source: Node, place: int) -> None:
        super().__init__(source, written=False)
        self._place = place

    @property
    def step(self) -> int:
        return self.source.step

    def end(self) -> int:
        return min(self._place, self.source.end())

    def length(self) -> int:
        return -(-self.end() // self.step)

    def index(self, run: Run) -> Index:
        return Spaced(indexed(self.source, run), 0, self.step, self.end())

    def stream(self, run: Run, state: Any = None) -> Stream:
        place = 0 if state is None else whole(state)
        count = -(-(self.end() - place) // self.step)
        return Slicing(opened(self.source, run, state), 0, max(0, count), 0)

    def state_at(self, place: int) -> Any:
        return place


class Shard(Choice):
    """Every n-th element, starting at index i: one host's shard.

    An element has the place of the first element in its turn over all hosts, so places are the same on all hosts.

    Args:
        source: All hosts' elements.
        i, n: This host's index, and the number of hosts.
        drop_remainder: True if all hosts get the same number of elements.
        alike: True if the other hosts have copies of this recipe, with equal seeds even if chance drew them.
        written: See `OneInput`.

    Attributes:
        equal: True if all hosts get the same number of elements for any input.
    """

    kind = "shard"
    carries_on = keeps_batches = True
    holds_back = False

    def __init__(
        self, source: Node, i: int, n: int, drop_remainder: bool, alike: bool = False, written: bool = True
    ) -> None:
        super().__init__(source, written)
        self.i, self.n, self.drop_remainder, self._alike = i, n, drop_remainder, alike
        self.equal = drop_remainder

    def is_share(self) -> bool:
        return True

    def shares_equally(self) -> bool:
        length = self.source.length()
        return self.equal or (length is not None and (length == ENDLESS or length % self.n == 0))

    def goes_below(self, node: Node) -> bool:
        return super().goes_below(node) or (node.choices_below and node.skips and not self.equal)

    def options(self) -> dict[str, Any]:
        return {"i": self.i, "n": self.n, "drop_remainder": self.drop_remainder}

    @property
    def step(self) -> int:
        return self.n * self.source.step

    def end(self) -> int:
        return self.source.end() - (self.n - 1 if self.drop_remainder else self.i) * self.source.step

    def length(self) -> int | None:
        length = self.source.length()
        if length is None or length == ENDLESS:
            return length
        return length // self.n if self.drop_remainder else max(0, -(-(length - self.i) // self.n))

    def _of_hosts(self, run: Run) -> Run:
        """Return the source's run. Only in a stream do draws decide which host has an element."""
        return run if self._alike or self.n == 1 or self.source.indexed else run.of_hosts()

    def index(self, run: Run) -> Index:
        source = indexed(self.source, self._of_hosts(run))
        return Spaced(source, self.i * source.step, self.step, self.end())

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, left = (None, 0) if state is None else state
        source = opened(self.source, self._of_hosts(run), before)
        rounds = any(each.mixes for each in nodes_of(self.source))
        return Sharding(source, self.i, self.n, self.drop_remainder, whole(left), rounds)

    def state_at(self, place: int) -> Any:
        return [place, 0]

    def input_state(self, state: Any) -> tuple[Node, Any] | None:
        before, left = state
        return None if left else (self.source, before)


class Sharding(Stage):
    """One element from each turn over all hosts. The state is [input state, elements before the next turn].

    So the state is valid for every host, and any number of hosts.

    Args:
        source: All hosts' elements.
        i, n, whole: This host's index, the number of hosts, and whether all get the same number of elements.
        left: Elements before the next turn.
        rounds: True if a turn is completed before its element is delivered, so loading a state with other mix weights
            changes no element already given to another host.
    """

    def __init__(self, source: Stream, i: int, n: int, whole: bool, left: int, rounds: bool = False) -> None:
        super().__init__(source)
        self._i, self._n, self._whole, self._left, self._rounds = i, n, whole, left, rounds
        self._reached = False  # whether the next element is this host's
        self._before: Any = None  # the state after this host's element, if a later one in its turn failed

    def take(self, n: int) -> Block | None:
        mine = self.source.take(1) if self._reach() else None
        return mine if mine is not None and self._pass_on() else None

    def drop(self, n: int) -> int:
        left = n
        while left and self._reach() and self.source.drop(1) and self._pass_on():
            left -= 1
        return n - left

    def _reach(self) -> bool:
        """Go to this host's next element, but only when it is requested, because an earlier one may fail."""
        if not self._reached:
            others = self._left + self._i
            self._reached = self.source.drop(others) == others
            self._left = 0
        return self._reached

    def _pass_on(self) -> bool:
        """Go past this host's element; return whether to deliver it: all hosts must have one if `whole`."""
        self._reached, self._left = False, self._n - self._i - 1
        if self._whole:
            others, self._left = self._left, 0
            return self.source.drop(others) == others
        if self._rounds and self._left:
            self._complete()
        return True

    def _complete(self) -> None:
        """Skip the rest of this turn. An error in it follows this host's element."""
        before = self.source.state()
        try:
            self.source.drop(self._left)
        except Exception as error:
            if from_handler(error):
                raise
            self._before = before
        else:
            self._left = 0

    def state(self) -> Any:
        return [self.source.state() if self._before is None else self._before, self._left]


class ShuffleAll(Choice):
    """All elements in a random order, different in each pass."""

    kind = "shuffle"
    counts = False
    needs_index = shuffles = reorders = by_number = True

    def __init__(self, source: Node, seed: int | None) -> None:
        super().__init__(source)
        self._seed = Seed(seed, self.kind)

    @property
    def streams(self) -> bool:
        return self.works_ahead  # a cache is filled first

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"buffer_size": None}

    def index(self, run: Run) -> Index:
        source = index_of(self.source, run)
        return Picked(source, len(source), Permutation(run.seeds.pair(self._seed), run.epoch, len(source)))


class Permutation:
    """A random order, drawn at its first use."""

    def __init__(self, pair: tuple[int, int], epoch: int, length: int) -> None:
        self._pair, self._epoch, self._length = pair, epoch, length
        self._order: Any = None

    def __call__(self, numbers: Numbers) -> Numbers:
        if self._order is None:
            blocks = max(0, -(-(self._length - 1) // 4))  # each pass uses up whole blocks of four words
            self._order = permutation(*self._pair, self._epoch * blocks, self._length)
        return self._order[numbers]  # type: ignore[no-any-return]


class WeightedSample(Choice):
    """Elements drawn with replacement, in proportion to their weights."""

    kind = "sample"
    needs_index = shuffles = reorders = by_number = True

    def __init__(self, source: Node, weights: NDArray[np.float64], n: int, seed: int | None) -> None:
        super().__init__(source)
        self.n = n
        self._limits = np.cumsum(weights) / weights.sum()
        self._seed = Seed(seed, self.kind)

    @property
    def streams(self) -> bool:
        return self.works_ahead  # as in ShuffleAll

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"n": self.n, "weights": self._digest}

    @functools.cached_property
    def _digest(self) -> str:
        """Digest all weights; their sum is often 1 and would distinguish nothing."""
        return digest([object_vector([self._limits.tobytes()])])  # bytes, because only parts of an array enter a digest

    def length(self) -> int | None:
        return self.n

    def index(self, run: Run) -> Index:
        pair, before = run.seeds.pair(self._seed), run.epoch * self.n
        return Drawn(index_of(self.source, run), self.n, pair, before, self._limits)


class Drawn(Index):
    """An index's elements, drawn by weight.

    Each draw is mixed into the element's number, so a function called twice with one element draws different numbers.
    """

    def __init__(self, source: Index, n: int, pair: tuple[int, int], before: int, limits: NDArray[np.float64]) -> None:
        self._source, self._n, self._pair, self._before, self._limits = source, n, pair, before, limits
        self.ahead, self.of_numbers, self.of_sources = source.ahead, source.of_numbers, source.of_sources

    def __len__(self) -> int:
        return self._n

    def block(self, places: Numbers) -> Block:
        draws = uniform(self._pair, self._before + places)
        found = np.minimum(np.searchsorted(self._limits, draws, "right"), len(self._limits) - 1)
        block = self._source.block(found)
        numbers = mix_pairs(np.ascontiguousarray(block.numbers), np.ascontiguousarray(places[: len(block)]))
        return Block(block.values, numbers, block.error, block.names, block.sizes)


def arranged(node: Node) -> Node:
    """Return the recipe as it runs: choices moved below one-to-one functions, sources with their workers."""
    if not node.inputs:
        return node.run_as()
    inputs = tuple(map(arranged, node.inputs))
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = with_inputs(node, inputs)
    if isinstance(node, Choice) and node.goes_below(node.source):
        maker: Any = node.source
        return maker.over(arranged(node.over(maker.source)))  # type: ignore[no-any-return]
    return node


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return the step over other inputs."""
    made = copy.copy(node)
    made.inputs, made._written = inputs, node.written
    return made
