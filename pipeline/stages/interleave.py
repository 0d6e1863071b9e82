"""interleave: read several datasets in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.errors import FailedPreconditionError, invalid
from pipeline.orders.seeds import LateSeed, Seed
from pipeline.stages.block import Block
from pipeline.stages.functions import Each
from pipeline.stages.node import Node, Recipe, nodes_of, opened, total
from pipeline.stages.run import Run
from pipeline.stages.selection import arranged
from pipeline.stages.stream import Stream, shorter, whole


class Interleave(Node):
    """Elements from several datasets in turn.

    Args:
        inputs: The datasets; one, if it is a dataset of datasets.
        nested: True if the only input's elements are datasets themselves.
        cycle_length: Number of open datasets.
        block_length: Number of elements per turn.
    """

    kind = "interleave"

    def __init__(self, inputs: Sequence[Node], nested: bool, cycle_length: int, block_length: int) -> None:
        self.inputs, self.nested = tuple(inputs), nested
        self.cycle_length, self.block_length = cycle_length, block_length
        self._seed = LateSeed(self.kind) if nested else None
        self.note_place()

    def seed(self) -> Seed | None:
        return self._seed

    def order_seed(self) -> Seed | None:
        return None

    def options(self) -> dict[str, Any]:
        return {"cycle_length": self.cycle_length, "block_length": self.block_length}

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        return None if self.nested else total(self.inputs)

    def stream(self, run: Run, state: Any = None) -> Stream:
        found = None if state is None else state[4]
        recipes = Listed(self, run, found) if self._seed is None else Nested(self.inputs[0], run, self._seed, found)
        return Interleaving(recipes, self.cycle_length, self.block_length, state)


class Listed:
    """Recipes in a list, one after another. The state is the next one's index."""

    def __init__(self, node: Interleave, run: Run, state: Any) -> None:
        self._nodes, self._run = node.inputs, run
        self._next = 0 if state is None else whole(state, len(self._nodes))

    def next(self) -> Callable[[int, Any], Stream] | None:
        """Return a function that opens the next recipe, given its index and a state; None after the last."""
        if self._next == len(self._nodes):
            return None
        self._next += 1
        return self.at(self._next - 1)

    def at(self, state: Any) -> Callable[[int, Any], Stream]:
        """Return a function that opens the next recipe after a state."""
        node = self._nodes[whole(state, len(self._nodes) - 1)]
        return lambda which, at: opened(node, self._run.inner(which), at)

    def state(self) -> Any:
        return self._next

    def close(self) -> None:
        pass


class Nested:
    """Recipes as another recipe's elements. The state is its stream's state."""

    def __init__(self, node: Node, run: Run, seed: Seed, state: Any) -> None:
        self._node, self._run, self._seed = node, run, seed
        self._stream = opened(node, run, state)

    def next(self) -> Callable[[int, Any], Stream] | None:
        """As in `Listed`."""
        return self._of(self._stream)

    def at(self, state: Any) -> Callable[[int, Any], Stream]:
        """As in `Listed`."""
        stream = opened(self._node, self._run, state)
        try:
            found = self._of(stream)
        finally:
            stream.close()
        if found is None:
            raise shorter()
        return found

    def _of(self, stream: Stream) -> Callable[[int, Any], Stream] | None:
        block = stream.take(1)
        if block is None:
            return None
        made = block.values.first()
        node = made._node if isinstance(made, Recipe) else made
        if not isinstance(node, Node):
            raise invalid(f"interleave: expected a dataset of datasets, but an element is {made!r:.80}")
        if self._run.hosts and self._seed.drawn and _draws(node):
            text = "interleave: each host of shard would draw different numbers: pass seed= in the function's datasets"
            raise FailedPreconditionError(None, None, text)
        placed = arranged(node)
        return lambda which, at: opened(placed, self._run.derived(self._run.seeds.pair(self._seed), which), at)

    def state(self) -> Any:
        return self._stream.state()

    def close(self) -> None:
        self._stream.close()


class Slot:
    """An open recipe.

    Attributes:
        found_at: Its position among the recipes.
        which: Its index.
        stream: Its elements.
    """

    __slots__ = ("found_at", "stream", "which")

    def __init__(self, found_at: Any, which: int, stream: Stream) -> None:
        self.found_at, self.which, self.stream = found_at, which, stream


def _no_name(number: int) -> None:
    """Return an element's name, by index if its recipe is gone."""


class Interleaving(Stream):
    """Elements from several streams in turn, as in tf.data; an ended stream gives up its turn.

    The state is [number of opened recipes, current slot, elements taken in this turn, True if there are no more
    recipes, position of the next recipe, slots]. A slot's state is [its recipe's position, its index, its stream's
    state], or null if the next recipe fills it.
    """

    def __init__(self, recipes: Listed | Nested, cycle: int, block: int, state: Any) -> None:
        self._recipes, self._cycle, self._block = recipes, cycle, block
        self._opened = self._at = self._turn = 0
        self._ended = False
        self._slots: list[Slot | None] = []
        if state is None:
            return
        count, at, turn, ended, _, slots = state
        self._opened, self._turn, self._ended = whole(count), whole(turn, block), bool(ended)
        self._at = whole(at, len(slots))
        for slot in slots:
            if slot is None:
                self._slots.append(None)
                continue
            found_at, which, inner = slot
            self._slots.append(Slot(found_at, whole(which), recipes.at(found_at)(which, inner)))

    def take(self, n: int) -> Block | None:
        while (slot := self._due()) is not None:
            block = slot.stream.take(min(n, self._block - self._turn))
            self._took(slot, 0 if block is None else len(block))
            if block is not None:
                return block.renumbered(slot.which, _no_name)
        return None

    def drop(self, n: int) -> int:
        left = n
        while left and (slot := self._due()) is not None:
            wanted = min(left, self._block - self._turn)
            count = slot.stream.drop(wanted)
            left -= count
            self._took(slot, count)
            if 0 < count < wanted:
                self._took(slot, 0)
        return n - left

    def _took(self, slot: Slot, count: int) -> None:
        """Record `count` elements taken from the current slot; 0 if its stream has ended."""
        if not count:
            slot.stream.close()
            self._slots[self._at] = None
        self._turn += count
        if not count or self._turn == self._block:
            self._pass_on()

    def _due(self) -> Slot | None:
        """Return the current slot; None if all have ended.

        Its recipe is opened only now, so an error in it follows the earlier elements.
        """
        if not self._ended and (self._at == len(self._slots) or self._slots[self._at] is None):
            found_at, found = self._recipes.state(), self._recipes.next()
            self._ended = found is None
            if found is not None:
                slot = Slot(found_at, self._opened, found(self._opened, None))
                self._slots[self._at : self._at + 1] = [slot]
                self._opened += 1
        if self._ended:  # do not refill slots
            self._at -= self._slots[: self._at].count(None)
            self._slots = [each for each in self._slots if each is not None]
            self._at %= max(1, len(self._slots))
        return self._slots[self._at] if self._slots else None

    def _pass_on(self) -> None:
        self._at, self._turn = (self._at + 1) % self._cycle, 0

    def state(self) -> Any:
        slots = [each and [each.found_at, each.which, each.stream.state()] for each in self._slots]
        return [self._opened, self._at, self._turn, self._ended, self._recipes.state(), slots]

    def close(self) -> None:
        for slot in self._slots:
            if slot is not None:
                slot.stream.close()
        self._recipes.close()


def _draws(node: Node) -> bool:
    """Return whether a recipe draws with a generated seed. Functions report this when they draw."""
    steps = [each for each in nodes_of(node) if not isinstance(each, Each)]
    return any(seed.drawn for each in steps if (seed := each.seed()) is not None)
