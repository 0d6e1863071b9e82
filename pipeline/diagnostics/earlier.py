"""Earlier passes over a dataset: a report judges its epochs together, as the first one may fill a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.live import SHORTEST, LoopFacts, LoopTimes, PartFacts, ended, without_threads
from pipeline.diagnostics.starts import without_slow_first, without_start
from pipeline.stats import QueueStats

LONG = 1.0  # seconds: the report of an iterator that took longer is about it alone

_notes: WeakKeyDictionary[Any, LoopFacts] = WeakKeyDictionary()


def passes_before(recipe: object) -> LoopFacts | None:
    """Return the sum of a dataset's short passes since its last long one; None if there are none."""
    return _notes.get(recipe)


def note_pass(loop: Any, recipe: object, seconds: float, get_facts: Callable[[], LoopFacts]) -> None:
    """Note an ended pass for reports: together with all passes since the last report, or with the short ones before.

    Args:
        loop: The iterator.
        recipe: Its dataset.
        seconds: How long it took.
        get_facts: Returns its facts.
    """
    if seconds < SHORTEST and not ended.watchers:
        return
    facts = get_facts()
    own = without_slow_first(without_start(facts))
    if seconds < LONG:
        _notes[recipe] = _sum_of(own, _notes.get(recipe))
    else:
        _notes.pop(recipe, None)
    passes = ended.passes()
    passes[recipe] = whole = _sum_of(own, passes.get(recipe))
    together = whole.passes > 1 and whole.times.age() >= LONG
    ended.note(loop, recipe, whole if together else facts, whole.times.age() - whole.elsewhere)


def _sum_of(facts: LoopFacts, before: LoopFacts | None) -> LoopFacts:
    return without_threads(with_earlier(facts, before))._replace(before=None, first=None)


def forget_passes() -> None:
    """Forget all earlier passes: a monitor is about those that begin within it."""
    _notes.clear()


def with_earlier(facts: LoopFacts, before: LoopFacts | None) -> LoopFacts:
    """Return the facts for a pass and earlier ones, as if it had begun earlier."""
    parts = None if before is None else _sums(facts.parts, before.parts)
    if before is None or parts is None:
        return facts
    return facts._replace(
        errors=facts.errors + before.errors,
        dropped=facts.dropped + before.dropped,
        times=_longer(facts.times, before.times),
        parts=parts,
        taken=(facts.taken[0] + before.taken[0], facts.taken[1] + before.taken[1]),
        elsewhere=facts.elsewhere + before.elsewhere,
        clocks=_both(facts.clocks, before.clocks),
        passes=facts.passes + before.passes,
        left_out=facts.left_out + before.left_out,
    )


def _sums(parts: Sequence[PartFacts], before: Sequence[PartFacts]) -> list[PartFacts] | None:
    """Return the sum per step; None for other steps. Only passes that fill a cache have the steps before it."""
    longer, shorter = sorted((parts, before), key=len, reverse=True)
    left, found, inside = [*shorter], list[PartFacts](), set[int]()
    for each in reversed(longer):  # each step is after its inputs
        if each.number in inside:
            inside.update(each.inputs)
            found.append(each)
            continue
        if not left or _step(left[-1]) != _step(each):
            return None
        other = left.pop()
        if len(each.inputs) > len(other.inputs):
            inside.update(each.inputs)
            other = other._replace(name=each.name, inputs=each.inputs)
        found.append(_sum(other, each) if longer is before else _sum(each, other))
    return None if left else found[::-1]


def _step(part: PartFacts) -> str:
    return "cache" if part.settings["call"] == "cache" else part.name


def _longer(times: LoopTimes, before: LoopTimes) -> LoopTimes:
    made, begun = LoopTimes(), times.begun_at
    if begun is not None:
        made.begun_at, made.ended_at = begun - before.age(), times.ended_at
        if times.first_at is not None:
            first = 0.0 if before.first_at is None else before.first_at - (before.begun_at or 0.0)
            made.first_at = times.first_at - before.age() + first
    now, earlier = times.used[0], before.used
    if now is not None and earlier[0] is not None and earlier[1] is not None:
        made.used = now.earlier(earlier[0], earlier[1]), times.used[1]
    return made


def _sum(part: PartFacts, before: PartFacts) -> PartFacts:
    settings = part.settings
    if "moved" in settings:
        pairs = zip(settings["moved"], before.settings.get("moved", (0, 0)), strict=True)
        settings = settings | {"moved": tuple(map(sum, pairs))}
    if "started_s" in before.settings:
        settings = settings | {"started_s": settings.get("started_s", 0.0) + before.settings["started_s"]}
    return part._replace(
        elements=part.elements + before.elements,
        seconds=part.seconds + before.seconds,
        worked=part.worked + before.worked,
        offered=None if part.offered is None else part.offered + (before.offered or 0.0),
        clocks=_both(part.clocks, before.clocks),
        ahead=None if part.ahead is None or before.ahead is None else _longer_queue(part.ahead, before.ahead),
        settings=settings,
        left_out=part.left_out + before.left_out,
    )


def _longer_queue(stats: QueueStats, before: QueueStats) -> QueueStats:
    return stats._replace(
        enqueued=stats.enqueued + before.enqueued,
        dequeued=stats.dequeued + before.dequeued,
        high_water=max(stats.high_water, before.high_water),
        enqueue_wait_s=stats.enqueue_wait_s + before.enqueue_wait_s,
        dequeue_wait_s=stats.dequeue_wait_s + before.dequeue_wait_s,
        empty_s=stats.empty_s + before.empty_s,
        full_s=stats.full_s + before.full_s,
        age_s=stats.age_s + before.age_s,
    )


def _both(one: Clocks | None, other: Clocks | None) -> Clocks | None:
    return None if one is None or other is None else one.plus(other)
