"""Arrivals: read a stream per example and hold some examples for a long time, for bucket and pack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pipeline.stages.block import Block, Examples, Names, handed_out, sizes_of
from pipeline.stages.journal import Journal, read_again
from pipeline.stages.node import Node, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Stage, whole

# Examples per lookahead, and arrivals between two recorded positions.
_AT_ONCE, _NOTES = 64, 256


class Arrival(NamedTuple):
    """An example without a reference to its block.

    Attributes:
        place: Its index among the arrivals.
        example: The example.
        number: Its number.
        size: Number of source examples in it.
        names: Returns its name for errors, as for example 0; None if it has no name.
    """

    place: int
    example: Any
    number: int
    size: int
    names: Names | None

    def block(self) -> Block:
        """Return it as a block."""
        return Block(Examples([self.example]), np.array([self.number], np.int64), names=self.names)


def arrivals_of(places: Iterable[int], block: Block) -> list[Arrival]:
    """Return a block's examples as arrivals with these indexes."""
    names, sizes = block.names, sizes_of(block)
    rows = zip(places, map(handed_out, block.values.examples()), block.numbers.tolist(), sizes.tolist(), strict=True)
    return [Arrival(*row, None if names is None else names.after(i)) for i, row in enumerate(rows)]


class Arrivals(Stage):
    """Examples one at a time, with a journal for reading held ones again.

    The state is [arrivals, input state, a journal note, held arrivals by group].

    Args:
        node: The recipe.
        run: The iterator's run.
        state: The state; None for the beginning.
    """

    source: Ahead

    def __init__(self, node: Node, run: Run, state: Any) -> None:
        count, at, self._note, held = (0, None, None, []) if state is None else state
        before, skip = (None, 0) if at is None else at
        self._count = whole(count)  # arrivals before `_looked`
        self._held = [[whole(each) for each in group] for group in held]
        self._journal, self._oldest = Journal(_NOTES), 0
        self._looked: list[Arrival] = []  # peeked, not taken
        self._at = 0  # index of the next one
        if self._note is not None:
            arrival, (before, skip) = self._note
            self._journal.note(whole(arrival), [before, skip], arrival)
            self._oldest = arrival
        super().__init__(Ahead(opened(node, run, before), whole(skip)))

    def restored(self) -> list[list[Arrival]]:
        """Return the examples held at the state, by group. Call this once, before taking anything."""
        if self._note is None:
            return [[] for _ in self._held]
        (arrival, _), self._note = self._note, None
        wanted = np.array(sorted(each for group in self._held for each in group), np.int64)
        found: dict[int, Arrival] = {}
        for places, block in read_again(self.source, arrival, wanted, self._count):
            found.update({each.place: each for each in arrivals_of(wanted[places].tolist(), block)})
        return [[found[each] for each in group] for group in self._held]

    def next(self) -> Arrival | None:
        """Return the next example; None at the end."""
        if self._at == len(self._looked):
            self._settle()
            if self._journal.due(self._count):
                self._journal.note(self._count, self.source.state(), self._oldest)
            block = self.source.look(_AT_ONCE)
            if block is None:
                return None
            self._looked = arrivals_of(range(self._count, self._count + len(block)), block)
        self._at += 1
        return self._looked[self._at - 1]

    def _settle(self) -> None:
        """Take the peeked examples already returned."""
        if self._at:
            self.source.drop(self._at)
            self._count += self._at
            self._looked = self._looked[self._at :]
            self._at = 0

    def state_with(self, groups: list[list[Arrival]]) -> Any:
        """Return the state while these examples are held."""
        if self._note is not None:
            return [self._count, None, self._note, self._held]
        self._settle()
        held = [[each.place for each in group] for group in groups]
        oldest = min((each for group in held for each in group), default=None)
        self._oldest = self._count if oldest is None else oldest
        return [self._count, self.source.state(), None if oldest is None else list(self._journal.first), held]
