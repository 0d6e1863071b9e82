"""Run: the state shared by an iterator's streams: seeds, files, meters, skipped errors and the stop signal."""

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
    """An object that can end an iterator besides its `close`, such as a Coordinator."""

    def register_thread(self, thread: threading.Thread) -> None: ...
    def should_stop(self) -> bool: ...
    def request_stop(self, error: BaseException | None = None) -> None: ...


class Clock:
    """Records whether the iterator was closed; every wait and every `take` checks it.

    Args:
        name: The iterator's name in errors.
        stops_with: An object whose stop also ends the iterator, or None.

    Attributes:
        bell: Set when the iterator is closed.
        coord: The Coordinator for the queue runners started with the iterator; None if there are none.
        threads: The threads that read ahead.
        within: Keys for the executors waiting for an element. They cannot run functions for it.

    Thread safety: every method may be called from any thread, signal handler or finalizer.
    """

    def __init__(self, name: str, stops_with: Stops | None = None) -> None:
        self.name, self.stops_with = name, stops_with
        self.bell = StopFlag()
        self.coord: Any = None
        self.threads: list[threading.Thread] = []
        self.within: frozenset[int] = frozenset()
        self._calls: list[Callable[[], object]] = []

    @property
    def stopped(self) -> bool:
        """True if the iterator no longer gives elements."""
        return self.bell.raised or (self.stops_with is not None and self.stops_with.should_stop())

    def check(self) -> None:
        """Raise CancelledError if the iterator was closed or `stops_with` has stopped."""
        if self.bell.raised:
            raise CancelledError(None, None, f"{self.name}: the iterator was closed")
        if self.stops_with is not None and self.stops_with.should_stop():
            raise CancelledError(None, None, f"{self.name}: its Coordinator was stopped")

    def on_stop(self, call: Callable[[], object]) -> None:
        """Call a function when the iterator is closed; at once if it is closed already."""
        self._calls.append(call)
        if self.bell.raised:
            self.stop()

    def stop(self) -> None:
        """End all waits, present and future."""
        self.bell.set()
        while calls := tuple(self._calls):
            for call in reversed(calls):
                call()  # if Ctrl-C arrives here, the next `stop` calls it again
                with contextlib.suppress(ValueError):  # another thread or handler was first
                    self._calls.remove(call)


class Seeds:
    """An iterator's seeds, fixed at their first use even if the recipe's change later."""

    def __init__(self) -> None:
        self._pairs: dict[Seed, Pair] = {}

    def pair(self, seed: Seed) -> Pair:
        """Return a stage's two seeds."""
        return self._pairs.setdefault(seed, seed.pair)


class DerivedSeeds(Seeds):
    """Seeds for a recipe made by a user function while the iterator runs.

    Seeds left to chance are derived from the calling stage's, because states save only these.

    Args:
        base: The calling stage's seeds.
        which: The recipe's index among those made by the stage.
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
    """The files read by an iterator in all passes, with identities that let a state detect changes.

    Attributes:
        saved: From a loaded state: file identities in the saved run.
    """

    def __init__(self) -> None:
        self._opened: dict[int, tuple[Any, Opened]] = {}
        self.saved: Mapping[str, Sequence[Any]] = {}
        self._tables: dict[int, list[Any]] = {}  # each with the identities of its files, found on first request

    def of_parts(self, parts: Any, names: Names) -> Opened:
        """Return an object that notes a source's files as they are opened.

        Args:
            parts: The source.
            names: Returns the names of `count` files from number `first` on, in the first pass's order.

        Raises:
            StateMismatchError: A file's size has changed since a saved run read it.
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
        """Note all of a table's files, because any may be read."""
        self._tables.setdefault(id(table), [table, None])

    def listed(self) -> dict[str, list[Any]]:
        """Return the identities of the files read so far."""
        opened = [each.listed() for _, each in list(self._opened.values())]
        for known in list(self._tables.values()):
            if known[1] is None:
                known[1] = known[0].identities()
            opened.append(known[1])
        return merged(opened)


class Measured:
    """Measurements for one step in the user's program.

    Args:
        number: Identifies the step in reports.
        meter: Counts elements and time.
        label: The step's name in reports.
        inputs: The steps before it.

    Attributes:
        workers: Its function's executor, once started; None without one.
        moved: Bytes of inputs sent to the executor, and of results received.
        objects, bytes: Objects and bytes in the first result of a function in the consuming thread; 0 if unknown.
        fields, converts: Fields in the first example of a batch, and whether most are lists or numbers of Python; 0 and
            False if unknown.
        ahead: The buffer for elements read ahead; None for steps without one.
        drawn: Returns the number of elements drawn from each input, for steps that draw; None for others.
    """

    def __init__(self, number: int, meter: Meter, label: str, inputs: Sequence[Any] = ()) -> None:
        self.number, self.meter, self.label, self.inputs = number, meter, label, inputs
        self.workers: Any = None
        self.moved, self.objects, self.bytes = (0, 0), 0, 0
        self.fields, self.converts = 0, False
        self.ahead: PrefetchMeter | None = None
        self.drawn: Callable[[], dict[str, Any]] | None = None


class Run:
    """The state shared by an iterator's streams.

    Attributes:
        epoch: The pass's number.
        path: A hash over the inputs between the iterator and a stage, so each input has its own `example_rng`.
        hosts: True if several hosts make the same elements and each keeps its shard, so all need equal seeds.
        seeds, files, clock: See their classes.
        measured: The measurements for each step in the user's program.
        mixed: The notes on each mix.
        skipped: The skipped errors.
        fills: True if caches are filled; otherwise missing elements are computed and not kept.
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
        """The number of examples dropped at the ends of passes because they filled no batch."""
        return sum(self._dropped.copy().values())

    def note_dropped(self, step: Any, count: int) -> None:
        """Note a step's examples that fill no batch at the end of this pass."""
        self._dropped[step, self.epoch, self.path] = count

    def start_runners(self) -> None:
        """Start the queue runners registered and not yet started.

        Called by sources that may depend on them: queues, and the user's functions and iterables.
        """
        clock = self.clock
        if clock.coord is None and hooks.start_runners is not None:
            clock.coord = hooks.start_runners(clock.stops_with, clock.on_stop)

    def of(self, epoch: int) -> Run:
        """Return the run for another pass."""
        other = copy.copy(self)
        other.epoch = epoch
        return other

    def inner(self, which: int) -> Run:
        """Return the run for input `which` in a stage with several inputs."""
        other = copy.copy(self)
        other.path = int(mix_numbers(np.array([self.path], np.int64), which)[0])
        return other

    def derived(self, base: Pair, which: int) -> Run:
        """Return the run for a function's recipe number `which`; see DerivedSeeds."""
        other = self.inner(which)
        other.seeds = DerivedSeeds(base, which)
        return other

    def of_hosts(self) -> Run:
        """Return the run for elements that several hosts make alike."""
        other = copy.copy(self)
        other.hosts = True
        return other

    def again(self) -> Run:
        """Return a run for streams that continue an interrupted run."""
        other = copy.copy(self)
        other.clock = Clock(self.clock.name, self.clock.stops_with)
        other.clock.threads = self.clock.threads
        return other


class Limited(Skips):
    """Counts one step's skipped errors and passes them on to the iterator's."""

    def __init__(self, run: Run, on_error: str, max_errors: int | None) -> None:
        super().__init__(on_error, max_errors)
        self._all = run.skipped

    def note(self, error: Exception) -> None:
        super().note(error)
        self._all.note(error)

    def _keep(self, error: Exception) -> None:
        """Do nothing: the iterator keeps its errors."""
