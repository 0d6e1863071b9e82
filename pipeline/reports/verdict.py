"""The verdict on a run: which step of a dataset limits its iterator, and what to write into the dataset.

The steps run one after the other in the thread that takes elements, except those behind `prefetch`, which has its own
thread, and functions with `workers`. Where the loop waits, the bottleneck is the step that took most of the time of the
thread that it waits for. docs/monitoring.md has the rules in words.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.report import Report

HOGGED = 0.7  # of the time some thread holds the GIL

_SHORT = 1.0  # seconds; in less, starting threads and opening files count as much as the work
_SETTLED = 10.0  # seconds, after which `workers="auto"` has tried what it can
_MOST_AT_ONCE = 4  # times as many workers as now are proposed at most
_OFTEN, _MOSTLY, _ALL_BUSY = 0.2, 0.5, 0.75  # shares of the time
_WORTH = 1.1  # times as fast: for less, nothing is proposed
_AHEAD = 2  # elements that `prefetch` keeps by default

_COMPUTES, _WAITS, _UNKNOWN = ", computing", ", waiting for I/O", ""
_LESS_WORK = "To go faster, do less work per example."


class _Remedy(NamedTuple):
    """The stage that limits the others, and what helps; as in `Verdict`."""

    stage: Stage
    kind: str
    text: str
    knob: str | None = None
    value: int | None = None
    gain: float | None = None


class _Thread(NamedTuple):
    """What one thread does.

    Attributes:
        owner: The loop, or the step whose elements it takes ahead.
        parts: The steps that run in it.
        inputs: The queues that it takes from, and the steps whose elements other threads have taken ahead.
        busy: The share of the time that it is at work for others, or waits for its input.
        wanted: The processors that it kept busy, or waited for; None if unknown.
    """

    owner: Stage
    parts: list[Stage]
    inputs: list[Stage]
    busy: float
    wanted: float | None

    @property
    def first(self) -> bool:
        """Whether it is the thread of the loop."""
        return self.owner.kind == "loop"


def judge(report: Report) -> list[Verdict]:
    """Return the verdict on each iterator that has begun."""
    found = []
    for loop in report.stages:
        if loop.kind == "loop" and loop.state != "not started":
            seconds = min(report.seconds, math.inf if loop.age_s is None else loop.age_s)
            if loop.elements and seconds < _SHORT:
                text = f"Too short to judge ({seconds:.2f} s): let it run for {_SHORT:.0f} s or more."
                remedy = _Remedy(loop, "short", text)
            else:
                remedy = _of_loop(report, loop)
            found.append(
                Verdict(loop.id, remedy.stage.id, remedy.kind, remedy.knob, remedy.value, remedy.gain, remedy.text)
            )
    return found


def _of_loop(report: Report, loop: Stage) -> _Remedy:
    """Return what limits an iterator."""
    if not loop.elements:
        return _Remedy(loop, "start", f"No element of '{loop.name}' has come yet.")
    waits = loop.waits_in or 0.0
    consumer = 1 - waits
    pool = _filling(report, loop)
    if pool is not None:
        return pool
    if waits < _OFTEN:
        return _consumer(loop, consumer)
    thread, behind = _thread(report, loop, waits), consumer  # `behind`: what other threads need meanwhile
    while True:
        ahead = max(thread.inputs, key=lambda each: each.waits_in or 0.0, default=None)
        own = sum(map(_taken, thread.parts))
        if ahead is None or own > _MOSTLY * thread.busy:
            break
        if ahead.kind != "step":
            return _outside(ahead)
        behind = max(behind, own)
        room = ahead.waits_out or 0.0
        if room > _OFTEN and ahead.name.startswith("prefetch("):
            return _by_turns(ahead, consumer, room)
        thread = _thread(report, ahead, 1 - room)
    if not thread.parts:
        return _consumer(loop, consumer)
    slow = max(thread.parts, key=_taken)
    if slow.settings.get("in_workers"):
        return _workers(report, slow, thread, behind, consumer)
    return _serial(report, slow, thread, behind, consumer)


def _thread(report: Report, owner: Stage, busy: float) -> _Thread:
    """Return what the thread does that takes for the loop, or ahead."""
    parts: list[Stage] = []
    inputs: list[Stage] = []
    found = report.before(owner)
    while found:
        each = found.pop()
        if each.tank is not None:
            inputs.append(each)
        elif each not in parts:
            parts.append(each)
            found += report.before(each)
    return _Thread(owner, parts, inputs, busy, owner.wanted)


def _taken(part: Stage) -> float:
    """Return the share of the time that a step took of its thread; of workers, that the thread waited for them."""
    return float(part.settings.get("taken", 0.0))


def _consumer(loop: Stage, consumer: float) -> _Remedy:
    text = f"Bottleneck: your loop ({consumer:.0%} of the time). The dataset keeps up; change nothing in it."
    return _Remedy(loop, "consumer", text, "consumer", gain=1 / max(consumer, 1e-3))


def _filling(report: Report, loop: Stage) -> _Remedy | None:
    """Return the remedy if most of the time went by until there was a first element, as a pool had to fill."""
    first, age = loop.first_s or 0.0, loop.age_s or 0.0
    if first < _MOSTLY * age or report.seconds < 0.9 * age:
        return None
    pool = next((each for each in reversed(report.stages) if each.name.startswith("shuffle(")), None)
    if pool is None:
        return None
    text = (
        f"Bottleneck: filling the pool of `{pool.name}` took {first / max(age, 1e-9):.0%} of the time. A smaller "
        "buffer_size starts sooner and shuffles less."
    )
    return _Remedy(pool, "pool", text, "buffer_size")


def _outside(queue: Stage) -> _Remedy:
    text = (
        f"Bottleneck: the code that fills queue '{queue.name}': {queue.waits_in or 0.0:.0%} of the time was spent "
        "waiting for it."
    )
    return _Remedy(queue, "queue", text)


def _by_turns(prefetch: Stage, consumer: float, room: float) -> _Remedy:
    """The loop waits at times, and the thread ahead of it at others: elements take unequal time."""
    assert prefetch.tank is not None
    value = 4 * max(1, prefetch.tank.stats.capacity)
    gain = 1 / max(consumer, 1 - room, 1e-3)
    text = (
        f"Bottleneck: `{prefetch.name}` is too small: your loop waited {1 - consumer:.0%} of the time, and its thread "
        f"{room:.0%} for room. Try `prefetch({value})`{_times(gain)}."
    )
    return _Remedy(prefetch, "prefetch", text, "prefetch", value, gain)


def _serial(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> _Remedy:
    """A step that runs in the thread that takes elements."""
    taken = _taken(slow)
    others = max(thread.busy - taken, 0.0)  # of the same thread
    limit = others + consumer if thread.first else max(others, behind)
    how = _how(taken, thread, consumer if thread.first else 0.0)
    begins = f"Bottleneck: `{slow.name}` ({taken:.0%} of the time{how})"
    prefetched = 1 / max(thread.busy, consumer, 1e-3) if thread.first else 1.0
    if slow.kind == "function":
        value, knob = _more(report, 1, taken, max(limit, 1e-3), how)
        gain = 1 / max(limit, taken / value, 1e-3)
        if gain > _WORTH * prefetched:
            text = f"{begins}. Try `workers={knob}`{_times(gain)}{_if_computing(report, how, knob)}."
            return _Remedy(slow, "function", text, "workers", value, gain)
    if prefetched > _WORTH:
        text = f"{begins}. Try `.prefetch({_AHEAD})` at the end{_times(prefetched)}."
        return _Remedy(slow, slow.kind, text, "prefetch", _AHEAD, prefetched)
    if slow.kind == "source":
        text = f"{begins}. If it decodes, move that into `.map(..., workers=...)`: workers share it."
        return _Remedy(slow, "source", text, "workers")
    return _Remedy(slow, slow.kind, f"{begins}. {_LESS_WORK}")


def _workers(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> _Remedy:
    """A function whose workers the thread waits for."""
    now, busy = max(1, slow.threads), slow.busy or 0.0
    if busy < _ALL_BUSY and thread.first and consumer > _OFTEN:
        gain = 1 / max(thread.busy, consumer, 1e-3)
        text = (
            f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, only {busy:.0%} busy): the workers are idle while "
            f"your loop works. Try `.prefetch({_AHEAD})` at the end{_times(gain)}."
        )
        return _Remedy(slow, "function", text, "prefetch", _AHEAD, gain)
    auto = slow.settings.get("auto")
    how = _UNKNOWN if auto else _how_workers(slow)
    begins = f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, {busy:.0%} busy{how})"
    if auto and report.seconds < _SETTLED:
        text = f'{begins}. `workers="auto"` still tries other numbers: let it run for {_SETTLED:.0f} s or more.'
        return _Remedy(slow, "function", text)
    if auto:
        return _Remedy(slow, "function", f'{begins}. `workers="auto"` found no better number. {_LESS_WORK}')
    if busy < _MOSTLY:
        return _Remedy(slow, "function", f"{begins}. {_why_idle(slow)}")
    limit = max(thread.busy - _taken(slow), behind, 1e-3)
    value, knob = _more(report, now, now * busy, limit, how, slow)
    gain = min(value / now, 1 / limit)
    if value <= now or gain < _WORTH:
        return _Remedy(slow, "function", f"{begins}. All {report.processors} processors are used. {_LESS_WORK}")
    text = f"{begins}. Try `workers={knob}`{_times(gain)}{_if_computing(report, how, knob)}."
    return _Remedy(slow, "function", text, "workers", value, gain)


def _why_idle(slow: Stage) -> str:
    """Return what to do about workers that the thread waits for, and that are idle half of the time or more."""
    if slow.settings.get("made_by") == "pipeline.threads":
        return "They wait for the slowest: examples take unequal time. If any order will do, pass `ordered=False`."
    return "Its results take long to come back: return less, or smaller dtypes."


def _more(report: Report, now: int, work: float, limit: float, how: str, part: Stage | None = None) -> tuple[int, str]:
    """Return how many workers would keep up, and how to write them.

    Args:
        report: The run.
        now: How many there are.
        work: How many are at work on average.
        limit: The share of the time below which nothing is gained, as something else takes as long.
        how: What they do.
        part: The step, if it has workers.
    """
    value = max(now + 1, min(math.ceil(work / limit), _MOST_AT_ONCE * now))
    made_by = "" if part is None else str(part.settings.get("made_by", ""))
    if how == _COMPUTES:
        value = min(value, max(report.processors, now))
        if (report.lock is None or report.lock > HOGGED) and made_by in ("", "pipeline.threads"):
            return max(value, 2), f"pipeline.processes({max(value, 2)})"
    if made_by.startswith("pipeline.") and made_by != "pipeline.threads":
        return value, f"{made_by}({value})"
    return value, str(value)


def _how(taken: float, thread: _Thread, consumer: float) -> str:
    """Return what a step does: the thread waits in the time that it does not compute, and the loop may compute too."""
    if thread.wanted is None:
        return _UNKNOWN
    if thread.wanted < _MOSTLY * taken:
        return _WAITS
    return _COMPUTES if thread.wanted - consumer - max(thread.busy - taken, 0.0) > _MOSTLY * taken else _UNKNOWN


def _how_workers(slow: Stage) -> str:
    if slow.wanted is None or not slow.busy:
        return _UNKNOWN
    return _COMPUTES if slow.wanted > _MOSTLY * slow.busy * slow.threads else _WAITS


def _if_computing(report: Report, how: str, knob: str) -> str:
    """Return what to write instead, where it is not known what the function does."""
    if how != _UNKNOWN or not knob.isdigit():
        return ""
    return f"; if it computes in Python, `workers=pipeline.processes({max(2, report.processors)})`"


def _times(gain: float) -> str:
    return f": about {gain:.1f} times as fast" if gain > _WORTH else ""
