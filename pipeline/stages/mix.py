"""mix: elements from several datasets, drawn by weight, by examples or by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline._block import mix_numbers
from pipeline.errors import StateMismatchError, invalid
from pipeline.orders.seeds import Seed
from pipeline.stages.lengths import Lengths
from pipeline.stages.mixing import ByExamples, ByTokens, Drawn
from pipeline.stages.node import Node, opened, total
from pipeline.stages.run import Measured, Run
from pipeline.stages.schedule import MixNotes, Schedule
from pipeline.stages.stream import Ahead, Stream, whole

# An untouched input's state.
_UNREAD = [0, 0, 0, 0, [None, 0]]


class LeftOut(StateMismatchError):
    """An input was left out, but later steps hold its elements."""


class Mix(Node):
    """Elements from several datasets, drawn by weight.

    The state is [one entry per slot, phase]. A slot's entry is [True if the input has ended, its examples, tokens,
    tokens in this phase, state].

    Args:
        inputs: The datasets.
        names: Their names; None if they have none.
        schedule: Relative weights by phase.
        seed: Seed for the draws.
        ending: "all_exhausted" or "first_exhausted".
        by: Returns the lengths to weigh; None weighs examples.
    """

    kind = "mix"
    mixes = reorders = True

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

    @property
    def by_number(self) -> bool:
        return self.by is None

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

    def notes(self, run: Run) -> MixNotes:
        """Return an iterator's notes on this mix in all passes."""
        return run.mixed.setdefault(self.written, self.new_notes())

    def new_notes(self) -> MixNotes:
        """Return the notes before anything is drawn."""
        return MixNotes(list(range(len(self.inputs))))

    def stream(self, run: Run, state: Any = None) -> Stream:
        notes = self.notes(run)
        slots, count = notes.slots(), len(notes.inputs)
        given, last = ([], -1) if state is None else state
        if len(given) > count:
            raise invalid("load_state_dict: the state is damaged: it belongs to a mix with more inputs")
        places = [*given, *[_UNREAD] * (count - len(given))]  # for added inputs
        numbers = np.array([[whole(each) for each in place[:4]] for place in places], np.int64)
        schedule = notes.in_effect(self.schedule, run.epoch)
        measure = 1 if self.by is None else 2
        again = notes.needed_again(schedule, run.epoch, int(numbers[:, measure].sum()))
        if any(not numbers[slot, 0] for slot in again):
            raise LeftOut([("mix: inputs", None, None)], "mix: an input was left out, and elements of it are held")
        sources = [
            Ahead(opened(each, run.inner(slot), places[slot][4][0]), whole(places[slot][4][1]))
            for each, slot in zip(self.inputs, slots, strict=True)
        ]
        seed, seed2 = run.seeds.pair(self._seed)
        pair = seed, (seed2 + run.epoch) & (1 << 63) - 1
        drawn = Drawn(places, slots)
        measured = run.measured.get(self.written)
        if measured is not None:
            _show(measured, self, drawn)
        if self.by is None:
            return ByExamples(sources, self, run, pair, drawn, schedule.of(slots))
        pairs = [(seed, int(mix_numbers(np.array([pair[1]], np.int64), slot)[0])) for slot in slots]
        return ByTokens(sources, self, run, pairs, drawn, schedule.of(slots), last)


def _show(measured: Measured, node: Mix, drawn: Drawn) -> None:
    """Show the drawn numbers in reports."""
    names = node.input_names()

    def counts() -> dict[str, Any]:
        tokens = [None] * len(names) if node.by is None else list(drawn.tokens)
        numbers = zip(names, list(drawn.examples), tokens, strict=True)
        return {name: {"examples": examples, "tokens": length} for name, examples, length in numbers}

    measured.drawn = counts
