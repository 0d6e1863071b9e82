"""Ledger: what calls of a deterministic loop pull from, where that stood at each call, and the way back there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline._turns import Baton
from pipeline.batches.replay import Replay, facts_of
from pipeline.batches.source import interrupted
from pipeline.errors import OutOfRangeError, StateMismatchError
from pipeline.files.identity import merged, of_one
from pipeline.pulls import Book, LoopOver, Positioned, Turn, in_use
from pipeline.resume.journal import EVERY, Entry, Journal, Position

_NO_PULLS = "its source reads from nothing that knows its place, such as a reader, a producer or a sequence"


class Ledger:
    """The things that calls pull from, in the order of their first pull, and the journal of their positions.

    Only the thread with the baton calls the methods that change something.

    Args:
        replay: Where to begin, after a state was loaded.
        trim: Called now and then, to forget what no state needs any more.

    Attributes:
        one_to_one: Each call gives one element, so that the two have the same number; a call for a block of rows has
            the number of the first.
        jumps: Calls may be left out after a resume; in a join the threads would be out of step.
        regular: All calls so far have pulled once, in the same way: calls can be skipped by pulling alone.
        baton: It knows the ticket of the next call, and before which one the next entry is noted.
        usual: How all calls so far have pulled; None if that is not known, or they vary.
        journal: Where things stood.
        every: Calls between two entries.
    """

    def __init__(self, replay: Replay | None = None, trim: Callable[[], None] = lambda: None) -> None:
        self.one_to_one = False
        self.jumps = True
        # Those of a saved run that have not been pulled from again are None.
        self._things: list[Positioned | None] = [None] * (0 if replay is None else len(replay.facts))
        self._lanes = [] if replay is None else [facts["lane"] for facts in replay.facts]
        self._starts: list[tuple[Any, Position | None]] = []
        self.regular = True
        self.usual: tuple[Any, ...] | None = None
        self.journal = Journal()
        self.every = EVERY
        self._trim = trim
        self._how: Any = None
        self._by_row = False
        self._journaled = True
        self.baton = Baton()
        self._replay = replay
        self._seeking = replay is not None
        self._reasons: list[str] = []
        if replay is not None:
            self.every, self.regular = replay.every, replay.regular
            self.baton.ticket = replay.first.ticket
            for entry in replay.entries:
                self.journal.note(entry.ticket, entry.positions, entry.element)
            self.baton.note_at = (replay.entries[-1].ticket // self.every + 1) * self.every

    @property
    def pulled_from(self) -> bool:
        """Whether calls pull from anything that is known."""
        return bool(self._things or self._reasons)

    def no_state(self) -> str | None:
        """Why the place of the input cannot be given; None if it can."""
        reasons = [*self._reasons, *(reason for thing in self._known() if (reason := thing._no_state()))]
        return reasons[0] if reasons else None if self._things else _NO_PULLS

    def facts(self) -> list[dict[str, Any]]:
        """The facts of the things, in the order of their first pull."""
        saved = [] if self._replay is None else self._replay.facts
        things = enumerate(zip(self._things, self._lanes, strict=True))
        return [saved[i] if thing is None else facts_of(thing, lane) for i, (thing, lane) in things]

    def files(self) -> dict[str, list[Any]]:
        """What tells the files that were read from changed ones, by name."""
        return merged(getattr(thing, "_files", dict)() for thing in self._things)

    def next_call(self, turn: Turn) -> None:
        """Put the input where the next call begins, and say which call that is."""
        if self._seeking:
            self._seek(turn)
        turn.ticket = self.next_ticket()

    def next_ticket(self) -> int:
        """The ticket of the next call, once nothing is sought any more; notes where things stand if it is time to."""
        baton = self.baton
        ticket = baton.ticket
        if ticket >= baton.note_at:
            baton.note_at = (ticket // self.every + 1) * self.every
            if self._journaled and not self._reasons:
                self.journal.note(ticket, self._positions(), ticket if self.one_to_one else None)
                self._trim()
        baton.ticket = ticket + 1
        return ticket

    def room(self) -> int:
        """How many rows a call may take, so that the next one begins at an entry at the latest."""
        return self.every - (self.baton.ticket - 1) % self.every

    def took(self, rows: int) -> None:
        """The last call took so many rows, each of which has a number; 0 counts as one."""
        self.baton.ticket += max(0, rows - 1)
        self._by_row = True

    def release(self) -> None:
        """Let the things be pulled from by others again, from where they stood before.

        Raises:
            FailedPreconditionError: One that cannot go back has been pulled from.
        """
        lost: list[str] = []
        for thing, start in self._starts:
            thing.owner = None
            if start is None:
                thing._release()
            elif thing._no_state() is None:
                thing._go_to(start)
            elif thing._position() != start:
                lost.append(thing.name)
        if lost:
            raise interrupted(lost[0], "it took its first example from this, which cannot go back")

    def let_go(self, book: Book | None, sources: Sequence[Any]) -> None:
        """The loop is over: what it read forgets it, as a cycle would hold its arrays."""
        for thing in (*(each for each, _ in self._starts), *sources):
            if book is not None and getattr(thing, "owner", None) is book:  # not another loop's
                thing.owner = None if getattr(thing, "of_loop", False) else LoopOver()
                getattr(thing, "over", _nothing)()

    def adopt(self, book: Book, thing: Any, lane: int = 0) -> None:
        """A call pulls from this for the first time: nobody else may from now on."""
        if not hasattr(thing, "_go_to"):
            self._reason(f"it pulls from '{thing.name}', which other threads fill")
            return
        if thing.owner is not None:
            raise in_use(thing)
        journaled = getattr(thing, "journaled", True)
        self._starts.append((thing, thing._position() if journaled else None))  # first: Ctrl-C may strike in between
        thing.owner = book
        if not journaled:
            self._journaled = False
        replay = self._replay
        found = [each is not None for each in self._things]
        index = None if replay is None else replay.index_of(thing, lane, found)
        if replay is not None and index is not None:
            replay.check_thing(index, thing)
            remember = getattr(thing, "_remember_files", None)
            if remember is not None:
                difference = remember(of_one(replay.files, index, "shard" in replay.allowed))
                if difference is not None:
                    raise StateMismatchError([(f"files of {thing.name!r}", None, None)], difference)
            thing._go_to(replay.position(index))
            self._things[index] = thing
            return
        if journaled:
            self.journal.joined(thing._position())
        self._things.append(thing)
        self._lanes.append(lane)

    def pulled(self, turn: Turn) -> None:
        """A pull of a call is over that is not the usual one."""
        how = turn.how
        if self._how is None:
            self._how = how
        if self._by_row:
            return
        if turn.pulls > 1 or how is None or how != self._how:
            self.vary()
        elif self.regular:
            self.usual = how

    def vary(self) -> None:
        """A call has not pulled once, in the way of the first."""
        self.regular = False
        self.usual = None

    def _reason(self, text: str) -> None:
        if text not in self._reasons:
            self._reasons.append(text)

    def _seek(self, turn: Turn) -> None:
        replay = self._replay
        assert replay is not None
        if not self._known():  # before the first call nothing can be moved: what is not needed of it is dropped
            return
        if not self.one_to_one:
            turn.boundary = replay.seek_segment(self.baton.ticket, self, self.jumps)
            self._seeking = not replay.in_last_segment
        elif self.baton.ticket >= replay.resume_at:
            self._seeking = False
        elif self.regular:
            self._seeking = replay.seek(self.baton.ticket, self)

    def _known(self) -> list[Positioned]:
        return [thing for thing in self._things if thing is not None]

    def _positions(self) -> list[Position]:
        return [self._position_of(i, thing) for i, thing in enumerate(self._things)]

    def _position_of(self, index: int, thing: Positioned | None) -> Position:
        if thing is not None:
            return thing._position()
        assert self._replay is not None
        return self._replay.position(index)

    # What a replay does with the input

    def go_to(self, entry: Entry) -> None:
        for thing, position in zip(self._things, entry.positions, strict=False):
            if thing is not None:
                thing._go_to(position)
        self.baton.ticket = entry.ticket

    def read_on_to(self, entry: Entry) -> None:
        self.skip(entry.ticket - self.baton.ticket)
        pairs = zip(self._things, entry.positions, strict=False)
        if any(thing is not None and thing._position() != position for thing, position in pairs):
            raise other_examples()

    def skip(self, count: int) -> None:
        if count:
            thing, *how = self._how[:1] if self._by_row else self._how
            try:
                thing._skip(count, *how)
            except OutOfRangeError as error:
                raise other_examples() from error
            self.baton.ticket += count


def other_examples() -> StateMismatchError:
    """The error for an input that changed in a way that no fact about it shows."""
    return StateMismatchError(
        [("input", "the examples read so far", "other examples, or fewer, than when it was saved")]
    )


def _nothing() -> None:
    """What else things do that are over."""
