"""Recorder: what a function of the user's reads from, such as a reader, so that its place can be saved and found again.

Readers and producers ask whether their thread has a `Turn`, and tell it what they are and where they stand.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from pipeline._queue import watch_pulls
from pipeline.errors import OpError, StateMismatchError, invalid
from pipeline.files.identity import of_one
from pipeline.flow.stream import nowhere, whole
from pipeline.pulls import Turn, in_use, this_thread
from pipeline.resume.mismatch import Comparison

_NOTHING = "it reads from nothing that knows its place, such as a reader or a producer"


def compare(saved: Mapping[str, Any], here: Mapping[str, Any], but: Container[str] = ()) -> None:
    """Raise StateMismatchError if the facts of a thing are not those of the saved run, except for some keys."""
    comparison = Comparison()
    comparison.facts(f"source {saved['name']!r}", saved, here, but)
    comparison.conclude()


class Things:
    """What the functions of one iterator read from, in the order of their first read; for its states.

    Attributes:
        saved: What a loaded state says of them: the facts of each.
        files: What it says of the files that were read.
        starts: What each source has read from first, in order, and where that stood then; by the source.
    """

    def __init__(self) -> None:
        self.known: list[Any] = []
        self.saved: list[dict[str, Any]] = []
        self.files: Mapping[str, Sequence[Any]] = {}
        self.starts: dict[Any, list[tuple[Any, Any]]] = {}

    def facts(self) -> list[dict[str, Any]]:
        """Return what a resumed run must share: facts of each thing."""
        return [thing._facts() for thing in self.known] + self.saved[len(self.known) :]

    def add(self, thing: Any) -> None:
        """Note a thing that is read for the first time, and compare it with that of the saved run.

        Raises:
            StateMismatchError: It is another one.
        """
        index = len(self.known)
        if index < len(self.saved):
            saved, here = self.saved[index], thing._facts()
            reseed = getattr(thing, "_reseed", None)
            if saved.get("seeds") != here.get("seeds") and reseed is not None and reseed(saved.get("seeds")):
                here = thing._facts()
            compare(saved, here)
            remember = getattr(thing, "_remember_files", None)
            differs = None if remember is None else remember(of_one(self.files, index))
            if differs is not None:
                raise StateMismatchError([(f"files of {thing.name!r}", None, None)], differs)
        self.known.append(thing)


class Recorder:
    """Calls a function, one call at a time, and knows where what it reads from stands.

    Args:
        function: The user's function.
        name: Its name, for errors.
        things: What all functions of the iterator read from.
        source: Whose function it is: another stream of that begins where the first one did, if it is sent there.
    """

    seeds = (0, 0)  # of `example_rng`, which `map` seeds

    def __init__(self, function: Callable[[], Any], name: str, things: Things, source: Any) -> None:
        self._function, self._name, self._shared = function, name, things
        self._things: list[Any] = []
        self._starts = things.starts.setdefault(source, [])  # where each stood before its first read
        self._moved = False  # whether it was sent anywhere
        self._sought: list[Any] = []  # where each has to begin, by the order of first reads
        self._reason: str | None = None
        self._told: str | None = None  # the reason that `_nowhere` gives
        self._turn = Turn(self)
        self._calls = 0
        watch_pulls(1)  # so that queues ask, too, whether their thread has a turn
        weakref.finalize(self, watch_pulls, -1)

    def call(self) -> Any:
        """Call the function."""
        thread, turn = this_thread, self._turn
        turn.begin(self._calls)
        self._calls += 1
        before, thread.turn = thread.turn, turn
        try:
            return self._function()
        finally:
            thread.turn = before

    def element(self) -> int | None:
        """Return what the only read of the last call gave, as the fingerprint knows it; None if there was not one."""
        return self._turn.element()

    def position(self) -> Any:
        """Return where things stand; or the error that says why one of them does not know, or that nothing was read."""
        if not self._things and self._sought:
            return [self._calls, *self._sought]
        if not self._things and not self._calls:  # what it reads from is not known yet: it begins at the start
            return [0]
        reason = self._reason or self._lacks()
        if reason is None:
            return [self._calls, *(thing._position() for thing in self._things), *self._sought[len(self._things) :]]
        if reason != self._told:  # else the error is here: of each batch somebody asks where it came from
            text = f"{self._name} is a function whose position cannot be saved: {reason}"
            self._told, self._nowhere = reason, nowhere(text)
        return self._nowhere

    def _lacks(self) -> str | None:
        """Return why there is no position because of what is read; None if there is one."""
        if not self._things:
            return _NOTHING
        return next((reason for thing in self._things if (reason := thing._no_state())), None)

    def seek(self, position: Sequence[Any]) -> None:
        """Put things where they stood; those that are not known yet, when they are read."""
        if self._reason is not None:
            raise self.position()
        calls, *places = position
        self._calls = whole(calls)
        self._sought, self._moved = places, True
        for k, thing in enumerate(self._things):
            self._send(k, thing)

    def _send(self, k: int, thing: Any) -> None:
        """Put the thing that is read as number k where it has to begin."""
        if k < len(self._sought):
            place = self._sought[k]
            if not isinstance(place, list) or not all(type(each) is int and -1 <= each < 2**62 for each in place):
                raise invalid(
                    f"load_state_dict: the position of the state is damaged: {thing.name} was at {place!r:.80}"
                )
            try:
                thing._go_to(place)
            except ValueError as error:
                if isinstance(error, OpError):
                    raise
                text = f"load_state_dict: the position of the state does not fit {thing.name}: {error}"
                raise invalid(text) from error
        elif self._moved and k < len(self._starts) and self._starts[k][0] is thing:
            thing._go_to(self._starts[k][1])

    def close(self) -> None:
        """Let others read from the things."""
        for thing in self._things:
            if thing.owner is self:
                thing.owner = None
        self._things = []
        self._turn = Turn(None)  # the two refer to each other, and with them what the function reads from

    # A Book, which a Turn asks.

    def adopt(self, thing: Any) -> None:
        """A call reads from something for the first time."""
        if not hasattr(thing, "_go_to"):
            self._reason = f"it reads from '{thing.name}', which others fill"
            return
        if thing.owner is not None:
            raise in_use(thing)
        self._shared.add(thing)
        k = len(self._things)
        if k == len(self._starts) and thing._no_state() is None:
            self._starts.append((thing, thing._position()))
        thing.owner = self
        self._things.append(thing)
        names: Any = getattr(thing, "_source", None)  # of a reader: compared before it opens one of its files
        if names is not None and hasattr(names, "_element") and names.owner is not self:
            self.adopt(names)
        self._send(k, thing)


class Unrecorded:
    """Calls a function of which nobody wants to know where it stands; other threads may call it meanwhile.

    Args:
        function: The user's function.
        name: Its name, for errors.
    """

    def __init__(self, function: Callable[[], Any], name: str) -> None:
        self.call = function
        text = f"{name} is called in no fixed order, so its position cannot be saved: pass deterministic=True"
        self._nowhere = nowhere(text)

    def element(self) -> int | None:
        """Return nothing: what it reads is not known."""
        return None

    def position(self) -> Any:
        """Return the error that says that there is none."""
        return self._nowhere

    def seek(self, position: Sequence[Any]) -> None:
        """Raise it."""
        raise self._nowhere

    def close(self) -> None:
        """Do nothing."""
