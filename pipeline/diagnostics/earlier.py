"""Earlier short passes: a report judges several epochs together if each is too short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.live import SHORTEST, LoopFacts, LoopTimes, PartFacts, without_threads
from pipeline.diagnostics.starts import without_slow_first, without_start
from pipeline.stats import QueueStats

LONG = 1.0  # seconds: longer passes are judged alone

_notes: WeakKeyDictionary[Any, LoopFacts] = WeakKeyDictionary()


def passes_before(recipe: object) -> LoopFacts | None:
    """Return the sum of a dataset's short passes since its last long one; None if there are none."""
    return _notes.get(recipe)


def note_pass(recipe: object, seconds: float, facts: Callable[[], LoopFacts]) -> float:
    """Note an ended pass. Return how many seconds it took, with the short ones before it if it was short."""
    if seconds >= LONG:
        _notes.pop(recipe, None)
    elif seconds >= SHORTEST:
        whole = with_earlier(without_slow_first(without_start(facts())), _notes.get(recipe))
        _notes[recipe] = without_threads(whole)._replace(before=None, first=None)
        return whole.times.age()
    return seconds


def forget_passes() -> None:
    """Forget all earlier passes: a monitor is about those that begin within it."""
    _notes.clear()


def with_earlier(facts: LoopFacts, before: LoopFacts | None) -> LoopFacts:
    """Return the facts for a pass and earlier ones, as if it had begun earlier."""
    if before is None or [each.name for each in before.parts] != [each.name for each in facts.parts]:
        return facts
    return facts._replace(
        errors=facts.errors + before.errors,
        dropped=facts.dropped + before.dropped,
        times=_longer(facts.times, before.times),
        parts=[_sum(one, other) for one, other in zip(facts.parts, before.parts, strict=True)],
        taken=(facts.taken[0] + before.taken[0], facts.taken[1] + before.taken[1]),
        elsewhere=facts.elsewhere + before.elsewhere,
        clocks=_both(facts.clocks, before.clocks),
        passes=facts.passes + before.passes,
        left_out=facts.left_out + before.left_out,
    )


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
