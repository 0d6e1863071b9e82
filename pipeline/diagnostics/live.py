"""Registries for reports: live queues, readers, thread groups and iterators in this process.

Everything is held weakly and noted once, when it is made. Nothing here costs anything for each element.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pipeline.diagnostics.clocks import Clocks, ThreadClocks, Usage, usage
from pipeline.diagnostics.workers import Inputs, this_thread
from pipeline.stats import QueueStats

T = TypeVar("T")

SHORTEST = 0.01  # seconds: shorter loops are not worth a note

_numbers = itertools.count(1)  # one count for all: a number stands for one thing


class Live(Generic[T]):
    """Live objects in order of addition, each with a unique number.

    Thread safety: you may call every method from every thread, also while things end.

    Attributes:
        on_next: Called once, when something else is added; None for nothing.
    """

    def __init__(self) -> None:
        self._refs: dict[int, tuple[int, weakref.ref[T]]] = {}  # by id, while the thing lives
        self.on_next: Callable[[], object] | None = None

    def add(self, thing: T) -> None:
        """Note a thing; once it is known, this changes nothing."""
        key, refs = id(thing), self._refs
        if key not in refs:
            # In C, because Ctrl-C is not raised within such a call.
            refs[key] = next(_numbers), weakref.ref(thing, functools.partial(refs.pop, key))
            call, self.on_next = self.on_next, None
            if call is not None:
                call()

    def numbered(self) -> list[tuple[int, T]]:
        """Return what is alive, each thing with its number."""
        known = [(number, ref()) for number, ref in self._refs.copy().values()]
        return [(number, thing) for number, thing in known if thing is not None]

    def forget(self) -> None:
        """Drop all entries."""
        self._refs = {}

    def number(self, thing: T) -> int | None:
        """Return a thing's number; None if it was never added."""
        known = self._refs.get(id(thing))
        return None if known is None else known[0]


queues: Live[Any] = Live()
readers: Live[Any] = Live()
groups: Live[Any] = Live()
loops: Live[Any] = Live()  # dataset iterators


def number() -> int:
    """Return a unique number for a part."""
    return next(_numbers)


def _forget() -> None:
    """Forget the parent's things in a forked child: their threads are missing there."""
    for _, loop in loops.numbered():
        loop._after_fork()
    for each in (queues, readers, groups, loops):
        each.forget()
    ended.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def note_input(source: Any) -> None:
    """Record an input for this thread, such as a reader; see `Inputs`.

    Call it where something is begun, such as a file, not for each element.
    """
    inputs = this_thread.inputs
    if inputs is not None:
        inputs.add(source)


class PrefetchThread:
    """A read-ahead thread.

    Attributes:
        thread: The thread.
        inputs: Its inputs.
        clocks: Its clocks.
        waits: True if it waits for room now.
    """

    def __init__(self) -> None:
        self.thread, self.inputs, self.clocks = threading.current_thread(), Inputs(), ThreadClocks(new=True)
        self._seconds, self._since = 0.0, 0.0  # earlier waits; the current one's begin

    @property
    def waits(self) -> bool:
        return self._since > 0

    def wait(self) -> None:
        """Record a wait for room."""
        self._since = time.perf_counter()

    def resume(self) -> None:
        """Record a wait's end."""
        since, self._since = self._since, 0.0
        self._seconds += time.perf_counter() - since

    def waited(self) -> float:
        """Return how many seconds the thread has waited for room."""
        since = self._since
        return self._seconds + (time.perf_counter() - since if since else 0.0)


class PrefetchMeter:
    """Counts elements taken ahead, and times the waits of read-ahead threads; one for all passes over a step.

    Attributes:
        threads: The current pass's threads.
    """

    def __init__(self) -> None:
        self.threads: list[PrefetchThread] = []
        self._room = self._most = 0
        self._ready: Callable[[], Any] = _nothing
        self._began = time.monotonic()
        self._waited, self._before = 0.0, Clocks()  # in earlier passes

    def begin(self, room: int, ready: Any) -> None:
        """Begin a pass.

        Args:
            room: Number of blocks that fit.
            ready: The queue for waiting elements, held weakly.
        """
        self._waited += sum(each.waited() for each in self.threads)
        self._before = self.clocks() or Clocks()
        self.threads, self._room, self._ready = [], room, weakref.ref(ready)

    def enter(self) -> PrefetchThread:
        """Record that this thread starts to read ahead."""
        thread = PrefetchThread()
        self.threads.append(thread)
        this_thread.inputs = thread.inputs
        return thread

    def note_level(self, level: int) -> None:
        """Note how many blocks wait."""
        if level > self._most:
            self._most = level

    def end(self) -> None:
        """End a pass."""
        self._ready = _nothing

    def clocks(self) -> Clocks | None:
        """Return its threads' clocks over all passes; None if the system has none."""
        found = [each.clocks.read() for each in list(self.threads)]
        return None if None in found else functools.reduce(Clocks.plus, filter(None, found), self._before)

    def stats(self, taken: int, seconds: float) -> QueueStats:
        """Return statistics like a queue's.

        Args:
            taken: Elements taken.
            seconds: How long the consuming thread has waited.
        """
        ready, threads = self._ready(), list(self.threads)
        level = 0 if ready is None else min(ready.qsize(), self._room)
        waited = self._waited + sum(each.waited() for each in threads)
        return QueueStats(
            capacity=self._room,
            size=level,
            closed=self._ready is _nothing,
            enqueued=taken + level,
            dequeued=taken,
            high_water=max(level, self._most),
            enqueue_waits=0,
            dequeue_waits=0,
            enqueue_wait_s=waited,
            dequeue_wait_s=seconds,
            empty_s=seconds,
            full_s=waited / max(1, len(threads)),
            age_s=time.monotonic() - self._began,
            waiting_enqueues=sum(each.waits for each in threads),
            waiting_dequeues=0,
        )


def _nothing() -> None:
    """Stand in for a prefetch's queue between two passes."""


class LoopTimes:
    """When a loop did what, by `time.monotonic`; None until then.

    Attributes:
        begun_at: When its first example was there, and its threads began: earlier time is the start of whatever
            makes examples, such as processes, and nobody's work.
        first_at: When the first batch was there; None if `start` was called before.
        ended_at: When it ended.
        thread: The starting thread's name.
        clocks: The starting thread's clocks, most likely the consumer's, from then to the end.
        used: The use of the machine's processors at the begin, and at the end.
    """

    begun_at: float | None = None
    first_at: float | None = None
    ended_at: float | None = None
    thread: str = ""
    clocks: ThreadClocks | None = None
    used: tuple[Usage | None, Usage | None] = None, None

    def begin(self) -> None:
        self.begun_at, self.first_at, self.ended_at = time.monotonic(), None, None
        self.thread = threading.current_thread().name
        self.clocks, self.used = ThreadClocks(), (usage(), None)

    def average(self) -> tuple[float | None, float | None]:
        """Return how many processors were idle, and how many ran other programs; None if unknown."""
        begin, end = self.used
        if self.ended_at is None:
            end = usage()
        return (None, None) if begin is None or end is None else begin.average(end)

    def until(self, idle: float) -> LoopTimes:
        """Return them as if it had ended so many seconds ago."""
        made = LoopTimes()
        made.begun_at, made.first_at, made.ended_at = self.begun_at, self.first_at, time.monotonic() - idle
        return made

    def age(self) -> float:
        """Return how many seconds it has lasted."""
        return 0.0 if self.begun_at is None else (self.ended_at or time.monotonic()) - self.begun_at

    def end(self, left: float = 0.0) -> None:
        """Note the end, that many seconds after the loop was left; the second time changes nothing."""
        if self.ended_at is None:
            self.ended_at, self.used = time.monotonic() - left, (self.used[0], None if left else usage())
            if self.clocks is not None:
                self.clocks.end()


class PartFacts(NamedTuple):
    """Facts about one step in a running dataset, for reports.

    Attributes:
        number: Its own number, or the queue's if it is one.
        kind: "source", "function" or "step".
        name: Its name in the user's program.
        inputs: Its input parts or queues, by number.
        elements: Elements produced.
        seconds: Time spent in consuming threads, without its inputs. If workers or
            read-ahead threads compute elements: how long the consuming thread has waited.
        worked: How long it took in worker threads and processes.
        offered: How long all could have worked; None if their number does not change.
        workers: Its workers; 0 if it runs in the consuming thread.
        running: Its running threads and processes.
        clocks: Its threads' and processes' clocks; None if unknown.
        ahead: Statistics about elements taken ahead; None without a read-ahead thread.
        threads: These threads.
        settings: Its options.
        left_out: Elements produced during a slow start, and not in these figures.
    """

    number: int
    kind: str
    name: str
    inputs: Sequence[int]
    elements: int
    seconds: float
    worked: float
    offered: float | None
    workers: int
    running: int
    clocks: Clocks | None
    ahead: QueueStats | None
    threads: Sequence[PrefetchThread]
    settings: dict[str, Any]
    left_out: int = 0


class LoopFacts(NamedTuple):
    """Facts about an iterator, for reports.

    Attributes:
        name: Its name.
        state: "not started", "running", "idle" (left for an iterator that began later), "ended" or "closed".
        errors, dropped: Examples skipped after an error, and dropped as a remainder.
        times: When it did what.
        parts: The dataset's steps, each after its inputs.
        inputs: Its input parts or queues, by number.
        taken: Elements taken, and seconds waited for them.
        elsewhere: Seconds that its thread spent in `next` of other iterators meanwhile.
        unit: The plural name for its elements.
        thread: The name of the thread that began it; "" before.
        clocks: The consuming thread's clocks; None if unknown.
        passes: Passes over the dataset in these figures.
        before: The sum of earlier short passes; None if there are none.
        first: The facts when its first batch was there; None if that took no noticeable time.
        left_out: Elements taken during a slow start, and not in these figures.
    """

    name: str
    state: str
    errors: int
    dropped: int
    times: LoopTimes
    parts: Sequence[PartFacts]
    inputs: Sequence[int]
    taken: tuple[int, float]
    elsewhere: float
    unit: str
    clocks: Clocks | None
    thread: str = ""
    passes: int = 1
    before: LoopFacts | None = None
    first: LoopFacts | None = None
    left_out: int = 0


def without_threads(facts: LoopFacts) -> LoopFacts:
    """Return an ended loop's facts without its thread objects, which need not be kept alive."""
    return facts._replace(parts=[part._replace(threads=()) for part in facts.parts])


class Ended:
    """Keeps the facts about ended loops over one dataset, because a `for` loop keeps no iterator: those that took
    longest since a watcher began or, without watchers, since the last report.

    Attributes:
        watchers: The watchers, the latest last.
        several: True if there were loops over other datasets.
        since: Without watchers, loops that ended until then are out of date, by `time.monotonic`.
    """

    def __init__(self) -> None:
        self.watchers: list[Any] = []
        self.several = False
        self.since = self._reported = self._newest = -math.inf
        self._last: tuple[int, LoopFacts] | None = None
        self._recipe: Callable[[], Any] = _nothing  # its dataset, held weakly
        self._seconds = 0.0  # they took
        self._passes: weakref.WeakKeyDictionary[Any, LoopFacts] = weakref.WeakKeyDictionary()

    def passes(self) -> weakref.WeakKeyDictionary[Any, LoopFacts]:
        """Return the sum of the passes per dataset, to be added to."""
        if not self.watchers and self._is_reported():
            self._renew()
        return self._passes

    def _renew(self) -> None:
        self._last, self.several = None, False
        self._passes.clear()

    def note(self, loop: Any, recipe: Any, facts: LoopFacts, seconds: float) -> None:
        """Record an ended loop, unless those over another dataset took longer.

        Args:
            loop: The iterator.
            recipe: Its dataset.
            facts: Its facts, with the earlier passes if they are judged together.
            seconds: How long they all took, without others in its thread.
        """
        found = loops.number(loop)
        if found is None:
            return
        self._newest = time.monotonic()
        again = self._recipe() is recipe
        if self._last is not None and min(seconds, self._seconds) >= SHORTEST:
            self.several |= not again
        if self._last is None or again or seconds >= self._seconds:
            self._seconds, self._recipe = seconds, weakref.ref(recipe)
            facts = facts._replace(state="closed" if facts.state == "closed" else "ended")
            self._last = found, facts if self.watchers else without_threads(facts)

    def _is_reported(self) -> bool:
        return self._last is not None and (self._last[1].times.ended_at or 0.0) <= self._reported

    def note_report(self) -> None:
        """Note a report: it is about what ended since the one before, and the next one about what ends later."""
        if self._newest > self._reported:
            self.since, self._reported = self._reported, time.monotonic()

    def last(self) -> tuple[int, LoopFacts] | None:
        """Return the recorded loop, as its number and facts; None if there is none."""
        return self._last

    def enter(self, watcher: Any) -> None:
        """Add a watcher; the first one knows nothing of earlier loops."""
        if not self.watchers:
            self._renew()
        self.watchers.append(watcher)

    def leave(self, watcher: Any) -> None:
        """Remove a watcher; can be called again after Ctrl-C."""
        if watcher in self.watchers:
            self.watchers.remove(watcher)
        if not self.watchers and self._last is not None:
            self._last = self._last[0], without_threads(self._last[1])
            self.note_report()

    def forget(self) -> None:
        """Keep nothing, because nobody watches in a forked child."""
        self.watchers.clear()
        self._renew()


ended = Ended()


def facts_of_loops() -> dict[int, LoopFacts]:
    """Return the facts about each live iterator by number; also the recorded ones, if watched or if nothing runs."""
    found = {number: loop._facts() for number, loop in loops.numbered()}
    last = ended.last()
    busy = any(facts.state == "running" for facts in found.values()) or any(
        each.numbered() for each in (queues, readers, groups)
    )
    if last is None or (busy and not ended.watchers):
        return found
    return found | dict([last])
