"""Looks at what is alive: counters that are kept anyway, read at one moment."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, NamedTuple

from pipeline.explain import live
from pipeline.explain.frames import last_wait
from pipeline.stats import QueueStats
from pipeline.watch.doing import DOINGS, cpu_seconds, doing


class Look(NamedTuple):
    """Counters of one moment, by the numbers of the things that they belong to. It refers to none of these things.

    Attributes:
        at: The time, by `time.monotonic`.
        queues: The statistics of each queue.
        counts: The elements that have come out of each reader and each MapAhead.
        cpu: CPU seconds of the threads of each group, and of the thread that takes from each loop.
        doing: How often the threads of each group were seen doing what, in the order of DOINGS.
        probes, held: How often the interpreter's lock was asked for, and how often somebody held it.
    """

    at: float
    queues: dict[int, QueueStats]
    counts: dict[int, int]
    cpu: dict[int, float]
    doing: dict[int, tuple[int, ...]]
    probes: int = 0
    held: int = 0


def look(seen: Seen | None = None) -> Look:
    """Read the counters of everything that is alive; `seen` adds what only a watcher can know."""
    counters = {number: queue.stats() for number, queue in live.queues.numbered()}
    counts = {number: each.counts()[0] for number, each in live.readers.numbered()}
    counts |= {number: each.progress()[0] for number, each in live.mappings.numbered()}
    if seen is None:
        return Look(time.monotonic(), counters, counts, {}, {})
    seen.read_clocks()
    doings = {number: tuple(each) for number, each in seen.doing.items()}
    cpu = {number: sum(clocks.values()) for number, clocks in seen.cpu.items()}
    return Look(time.monotonic(), counters, counts, cpu, doings, seen.probes, seen.held)


class Seen:
    """What a watcher has seen so far of the threads of all groups. For one thread."""

    def __init__(self) -> None:
        self.doing: dict[int, list[int]] = {}
        self.cpu: dict[int, dict[int, float]] = {}  # by group, then by the native number of the thread
        self.probes = self.held = 0

    def note_lock(self, held: bool) -> None:
        """Note whether somebody held the interpreter's lock."""
        self.probes += 1
        self.held += held

    def look_at_threads(self) -> None:
        """Note what each thread of each group is doing, and which queue it takes from."""
        frames = sys._current_frames()
        for number, group in live.groups.numbered():
            for thread, (_, ended) in group.times().items():
                frame = frames.get(thread.ident or 0)
                if ended is not None or frame is None:
                    continue
                what = doing(thread.ident, frame)
                counts = self.doing.setdefault(number, [0] * len(DOINGS))
                counts[DOINGS.index(what)] += 1
                note_taken_from(group, thread)

    def read_clocks(self) -> None:
        """Read the CPU clocks of all threads that still run."""
        for number, group in live.groups.numbered():
            for thread, (_, ended) in group.times().items():
                if ended is None:
                    self._read_clock(number, thread.native_id)
        for number, loop in live.loops.numbered():
            self._read_clock(number, loop._facts().times.taker)

    def _read_clock(self, number: int, native: int | None) -> None:
        clock = cpu_seconds(native)
        if native is not None and clock is not None:
            self.cpu.setdefault(number, {})[native] = clock


def note_taken_from(group: Any, thread: threading.Thread) -> None:
    """If the last queue that a thread waited for is one that it takes from, note that."""
    wait = last_wait(thread)
    if wait is not None and wait[1].startswith("dequeue") and wait[0] is not group.queue:
        group.takes_from((wait[0],))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
