"""Looks at what is alive: counters that are kept anyway, read at one moment."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, NamedTuple

from pipeline._next import frames_now
from pipeline.diagnostics import live
from pipeline.diagnostics.frames import last_wait
from pipeline.monitoring.doing import DOINGS, Clocks, clocks, doing
from pipeline.stats import QueueStats

HELD = 50e-6  # seconds: somebody held the lock if it took longer than this to get it
LONGEST = 0.01  # seconds: whoever holds it longer has no processor, which is another matter


class Look(NamedTuple):
    """Counters of one moment, by the numbers of the things that they belong to. It refers to none of these things.

    Attributes:
        at: The time, by `time.monotonic`.
        queues: The statistics of each queue.
        counts: The elements that have come out of each reader and part of a dataset, and that were taken by each
            iterator of one.
        clocks: What the threads of each group, the thread that takes from each iterator, and the workers of each part
            had of the processors.
        doing: How often the threads of each group were seen doing what, in the order of DOINGS.
        spent: Seconds that parts of datasets have taken, and that their iterators have waited.
        worked: Seconds that workers of parts of datasets have worked.
        offered: Seconds that they could have worked, where their number changes.
        probed, held: Seconds over which the GIL was asked for, and those in which somebody held it.
    """

    at: float
    queues: dict[int, QueueStats]
    counts: dict[int, int]
    clocks: dict[int, Clocks]
    doing: dict[int, tuple[int, ...]]
    spent: dict[int, float]
    worked: dict[int, float]
    offered: dict[int, float]
    probed: float = 0.0
    held: float = 0.0


def look(seen: Seen | None = None) -> Look:
    """Read the counters of everything that is alive; `seen` adds what only a watcher can know."""
    counters = {number: queue.stats() for number, queue in live.queues.numbered()}
    counts = {number: each._counts()[0] for number, each in live.readers.numbered()}
    spent: dict[int, float] = {}
    worked: dict[int, float] = {}
    offered: dict[int, float] = {}
    for number, loop in live.loops.numbered():
        facts = loop._facts()
        counts[number], spent[number] = facts.taken
        for part in facts.parts:
            counts[part.number], spent[part.number] = part.elements, part.seconds
            worked[part.number] = part.worked
            offered[part.number] = part.offered or 0.0
    if seen is None:
        return Look(time.monotonic(), counters, counts, {}, {}, spent, worked, offered)
    seen.read_clocks()
    doings = {number: tuple(each) for number, each in seen.doing.copy().items()}
    sums = {number: _sum(each.copy()) for number, each in seen.clocks.copy().items()}
    return Look(time.monotonic(), counters, counts, sums, doings, spent, worked, offered, seen.probed, seen.held)


def _sum(clocks: dict[int, Clocks]) -> Clocks:
    return Clocks(sum(each.cpu for each in clocks.values()), sum(each.wanted for each in clocks.values()))


class Seen:
    """What a watcher has seen so far of the threads of all groups.

    Thread safety: one thread notes; any thread may look meanwhile, for which it copies what may grow.
    """

    def __init__(self) -> None:
        self.doing: dict[int, list[int]] = {}
        self.clocks: dict[int, dict[int, Clocks]] = {}  # by group, then by the native number of the thread
        self.probed = self.held = 0.0

    def note_lock(self, slept: float, delay: float) -> None:
        """Note how long it took to get the GIL after so many seconds without it.

        If somebody held it just then, this counts for all that time: a share of many such moments is one of the time.
        """
        span = slept + min(delay, LONGEST)
        self.probed += span
        self.held += span if delay > HELD else 0.0

    def look_at_threads(self) -> None:
        """Note what each thread of each group is doing, and which queue it takes from."""
        frames = frames_now()
        for number, group in live.groups.numbered():
            for thread, (_, ended) in group.times().items():
                frame = frames.get(thread.ident or 0)
                if ended is not None or frame is None:
                    continue
                what = doing(thread.ident, frame)
                counts = self.doing.setdefault(number, [0] * len(DOINGS))
                counts[DOINGS.index(what)] += 1
                note_taken_from(group, thread)
        frames.clear()  # another watcher's may hold this one

    def read_clocks(self) -> None:
        """Read the CPU clocks of all threads that still run."""
        for number, group in live.groups.numbered():
            for thread, (_, ended) in group.times().items():
                if ended is None:
                    self._read_clock(number, thread.native_id)
        for number, loop in live.loops.numbered():
            facts = loop._facts()
            self._read_clock(number, facts.times.taker)
            for part in facts.parts:
                for native in part.natives:
                    self._read_clock(part.number, native)

    def _read_clock(self, number: int, native: int | None) -> None:
        known = clocks(native)
        if native is not None and known is not None:
            self.clocks.setdefault(number, {})[native] = known


def note_taken_from(group: Any, thread: threading.Thread) -> None:
    """If the last queue that a thread waited for is one that it takes from, note that."""
    wait = last_wait(thread)
    if wait is not None and wait[1].startswith("dequeue") and wait[0] is not group.queue:
        group.takes_from((wait[0],))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
