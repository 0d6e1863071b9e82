"""The verdict on the iterator of a dataset: which part limits it, and what to write into the dataset.

The parts run one after the other in the thread that takes elements, but for what is behind `prefetch`, which has a
thread of its own, and for functions with `workers`. Where the loop waits, the part that took most of the time of the
thread that it waits for is the slow one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.monitoring.model import Stage
from pipeline.monitoring.report import Report

HOGGED = 0.7  # of the time somebody holds the GIL
MOST_AT_ONCE = 4  # times as many threads or workers as now are proposed at most

OFTEN = 0.2  # a share of the time that matters
MOSTLY = 0.5
WORTH = 1.1  # times as fast: for less, nothing is proposed
ALL_BUSY = 0.75  # a share of the time of workers
_SETTLED = 10.0  # seconds, after which `workers="auto"` has tried what it can
AHEAD = 2  # elements that `prefetch` keeps by default


class Remedy(NamedTuple):
    """What is wrong with a stage, and what helps; as in `Verdict`."""

    stage: Stage
    kind: str
    knob: str | None
    value: int | None
    gain: float | None
    text: str


class _Thread(NamedTuple):
    """What one thread does.

    Attributes:
        owner: The loop, or the queue that the thread fills.
        parts: The parts that run in it.
        queues: The queues that it takes from.
        busy: The share of the time that it is at work for others, or waits for what is in front of it.
        wanted: The processors that it kept busy, or waited for; None if nobody knows.
    """

    owner: Stage
    parts: list[Stage]
    queues: list[Stage]
    busy: float
    wanted: float | None


def of_dataset(report: Report, loop: Stage) -> Remedy:
    """Return what limits the iterator of a dataset."""
    if not loop.elements:
        return Remedy(loop, "start", None, None, None, f"No element of '{loop.name}' has come yet.")
    waits = loop.waits_in or 0.0
    consumer = 1 - waits
    pool = _filling(report, loop)
    if pool is not None:
        return pool
    if waits < OFTEN:
        return _loop(loop, consumer)
    thread = _thread(report, loop, waits)
    behind = consumer  # what other threads need meanwhile
    while True:
        queue = max(thread.queues, key=lambda each: each.waits_in or 0.0, default=None)
        own = sum(map(_taken, thread.parts))
        if queue is None or own > MOSTLY * thread.busy:
            break
        if queue.settings.get("kind") != "prefetch":
            return _outside(queue, thread)
        behind = max(behind, own)
        room = queue.waits_out or 0.0
        if room > OFTEN:
            return _by_turns(queue, loop, consumer, room)
        thread = _thread(report, queue, 1 - room)
    if not thread.parts:
        return _loop(loop, consumer)
    slow = max(thread.parts, key=_taken)
    if slow.settings.get("in_workers"):
        return _workers(report, slow, thread, behind, consumer)
    return _serial(report, slow, thread, behind, consumer)


def _thread(report: Report, owner: Stage, busy: float) -> _Thread:
    """Return what the thread does that takes for the loop, or fills a queue."""
    parts: list[Stage] = []
    queues: list[Stage] = []
    found = report.before(owner)
    while found:
        each = found.pop()
        if each.tank is not None:
            queues.append(each)
        elif each not in parts:
            parts.append(each)
            found += report.before(each)
    return _Thread(owner, parts, queues, busy, owner.wanted)


def _taken(part: Stage) -> float:
    """The share of the time that a part took of the thread that it runs in; of workers, that these were waited for."""
    return float(part.settings.get("taken", 0.0))


def _loop(loop: Stage, consumer: float) -> Remedy:
    text = f"Bottleneck: your loop ({consumer:.0%} of the time). The dataset keeps up; change nothing in it."
    return Remedy(loop, "consumer", "consumer", None, 1 / max(consumer, 1e-3), text)


def _filling(report: Report, loop: Stage) -> Remedy | None:
    """Most of the time went by until there was a first element, as a pool had to fill."""
    if (loop.first_s or 0.0) < MOSTLY * (loop.age_s or 0.0) or report.seconds < 0.9 * (loop.age_s or 0.0):
        return None
    pool = next((each for each in reversed(report.stages) if each.name.startswith("shuffle(")), None)
    if pool is None:
        return None
    share = (loop.first_s or 0.0) / max(loop.age_s or 0.0, 1e-9)
    text = (
        f"Bottleneck: filling the pool of `{pool.name}` took {share:.0%} of the time. A smaller buffer_size starts "
        "sooner and shuffles less."
    )
    return Remedy(pool, "pool", "buffer_size", None, None, text)


def _outside(queue: Stage, thread: _Thread) -> Remedy:
    share = queue.waits_in or 0.0
    text = f"Bottleneck: whoever fills the queue '{queue.name}': it was waited for {share:.0%} of the time."
    return Remedy(queue, "queue", None, None, None, text)


def _by_turns(queue: Stage, loop: Stage, consumer: float, room: float) -> Remedy:
    """The loop waits at times, and the thread ahead of it at others: elements take unequally long."""
    tank = queue.tank
    assert tank is not None
    value = 4 * max(1, tank.stats.capacity)
    gain = 1 / max(consumer, 1 - room, 1e-3)
    text = (
        f"Bottleneck: `prefetch({tank.stats.capacity})` is too small: your loop waited {1 - consumer:.0%} of the time, "
        f"and its thread {room:.0%} for room. Try `prefetch({value})`{_times(gain)}."
    )
    return Remedy(queue, "prefetch", "prefetch", value, gain, text)


def _serial(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> Remedy:
    """A part that runs in the thread that takes elements."""
    share, ahead = _taken(slow), thread.owner.kind == "loop"
    others = max(thread.busy - share, 0.0)  # of the same thread
    limit = others + consumer if ahead else max(others, behind)
    how = _how(share, thread, consumer if ahead else 0.0)
    begins = f"Bottleneck: `{slow.name}` ({share:.0%} of the time{how})"
    prefetched = 1 / max(thread.busy, consumer, 1e-3) if ahead else 1.0
    if slow.kind == "function":
        value, knob = _more(report, 1, share, max(limit, 1e-3), how)
        gain = 1 / max(limit, share / value, 1e-3)
        if gain > WORTH * prefetched:
            text = f"{begins}. Try `workers={knob}`{_times(gain)}{_if_computing(report, how, knob)}."
            return Remedy(slow, "function", "workers", value, gain, text)
    if prefetched > WORTH:
        text = f"{begins}. Try `.prefetch({AHEAD})` at the end{_times(prefetched)}."
        return Remedy(slow, slow.kind, "prefetch", AHEAD, prefetched, text)
    if slow.kind == "source":
        text = f"{begins}. If it decodes, move that into `.map(..., workers=...)`: workers share it."
        return Remedy(slow, "source", "workers", None, None, text)
    text = f"{begins}. Only less work for each example helps."
    return Remedy(slow, slow.kind, None, None, None, text)


def _workers(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> Remedy:
    """A function whose workers are waited for."""
    now, busy = max(1, slow.threads), slow.busy or 0.0
    ahead = thread.owner.kind == "loop"
    if busy < ALL_BUSY and ahead and consumer > OFTEN:
        gain = 1 / max(thread.busy, consumer, 1e-3)
        text = (
            f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, only {busy:.0%} busy): nothing is asked of them while "
            f"your loop works. Try `.prefetch({AHEAD})` at the end{_times(gain)}."
        )
        return Remedy(slow, "function", "prefetch", AHEAD, gain, text)
    how = _UNKNOWN if slow.settings.get("auto") else _how_workers(slow)
    begins = f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, {busy:.0%} busy{how})"
    if slow.settings.get("auto"):
        return Remedy(slow, "function", None, None, None, f"{begins}. {_of_auto(report)}")
    if busy < MOSTLY:
        text = f"{begins}. {_why_idle(slow)}"
        return Remedy(slow, "function", None, None, None, text)
    limit = max(thread.busy - _taken(slow), behind, 1e-3)
    value, knob = _more(report, now, now * busy, limit, how, slow)
    gain = min(value / now, 1 / limit)
    if value <= now or gain < WORTH:
        text = f"{begins}. All {report.processors} processors are used: only less work for each example helps."
        return Remedy(slow, "function", None, None, None, text)
    text = f"{begins}. Try `workers={knob}`{_times(gain)}{_if_computing(report, how, knob)}."
    return Remedy(slow, "function", "workers", value, gain, text)


def _of_auto(report: Report) -> str:
    """What to do where `workers="auto"` is the bottleneck: it changes its workers itself."""
    if report.seconds < _SETTLED:
        return f'`workers="auto"` still tries other numbers: let it run for {_SETTLED:.0f} s or more.'
    return '`workers="auto"` found no better number: only less work for each example helps.'


def _why_idle(slow: Stage) -> str:
    """What to do about workers that are waited for, and idle half of the time or more."""
    if slow.settings.get("made_by") == "pipeline.threads":
        return "They wait for the slowest: examples take unequal time. If any order will do, pass `ordered=False`."
    return "Its results take long to come back: return less, or smaller dtypes."


def _more(report: Report, now: int, work: float, limit: float, how: str, part: Stage | None = None) -> tuple[int, str]:
    """How many workers would keep up, and how to write them.

    Args:
        report: The run.
        now: How many there are.
        work: How many are at work on average.
        limit: The share of the time below which nothing is gained, as something else takes as long.
        how: What they do.
        part: The part, if it has workers.
    """
    value = max(now + 1, min(math.ceil(work / limit), MOST_AT_ONCE * now))
    made_by = "" if part is None else str(part.settings.get("made_by", ""))
    if how == _COMPUTES:
        value = min(value, max(report.processors, now))
        if (report.lock is None or report.lock > HOGGED) and made_by in ("", "pipeline.threads"):
            return max(value, 2), f"pipeline.processes({max(value, 2)})"
    if made_by.startswith("pipeline.") and made_by != "pipeline.threads":
        return value, f"{made_by}({value})"
    return value, str(value)


_COMPUTES, _WAITS, _UNKNOWN = ", computing", ", waiting for I/O", ""


def _how(share: float, thread: _Thread, consumer: float) -> str:
    """What a part does: whatever the thread does not compute, it waits, and what it computes may be the loop's."""
    if thread.wanted is None:
        return _UNKNOWN
    if thread.wanted < MOSTLY * share:
        return _WAITS
    return _COMPUTES if thread.wanted - consumer - max(thread.busy - share, 0.0) > MOSTLY * share else _UNKNOWN


def _how_workers(slow: Stage) -> str:
    if slow.wanted is None or not slow.busy:
        return _UNKNOWN
    return _COMPUTES if slow.wanted > MOSTLY * slow.busy * slow.threads else _WAITS


def _if_computing(report: Report, how: str, knob: str) -> str:
    """What to write instead, where nobody knows what the function does."""
    if how != _UNKNOWN or not knob.isdigit():
        return ""
    return f"; if it computes in Python, `workers=pipeline.processes({max(2, report.processors)})`"


def _times(gain: float) -> str:
    return f": about {gain:.1f} times as fast" if gain > WORTH else ""
