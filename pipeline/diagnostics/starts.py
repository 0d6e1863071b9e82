"""Starts of processes, functions and sources: they happen once, so reports leave them out of rates and shares."""

from __future__ import annotations

from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.live import LoopFacts, LoopTimes, PartFacts
from pipeline.stats import QueueStats

NOTICED = 0.05  # seconds: a shorter start changes no verdict
_LONG = 0.1  # share of the time: a longer start does
_LONGER = 2  # times the longest later call
_SLOWER = 3  # times the time of as many later examples: those that fill a buffer take up to 1.6, in fresh memory


def without_start(facts: LoopFacts) -> LoopFacts:
    """Return the facts as if the iterator had begun when its processes were ready."""
    times, parts = facts.times, facts.parts
    if times.begun_at is None:
        return facts
    ready = max((each.settings.get("ready_at", 0.0) for each in parts), default=0.0)
    start = (ready if times.first_at is None else min(ready, times.first_at)) - times.begun_at
    if start < NOTICED:
        return facts
    later, waited = LoopTimes(), set[int]()
    later.begun_at, later.first_at, later.ended_at = times.begun_at + start, times.first_at, times.ended_at
    later.used = times.used
    changed = []
    for each in parts:
        if each.settings.get("ready_at", 0.0) > times.begun_at:
            each = each._replace(settings=each.settings | {"ready_at": 0.0, "started_s": start})
            waited.add(each.number)
        elif not waited.isdisjoint(each.inputs):
            waited.add(each.number)
        if each.number in waited:
            each = _waited_less(each, start)
        changed.append(each)
    count, seconds = facts.taken
    return facts._replace(times=later, parts=changed, taken=(count, max(0.0, seconds - start)))


def _waited_less(part: PartFacts, start: float) -> PartFacts:
    """Return the facts about a step without its consumers' wait for the start."""
    if part.ahead is None and "started_s" not in part.settings:
        return part
    ahead = part.ahead
    if ahead is not None:
        waited, empty = max(0.0, ahead.dequeue_wait_s - start), max(0.0, ahead.empty_s - start)
        ahead = ahead._replace(dequeue_wait_s=waited, empty_s=empty)
    return part._replace(seconds=max(0.0, part.seconds - start), ahead=ahead)


def without_slow_first(facts: LoopFacts) -> LoopFacts:
    """Return the facts as if the iterator had begun after its first batch, if a function or source began slowly.

    It did if its first examples took several times as long as later ones, such as a function that loads a model.
    """
    times, first = facts.times, facts.first
    if first is None or times.begun_at is None or times.first_at is None or facts.taken[0] <= first.taken[0]:
        return facts
    first = without_start(first)
    pairs = list(zip(facts.parts, first.parts, strict=True))
    starts = {each.number: _took_longer(each, before) for each, before in pairs}
    slowest = max(starts, key=lambda number: starts[number], default=None)
    if slowest is None or starts[slowest] < _LONG * times.age():
        return facts
    later = LoopTimes()
    later.begun_at = later.first_at = times.first_at
    later.ended_at, later.used = times.ended_at, times.used
    parts = [_since(each, before, starts[slowest] if each.number == slowest else 0.0) for each, before in pairs]
    taken = facts.taken[0] - first.taken[0], facts.taken[1] - first.taken[1]
    return facts._replace(
        times=later,
        parts=parts,
        taken=taken,
        elsewhere=facts.elsewhere - first.elsewhere,
        clocks=_since_clocks(facts.clocks, first.clocks),
        first=None,
        left_out=first.taken[0],
    )


def _took_longer(part: PartFacts, first: PartFacts) -> float:
    """Return how many seconds longer a function or source took for its first examples than for as many later ones.

    It is 0 if a later call took long, too: then examples take unequal time.
    """
    later = part.elements - first.elements
    if part.kind == "step" or not later:
        return 0.0
    at_first, at_all, workers = first.seconds, part.seconds, 1
    if part.settings["in_workers"]:  # a loop that is slower waits for the first examples alone
        at_first, at_all, workers = first.worked, part.worked, max(1, part.workers)
    usual = first.elements * (at_all - at_first) / later
    longer = min((at_first - usual) / workers, first.seconds)
    return longer if at_first > _SLOWER * usual and longer > _LONGER * part.settings["longest_s"] else 0.0


def _since(part: PartFacts, first: PartFacts, start: float) -> PartFacts:
    """Return a step's facts since the first batch."""
    settings = part.settings
    if "moved" in settings:
        pairs = zip(settings["moved"], first.settings.get("moved", (0, 0)), strict=True)  # workers may start later
        settings = settings | {"moved": tuple(now - before for now, before in pairs)}
    if start:
        settings = settings | {"started_s": settings.get("started_s", 0.0) + start}
    return part._replace(
        elements=part.elements - first.elements,
        seconds=part.seconds - first.seconds,
        worked=part.worked - first.worked,
        offered=None if part.offered is None else part.offered - (first.offered or 0.0),
        clocks=_since_clocks(part.clocks, first.clocks),
        ahead=None if part.ahead is None or first.ahead is None else _since_stats(part.ahead, first.ahead),
        settings=settings,
        left_out=first.elements,
    )


def _since_stats(ahead: QueueStats, first: QueueStats) -> QueueStats:
    """Return a buffer's statistics with its times since the first batch, and the counts of all batches."""
    return ahead._replace(
        enqueue_wait_s=ahead.enqueue_wait_s - first.enqueue_wait_s,
        dequeue_wait_s=ahead.dequeue_wait_s - first.dequeue_wait_s,
        empty_s=ahead.empty_s - first.empty_s,
        full_s=ahead.full_s - first.full_s,
        age_s=ahead.age_s - first.age_s,
    )


def _since_clocks(clocks: Clocks | None, first: Clocks | None) -> Clocks | None:
    return None if clocks is None or first is None else clocks.since(first)
