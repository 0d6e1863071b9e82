"""Run: what the streams of one iterator share: seeds, files, meters, skipped errors, and the sign to stop."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pipeline import hooks
from pipeline._block import mix_numbers
from pipeline._meter import Meter
from pipeline.diagnostics.live import PrefetchMeter
from pipeline.errors import CancelledError, StateMismatchError
from pipeline.files.identity import Opened, merged, of_one
from pipeline.on_error import Skips
from pipeline.sync.stop_flag import StopFlag

if TYPE_CHECKING:
    from pipeline.orders.seeds import Seed
    from pipeline.stages.schedule import MixNotes

import numpy as np

Pair: TypeAlias = "tuple[int, int]"
Names: TypeAlias = "Callable[[int, int], list[str]]"


class Stops(Protocol):
    """What may end an iterator besides its `close`, such as a Coordinator."""

    def register_thread(self, thread: threading.Thread) -> None: ...
    def should_stop(self) -> bool: ...
    def request_stop(self, error: BaseException | None = None) -> None: ...


class Clock:
    """Whether the iterator was closed: every wait, and every `take`, looks.

    Args:
        name: What errors call the iterator.
        stops_with: What ends the iterator too; None for nothing.

    Attributes:
        bell: Is set when the iterator is closed.
        coord: The Coordinator of the queue runners that were started for the iterator; None if none were.
        threads: The threads that take elements ahead.

    Thread safety: every method may be called from every thread, signal handler or finalizer.
    """

    def __init__(self, name: str, stops_with: Stops | None = None) -> None:
        self.name, self.stops_with = name, stops_with
        self.bell = StopFlag()
        self.coord: Any = None
        self.threads: list[threading.Thread] = []
        self._calls: list[Callable[[], object]] = []

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for elements any more."""
        return self.bell.raised or (self.stops_with is not None and self.stops_with.should_stop())

    def check(self) -> None:
        """Raise CancelledError if the iterator was closed, or what it ends with has stopped."""
        if self.bell.raised:
            raise CancelledError(None, None, f"{self.name}: the iterator was closed")
        if self.stops_with is not None and self.stops_with.should_stop():
            raise CancelledError(None, None, f"{self.name}: its Coordinator was stopped")

    def on_stop(self, call: Callable[[], object]) -> None:
        """Have something called when the iterator is closed; at once if it is closed already."""
        self._calls.append(call)
        if self.bell.raised:
            self.stop()

    def stop(self) -> None:
        """End all waits, also later ones."""
        self.bell.set()
        while calls := tuple(self._calls):
            for call in reversed(calls):
                call()  # if Ctrl-C strikes here, the next `stop` calls it again
                with contextlib.suppress(ValueError):  # another thread or handler was first
                    self._calls.remove(call)


class Seeds:
    """The seeds of an iterator: fixed when they are first used, whatever becomes of the recipe's later."""

    def __init__(self) -> None:
        self._pairs: dict[Seed, Pair] = {}

    def pair(self, seed: Seed) -> Pair:
        """Return the two seeds of a stage."""
        return self._pairs.setdefault(seed, seed.pair)


class DerivedSeeds(Seeds):
    """The seeds of a recipe that a function of the user's has made while the iterator runs.

    Seeds that chance would draw follow from a seed of the stage that asked for the recipe, which states save.

    Args:
        base: The seeds of that stage.
        which: Which recipe it is.
    """

    def __init__(self, base: Pair, which: int) -> None:
        super().__init__()
        self._base = base
        self._which = int(mix_numbers(np.array([which], np.int64), base[1])[0])

    def pair(self, seed: Seed) -> Pair:
        if not seed.drawn:
            return seed.pair
        if seed not in self._pairs:
            count = np.array([len(self._pairs)], np.int64)
            self._pairs[seed] = self._base[0], int(mix_numbers(count, self._which)[0])
        return self._pairs[seed]


class Files:
    """The files that an iterator has read, in all passes, as far as states have to tell them from changed ones.

    Attributes:
        saved: The identities of the files that a saved run had read, from its state.
    """

    def __init__(self) -> None:
        self._opened: dict[int, tuple[Any, Opened]] = {}
        self.saved: Mapping[str, Sequence[Any]] = {}
        self._tables: dict[int, list[Any]] = {}  # each with the identities of its files, once these were asked for

    def of_parts(self, parts: Any, names: Names) -> Opened:
        """Return what notes the files of a source as they are opened.

        Args:
            parts: The source.
            names: Returns the names of `count` files from number `first` on, in the order of the first pass.

        Raises:
            StateMismatchError: A file that a saved run had read has another size now.
        """
        known = self._opened.get(id(parts))
        if known is None:
            opened = Opened()
            if self.saved:
                differs = opened.remember(of_one(self.saved, len(self._opened)), names)
                if differs is not None:
                    raise StateMismatchError([(f"files of {parts.kind}", None, None)], differs)
            known = self._opened[id(parts)] = parts, opened
        return known[1]

    def of_table(self, table: Any) -> None:
        """Note the files of a table, all of which may be read."""
        self._tables.setdefault(id(table), [table, None])

    def listed(self) -> dict[str, list[Any]]:
        """Return the identities of the files that were read."""
        opened = [each.listed() for _, each in list(self._opened.values())]
        for known in list(self._tables.values()):
            if known[1] is None:
                known[1] = known[0].identities()
            opened.append(known[1])
        return merged(opened)


class Measured:
    """What is measured of one step that the user wrote.

    Args:
        number: What reports know it by.
        meter: Counts elements and time.
        label: What reports call it.
        inputs: The steps that run before it.

    Attributes:
        workers: What runs its function elsewhere, once that has begun; None if nothing does.
        ahead: What threads have taken ahead; None for steps that take nothing ahead.
        drawn: Returns what was drawn of each input, for steps that draw; None for others.
    """

    def __init__(self, number: int, meter: Meter, label: str, inputs: Sequence[Any] = ()) -> None:
        self.number, self.meter, self.label, self.inputs = number, meter, label, inputs
        self.workers: Any = None
        self.ahead: PrefetchMeter | None = None
        self.drawn: Callable[[], dict[str, Any]] | None = None


class Run:
    """What the streams of one iterator share.

    Attributes:
        epoch: Which pass it is.
        path: A number for the inputs through which a stage is reached: it keeps `example_rng` of inputs apart.
        hosts: Whether other hosts have to make the same elements, by seeds of their own: those of which each host
            keeps its part.
        seeds, files, clock: What else they share; see the classes.
        measured: What is measured, by the step that the user wrote.
        mixed: The notes on each mix.
        skipped: The errors that were skipped.
        fills: Whether caches are filled; else elements that are not there are only computed.
    """

    def __init__(self, name: str, measured: Mapping[Any, Measured] | None = None, stops: Stops | None = None) -> None:
        self.epoch, self.path, self.hosts = 0, 0, False
        self.seeds, self.files, self.clock = Seeds(), Files(), Clock(name, stops)
        self.measured = measured or {}
        self.mixed: dict[Any, MixNotes] = {}
        self.skipped, self.fills = Skips("skip", None), True
        self._dropped: dict[tuple[Any, int, int], int] = {}

    @property
    def dropped(self) -> int:
        """How many examples filled no batch at the end of a pass."""
        return sum(self._dropped.copy().values())

    def note_dropped(self, step: Any, count: int) -> None:
        """Note how many examples fill no batch at the end of this pass of a step, as the user wrote it."""
        self._dropped[step, self.epoch, self.path] = count

    def start_runners(self) -> None:
        """Start the queue runners that were registered and never started: sources call it that may need them.

        These are queues, and functions and iterables of the user's.
        """
        clock = self.clock
        if clock.coord is None and hooks.start_runners is not None:
            clock.coord = hooks.start_runners(clock.stops_with, clock.on_stop)

    def of(self, epoch: int) -> Run:
        """Return the run of another pass."""
        other = copy.copy(self)
        other.epoch = epoch
        return other

    def inner(self, which: int) -> Run:
        """Return the run of input number `which` of a stage that joins several."""
        other = copy.copy(self)
        other.path = int(mix_numbers(np.array([self.path], np.int64), which)[0])
        return other

    def derived(self, base: Pair, which: int) -> Run:
        """Return the run of recipe number `which` of those that a function makes; see DerivedSeeds."""
        other = self.inner(which)
        other.seeds = DerivedSeeds(base, which)
        return other

    def of_hosts(self) -> Run:
        """Return the run of what several hosts make alike."""
        other = copy.copy(self)
        other.hosts = True
        return other

    def again(self) -> Run:
        """Return a run for streams that continue where those of this one were interrupted."""
        other = copy.copy(self)
        other.clock = Clock(self.clock.name, self.clock.stops_with)
        other.clock.threads = self.clock.threads
        return other


class Limited(Skips):
    """Counts the skipped errors of one step, and adds them to those of the iterator."""

    def __init__(self, run: Run, on_error: str, max_errors: int | None) -> None:
        super().__init__(on_error, max_errors)
        self._all = run.skipped

    def note(self, error: Exception) -> None:
        super().note(error)
        self._all.note(error)

    def _keep(self, error: Exception) -> None:
        """Leave that to the iterator's."""
