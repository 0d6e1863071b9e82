"""Replay: which calls have to be made again after a state was loaded, and with which of their elements."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.pulls import Positioned
from pipeline.resume.journal import Entry, Position
from pipeline.resume.mismatch import Comparison

# So many entries are read through: that takes less time than opening a file in its middle.
_NEAR = 4


class Input(Protocol):
    """What a replay moves: a ledger."""

    def read_on_to(self, entry: Entry) -> None:
        """Leave out the calls before an entry; StateMismatchError if the input then is not where it was."""

    def go_to(self, entry: Entry) -> None:
        """Go to an entry at once."""

    def skip(self, count: int) -> None:
        """Leave out that many calls."""


class Replay:
    """The elements that were in the pool, then all that had not entered it.

    Attributes:
        needed: The numbers of the first, in increasing order.
        places: The place of each of them in the pool; None once they are there.
        first: The entry to begin at.

    Args:
        entries: Of the saved journal: the first is at or before the oldest element that is needed, the last at or
            before `resume_at`.
        pool: Number of the element at each place of the pool; None for a queue in order.
        resume_at: The first element after those that had entered the pool.
        ended: The input ended there.
        facts: Of each thing that calls pull from.
        files: That were read.
        every: Calls between two entries.
        regular: Calls could be skipped by pulling alone.
        allowed: Which facts may differ.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        pool: NDArray[np.int64] | None,
        resume_at: int,
        ended: bool,
        facts: Sequence[dict[str, Any]],
        files: dict[str, Any],
        every: int,
        regular: bool,
        allowed: Collection[str] = (),
    ) -> None:
        self.entries = entries
        numbers = np.empty(0, np.int64) if pool is None else pool
        needed = np.sort(numbers)
        self.needed: list[int] = needed.tolist()
        self.places: NDArray[np.int64] | None = None if pool is None else np.argsort(numbers)
        # One bool for each element from the oldest to the youngest of the pool: about 15 bytes for each that it holds.
        self._oldest = self.needed[0] if self.needed else resume_at
        self._held = np.zeros(self.needed[-1] + 1 - self._oldest if self.needed else 0, np.bool_)
        self._held[needed - self._oldest] = True
        self.resume_at = resume_at
        self.ended = ended
        self.every = every
        self.regular = regular
        self.facts = facts
        self.files = files
        self.allowed = {"name", *allowed}
        self._elements = [entry.element for entry in entries]
        self.restart()
        self.first = entries[self._at]

    def restart(self) -> None:
        """Begin again at the first entry."""
        self._found = 0  # how many of `needed` a call was found for
        self._at = self._segment_of(self._oldest)

    def position(self, index: int) -> Position:
        """Where thing number `index` is to be put."""
        return self.entries[self._at].positions[index]

    def index_of(self, thing: Positioned, lane: int, found: Sequence[bool]) -> int | None:
        """Which of the things that were pulled from in the run before this is; None if it is a new one.

        Args:
            thing: What is pulled from.
            lane: By which source of a join.
            found: Which of them are found already.
        """
        return index_of(thing._facts(), lane, self.facts, found)

    def check_thing(self, index: int, thing: Positioned) -> None:
        """Check that this is what was pulled from in the run before. Seeds that were drawn by chance become those."""
        saved = self.facts[index]
        here = facts_of(thing, saved["lane"])
        reseed = getattr(thing, "_reseed", None)
        if saved.get("seeds") != here.get("seeds") and reseed is not None and reseed(saved.get("seeds")):
            here = facts_of(thing, saved["lane"])
        compared = Comparison()
        compared.facts(f"source {saved['name']!r}", saved, here, self.allowed)
        compared.conclude()

    def wants(self, number: int) -> bool:
        """Whether the element with that number is wanted."""
        if number >= self.resume_at:
            return not self.ended
        place = number - self._oldest
        return 0 <= place < len(self._held) and bool(self._held[place])

    def wanted(self, first: int, count: int) -> NDArray[np.bool_]:
        """Which of `count` elements from number `first` on are wanted."""
        numbers = np.arange(first, first + count)
        mask = numbers >= self.resume_at if not self.ended else np.zeros(count, np.bool_)
        of_pool = (numbers >= self._oldest) & (numbers < self._oldest + len(self._held))
        mask[of_pool] |= self._held[numbers[of_pool] - self._oldest]
        return mask

    def seek(self, ticket: int, source: Input) -> bool:
        """Move the input to the next call with a needed element, if calls and elements have the same numbers, and calls
        can be left out. Return whether there is more to look for afterwards.

        Args:
            ticket: Of the call that would come next.
            source: The input.
        """
        while self._found < len(self.needed) and self.needed[self._found] < ticket:
            self._found += 1
        more = self._found < len(self.needed)
        target = self.needed[self._found] if more else self.resume_at
        segment = self._segment_of(target)
        if segment > self._at + _NEAR:
            source.go_to(self.entries[segment])
            ticket = self.entries[segment].ticket
        else:
            for entry in self.entries[self._at + 1 : segment + 1]:
                source.read_on_to(entry)
                ticket = entry.ticket
        self._at = segment
        source.skip(target - ticket)
        return more

    def seek_segment(self, ticket: int, source: Input, jumps: bool) -> tuple[int, int] | None:
        """If the next call begins a segment of the journal: move the input to the next segment with a needed element.

        Returns:
            How many elements there must have been before that call, and the number of the first one after the move;
            None in the middle of a segment.
        """
        after = self._at + 1
        if after == len(self.entries) or ticket < self.entries[after].ticket:
            return None
        before = self.entries[after].element
        while jumps and after < len(self.entries) - 1 and not self._holds_needed(after):
            after += 1
        entry = self.entries[after]
        (source.read_on_to if after == self._at + 1 else source.go_to)(entry)
        self._at = after
        return before, entry.element

    @property
    def in_last_segment(self) -> bool:
        """Whether all further calls follow one after the other."""
        return self._at == len(self.entries) - 1

    def _holds_needed(self, segment: int) -> bool:
        low, high = (bisect.bisect_left(self.needed, element) for element in self._elements[segment : segment + 2])
        return low < high

    def _segment_of(self, element: int) -> int:
        return bisect.bisect_right(self._elements, element) - 1


def index_of(
    here: Mapping[str, Any], lane: int, saved: Sequence[Mapping[str, Any]], found: Sequence[bool]
) -> int | None:
    """Which of the saved facts are about the thing with these; None if none are. See `Replay.index_of`."""
    free = [i for i, facts in enumerate(saved) if not found[i] and facts["kind"] == here["kind"]]
    same = [i for i in free if saved[i]["name"] == here["name"]]
    own = [i for i in free if saved[i]["lane"] == lane]  # what several share was found by any of them
    both = [i for i in same if i in own]
    return next(iter(both or own or same or free), None)


def facts_of(thing: Positioned, lane: int) -> dict[str, Any]:
    """The facts about a thing, which source of a join pulled from it first, and what the numbers of a position are."""
    return {**thing._facts(), "lane": lane, "columns": list(thing.columns)}
