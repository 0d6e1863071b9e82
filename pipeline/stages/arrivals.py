"""Arrivals: examples of a stream one at a time, some of which are held for long: for bucket and pack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.errors import invalid
from pipeline.stages.block import Block
from pipeline.stages.journal import Journal, read_again
from pipeline.stages.node import Node, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Stage, whole

# Examples to look at together, and arrivals between two notes.
_AT_ONCE, _NOTES = 64, 256


class Arrival(NamedTuple):
    """An example, and where it came from.

    Attributes:
        place: Which arrival it was.
        example: The example.
        block, at: The block that it came in, and its place there: its number, name and size.
    """

    place: int
    example: Any
    block: Block
    at: int

    @property
    def number(self) -> int:
        """Its number."""
        return int(self.block.numbers[self.at])

    @property
    def size(self) -> int:
        """How many examples of the source it consists of."""
        return 1 if self.block.sizes is None else int(self.block.sizes[self.at])


class Arrivals(Stage):
    """Examples one at a time, with a journal by which those that are held can be read again.

    The state is [arrivals, the state of the input, a note of the journal, the arrivals that are held by group].

    Args:
        node: The recipe of the examples.
        run: Of the iterator.
        state: The state; None for the beginning.
    """

    source: Ahead

    def __init__(self, node: Node, run: Run, state: Any) -> None:
        count, at, self._note, self._held = (0, None, None, []) if state is None else state
        before, skip = (None, 0) if at is None else at
        self._count = whole(count)  # arrivals before those that were looked at
        self._journal, self._oldest = Journal(_NOTES), 0
        self._block: Block | None = None
        self._examples: list[Any] = []  # that were looked at
        self._at = 0  # which of them is next
        if self._note is not None:
            arrival, (before, skip) = self._note
            self._journal.note(whole(arrival), [before, skip], arrival)
            self._oldest = arrival
        super().__init__(Ahead(opened(node, run, before), whole(skip)))

    def restored(self) -> list[list[Arrival]]:
        """Return what was held at the state, by group. To be called once, before anything is taken."""
        if self._note is None:
            return [[] for _ in self._held]
        (arrival, _), self._note = self._note, None
        wanted = np.array(sorted(each for group in self._held for each in group), np.int64)
        if len(wanted) and (wanted[0] < arrival or wanted[-1] >= self._count):
            raise invalid("load_state_dict: the state is damaged: it holds examples that were not read")
        found: dict[int, Arrival] = {}
        for places, block in read_again(self.source, arrival, wanted, self._count):
            for at, (i, example) in enumerate(zip(places.tolist(), block.values.examples(), strict=True)):
                found[int(wanted[i])] = Arrival(int(wanted[i]), example, block, at)
        return [[found[each] for each in group] for group in self._held]

    def next(self) -> Arrival | None:
        """Return the next example; None at the end."""
        if self._at == len(self._examples):
            self._settle()
            if self._journal.due(self._count):
                self._journal.note(self._count, self.source.state(), self._oldest)
            self._block = self.source.look(_AT_ONCE)
            if self._block is None:
                return None
            self._examples, self._at = list(self._block.values.examples()), 0
        at, self._at = self._at, self._at + 1
        assert self._block is not None
        return Arrival(self._count + at, self._examples[at], self._block, at)

    def _settle(self) -> None:
        """Take what was looked at and is done with."""
        if self._at:
            self.source.drop(self._at)
            self._count += self._at
            self._examples = self._examples[self._at :]
            if self._block is not None:
                self._block = self._block.part(self._at, len(self._block)) if self._examples else None
            self._at = 0

    def state_with(self, groups: list[list[Arrival]]) -> Any:
        """Return the state while these are held."""
        if self._note is not None:
            return [self._count, None, self._note, self._held]
        self._settle()
        held = [[each.place for each in group] for group in groups]
        oldest = min((each for group in held for each in group), default=None)
        self._oldest = self._count if oldest is None else oldest
        return [self._count, self.source.state(), None if oldest is None else list(self._journal.first), held]
