"""Looks at a run: counters that are kept anyway, read at one moment; and the clocks of threads, for a monitor."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.diagnostics import live
from pipeline.diagnostics.frames import last_wait
from pipeline.diagnostics.live import LoopFacts
from pipeline.stats import QueueStats

_HELD = 50e-6  # seconds: some thread held the GIL if it took longer than this to get it
_LONGEST = 0.01  # seconds: a thread that holds it longer has no processor, which is another matter


class Counts(NamedTuple):
    """Counters of a reader, a step of a dataset, or an iterator. They only grow.

    Attributes:
        elements: Elements that came out of it, or were taken by it.
        seconds: How long a step took in the thread that takes elements, or an iterator waited.
        worked: How long the workers of a step have worked.
        offered: How long they could have worked, where their number changes.
    """

    elements: int = 0
    seconds: float = 0.0
    worked: float = 0.0
    offered: float = 0.0


class Clocks(NamedTuple):
    """The time that threads had of the processors so far, in seconds.

    Attributes:
        cpu: How long they ran.
        wanted: How long they ran, or could have run and waited for a processor.
    """

    cpu: float = 0.0
    wanted: float = 0.0


class Look(NamedTuple):
    """Counters of one moment, by the numbers of the things they belong to. It keeps none of these things alive.

    Attributes:
        at: The time, by `time.monotonic`.
        queues: The statistics of each queue, and of each step that takes elements ahead.
        counts: The counters of each reader, step and iterator.
        clocks: Those of the threads of each queue runner, step and iterator. Empty without a monitor.
        probed, held: Seconds over which the GIL was asked for, and those in which some thread held it.
    """

    at: float
    queues: dict[int, QueueStats]
    counts: dict[int, Counts]
    clocks: dict[int, Clocks]
    probed: float = 0.0
    held: float = 0.0


def look(watch: Watch | None = None) -> Look:
    """Read the counters of everything that is alive; `watch` adds what only a monitor measures."""
    queues = {number: queue.stats() for number, queue in live.queues.numbered()}
    counts = {number: Counts(reader._counts()[0]) for number, reader in live.readers.numbered()}
    loops = {number: loop._facts() for number, loop in live.loops.numbered()}
    for number, facts in loops.items():
        counts[number] = Counts(*facts.taken)
        for part in facts.parts:
            counts[part.number] = Counts(part.elements, part.seconds, part.worked, part.offered or 0.0)
            if part.ahead is not None:
                queues[part.number] = part.ahead
    if watch is None:
        return Look(time.monotonic(), queues, counts, {})
    watch.look(loops)
    return Look(time.monotonic(), queues, counts, watch.clocks(), watch.probed, watch.held)


class Watch:
    """What a monitor measures besides counters: clocks of threads, the queues they wait for, and the GIL.

    Thread safety: one thread measures; any thread may read.

    Attributes:
        probed, held: As in `Look`.
    """

    def __init__(self) -> None:
        self._clocks: dict[int, dict[int, Clocks]] = {}  # by stage, then by the native number of the thread
        self.probed = self.held = 0.0

    def note_lock(self, slept: float, delay: float) -> None:
        """Note how long it took to get the GIL after some seconds without it.

        If another thread held it just then, this counts for all that time: a share of many such moments is one of time.
        """
        span = slept + min(delay, _LONGEST)
        self.probed += span
        self.held += span if delay > _HELD else 0.0

    def look(self, loops: Mapping[int, LoopFacts]) -> None:
        """Read the clocks of all threads that still run, and note which queue each has waited for."""
        for number, group in live.groups.numbered():
            for thread, (_, ended) in group.times().items():
                if ended is None:
                    self._read(number, thread.native_id)
                    _note_input(thread, group.inputs, group.queue)
        for number, facts in loops.items():
            self._read(number, facts.times.taker)
            for part in facts.parts:
                for native in part.natives:
                    self._read(part.number, native)
                for each in part.threads:
                    _note_input(each.thread, each.inputs, None)

    def clocks(self) -> dict[int, Clocks]:
        """Return the clocks of each stage, of threads that have ended too."""
        known = {number: list(each.copy().values()) for number, each in self._clocks.copy().items()}
        return {
            number: Clocks(sum(one.cpu for one in each), sum(one.wanted for one in each))
            for number, each in known.items()
        }

    def _read(self, number: int, native: int | None) -> None:
        known = clocks(native)
        if native is not None and known is not None:
            self._clocks.setdefault(number, {})[native] = known


def _note_input(thread: threading.Thread, inputs: Any, filled: Any) -> None:
    """If the last queue that a thread waited for is one that it takes from, note that."""
    wait = last_wait(thread)
    if wait is not None and wait[1].startswith("dequeue") and wait[0] is not filled:
        inputs.add(wait[0])


def clocks(native: int | None) -> Clocks | None:
    """Return the clocks of a thread, by its native number; None if it has ended, or the system cannot tell.

    The number of a process stands for its main thread.

    Linux gives both in a file. The number of a thread also makes the number of its CPU clock, so that asking for one
    that ends meanwhile is an error. (`time.pthread_getcpuclockid` would read memory that is no longer the thread's.)
    """
    if native is None or not sys.platform.startswith("linux"):
        return None
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{native}/schedstat") as file:
        cpu, waited, _ = map(int, file.read().split())
        return Clocks(cpu * 1e-9, (cpu + waited) * 1e-9)
    with contextlib.suppress(OSError):
        seconds = time.clock_gettime((~native << 3) | 6)
        return Clocks(seconds, seconds)
    return None


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
