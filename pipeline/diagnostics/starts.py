"""Starts of worker processes: reports leave them out of all rates and shares, because they happen once."""

from __future__ import annotations

from pipeline.diagnostics.live import LoopFacts, LoopTimes, PartFacts

_NOTICED = 0.05  # seconds: a shorter start changes no verdict


def without_start(facts: LoopFacts) -> LoopFacts:
    """Return the facts as if the iterator had begun when its processes were ready."""
    times, parts = facts.times, facts.parts
    if times.begun_at is None:
        return facts
    ready = max((each.settings.get("ready_at", 0.0) for each in parts), default=0.0)
    start = (ready if times.first_at is None else min(ready, times.first_at)) - times.begun_at
    if start < _NOTICED:
        return facts
    later, waited = LoopTimes(), set[int]()
    later.begun_at, later.first_at, later.ended_at = times.begun_at + start, times.first_at, times.ended_at
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
