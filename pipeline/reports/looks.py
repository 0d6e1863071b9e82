"""Looks: a run's counters at one moment, and a monitor's extra measurements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pipeline.diagnostics import live
from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.live import LoopFacts
from pipeline.stats import QueueStats

_HELD = 50e-6  # seconds: some thread held the GIL if it took longer than this to get it
_LONGEST = 0.01  # seconds: after a longer wait the thread had no processor, so the GIL is not the reason


class Counts(NamedTuple):
    """Counters of a reader, a step or an iterator. They only grow.

    Attributes:
        elements: Elements produced by it, or taken by an iterator.
        seconds: A step's seconds in the consuming thread, or an iterator's waiting time.
        worked: Its workers' seconds at work; for an iterator, its thread's in `next` of others.
        offered: Their possible seconds at work, if their number changes.
    """

    elements: int = 0
    seconds: float = 0.0
    worked: float = 0.0
    offered: float = 0.0


class Look(NamedTuple):
    """The counters at one moment, by stage number. It keeps no stage alive.

    Attributes:
        at: The time, by `time.monotonic`.
        queues: Statistics per queue and read-ahead step.
        counts: Counters per reader, step and iterator.
        clocks: Thread clocks per step and iterator; with a monitor also per queue runner.
        probed, held: Seconds with the GIL probed, and seconds with another thread holding it.
    """

    at: float
    queues: dict[int, QueueStats]
    counts: dict[int, Counts]
    clocks: dict[int, Clocks]
    probed: float = 0.0
    held: float = 0.0


def look(watch: Watch | None = None, loops: Mapping[int, LoopFacts] | None = None) -> Look:
    """Read all counters.

    Args:
        watch: Adds a monitor's measurements.
        loops: The iterators; None for all.
    """
    queues = {number: queue.stats() for number, queue in live.queues.numbered()}
    counts = {number: Counts(reader._counts()[0]) for number, reader in live.readers.numbered()}
    loops = live.facts_of_loops() if loops is None else loops
    for number, facts in loops.items():
        counts[number] = Counts(*facts.taken, facts.elsewhere)
        for part in facts.parts:
            counts[part.number] = Counts(part.elements, part.seconds, part.worked, part.offered or 0.0)
            if part.ahead is not None:
                queues[part.number] = part.ahead
    known = dict(_clocks_of(loops))
    if watch is None:
        return Look(time.monotonic(), queues, counts, known)
    note_inputs(loops)
    known |= {number: found for number, group in live.groups.numbered() if (found := group.clocks(earlier=True))}
    return Look(time.monotonic(), queues, counts, known, watch.probed, watch.held)


def _clocks_of(loops: Mapping[int, LoopFacts]) -> Iterator[tuple[int, Clocks]]:
    """Yield the known clocks."""
    for number, facts in loops.items():
        found = [(number, facts.clocks), *((part.number, part.clocks) for part in facts.parts)]
        yield from ((each, known) for each, known in found if known is not None)


class Watch:
    """A monitor's measurements of the GIL.

    Thread safety: one thread measures; any thread may read.

    Attributes:
        probed, held: As in `Look`.
    """

    def __init__(self) -> None:
        self.probed = self.held = 0.0

    def note_lock(self, slept: float, delay: float) -> None:
        """Note how long it took to get the GIL after some seconds without it.

        If another thread held the GIL, the whole span counts as held. Over many spans this gives the share.
        """
        span = slept + min(delay, _LONGEST)
        self.probed += span
        self.held += span if delay > _HELD else 0.0


def note_inputs(loops: Mapping[int, LoopFacts]) -> None:
    """Note each queue as an input of the thread that last took from it, if that is a queue runner's or reads ahead."""
    taken: dict[int | None, list[Any]] = {}
    for _, queue in live.queues.numbered():
        taken.setdefault(queue._taker(), []).append(queue)
    for _, group in live.groups.numbered():
        for queue in (queue for thread in group.times() for queue in taken.get(thread.native_id, ())):
            if queue is not group.queue:
                group.inputs.add(queue)
    for facts in loops.values():
        for each in (each for part in facts.parts for each in part.threads):
            for queue in taken.get(each.thread.native_id, ()):
                each.inputs.add(queue)
