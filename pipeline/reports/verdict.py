"""The verdict on a run: which step of a dataset limits its iterator, and what to write into the dataset.

The steps run one after the other in the thread that takes elements, except those behind `prefetch`, which has its own
thread, and functions with `workers`. Where the loop waits, the bottleneck is the step that took most of the time of the
thread that it waits for. docs/monitoring.md has the rules in words.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.report import Report
from pipeline.reports.words import unit

HOGGED = 0.7  # of the time some thread holds the GIL

_TRIFLE = 20e-6  # seconds: to hand a shorter call to a worker costs about as much as the call
_SHORT = 1.0  # seconds; in less, starting threads and opening files count as much as the work
_SETTLED = 10.0  # seconds, after which `workers="auto"` has tried what it can
_MOST_AT_ONCE = 4  # times as many workers as now are proposed at most
_OFTEN, _MOSTLY, _ALL_BUSY = 0.2, 0.5, 0.75  # shares of the time
_WORTH = 1.1  # times as fast: for less, nothing is proposed
_LEAST = 0.75  # of the gain that is possible is gained at least: `make verdicts` measures it
_EXACT = 3.0  # times: below that, speed-ups have a decimal
_HALF = 0.5  # of a processor
_AHEAD = 2  # elements that `prefetch` keeps by default

_COMPUTES, _WAITS, _UNKNOWN = ", computing", ", waiting for I/O", ""
_IN_TURNS = "its threads hold the GIL in turns"
_LESS_WORK = "To go faster, do less work per example."
_PROMISE = re.compile(r":(?: up to| about)? [\d.]+(?: to [\d.]+)? times as fast")


class _Remedy(NamedTuple):
    """The stage that limits the others, and what helps; as in `Verdict`."""

    stage: Stage
    kind: str
    text: str
    knob: str | None = None
    value: int | None = None
    gain: float | None = None
    least: float | None = None


class _Offer(NamedTuple):
    """How many workers to try.

    Attributes:
        value: Their number.
        knob: How to write it.
        most: At most how many times as fast the run would be.
        gain, least: The same, and at least how many times, if it is known whether the function computes; else None.
        text: The advice.
    """

    value: int
    knob: str
    most: float
    gain: float | None
    least: float | None
    text: str


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
        """True if it is the thread of the loop."""
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
            if report.starved:
                text = f"{report.starved}, so no speed-up is promised. {_PROMISE.sub('', remedy.text)}"
                remedy = remedy._replace(text=text, gain=None, least=None)
            least = remedy.least if remedy.gain is None or remedy.least is not None else _least(remedy.gain)
            found.append(
                Verdict(
                    loop.id, remedy.stage.id, remedy.kind, remedy.knob, remedy.value, remedy.gain, remedy.text, least
                )
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
    call = slow.settings.get("takes_workers")
    brief = _too_brief(report, slow, taken * (1 - _delayed(thread.owner) / max(thread.busy, 1e-3)))
    if not brief and (slow.kind == "function" or call):
        offer = _more(report, 1, taken, taken, max(limit, 1e-3), how)
        if offer.most > _WORTH * prefetched:
            text = re.sub("`workers=([^`]+)`", rf"`{call}(..., workers=\1)`", offer.text) if call else offer.text
            return _Remedy(slow, slow.kind, f"{begins}. {text}", "workers", offer.value, offer.gain, offer.least)
    if prefetched > _WORTH:
        text = f"{begins}. Try `.prefetch({_AHEAD})` at the end{_times(prefetched)}. {brief}".rstrip()
        return _Remedy(slow, slow.kind, text, "prefetch", _AHEAD, prefetched)
    if brief:
        return _Remedy(slow, slow.kind, f"{begins}. {brief}")
    if slow.kind == "source":
        text = f"{begins}. If it decodes, move that into `.map(..., workers=...)`: workers share it."
        return _Remedy(slow, "source", text, "workers")
    return _Remedy(slow, slow.kind, f"{begins}. {_LESS_WORK}")


def _workers(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> _Remedy:
    """A function whose workers the thread waits for."""
    now, busy = max(1, slow.threads), slow.busy or 0.0
    auto = slow.settings.get("auto")
    how = _UNKNOWN if auto else _how_workers(report, slow)
    begins = f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, {busy:.0%} busy{how})"
    used, work = slow.cpu or 0.0, now * busy
    brief = _too_brief(report, slow, used if how == _COMPUTES else max(used, work - _delayed(slow)))
    if brief and not auto:
        return _Remedy(slow, slow.kind, f"{begins}. {brief}")
    if busy < _ALL_BUSY and thread.first and consumer > _OFTEN:
        gain = 1 / max(thread.busy, consumer, 1e-3)
        text = (
            f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, only {busy:.0%} busy): the workers are idle while "
            f"your loop works. Try `.prefetch({_AHEAD})` at the end{_times(gain)}."
        )
        return _Remedy(slow, "function", text, "prefetch", _AHEAD, gain)
    if auto and report.seconds < _SETTLED:
        text = f'{begins}. `workers="auto"` still tries other numbers: let it run for {_SETTLED:.0f} s or more.'
        return _Remedy(slow, "function", text)
    if auto:
        return _Remedy(slow, "function", f'{begins}. `workers="auto"` found no better number. {_LESS_WORK}')
    if busy < _MOSTLY and not (how == _COMPUTES and _holds_lock(report, _made_by(slow))):
        return _Remedy(slow, "function", f"{begins}. {_why_idle(report, slow, how)}")
    limit = max(thread.busy - _taken(slow), behind, 1e-3)
    offer = _more(report, now, work, now, limit, how, _made_by(slow))
    if offer.most < _WORTH:
        return _Remedy(slow, "function", f"{begins}. {_why_no_more(report, how)}{_LESS_WORK}")
    return _Remedy(slow, "function", f"{begins}. {offer.text}", "workers", offer.value, offer.gain, offer.least)


def _too_brief(report: Report, slow: Stage, share: float) -> str:
    """Return what to do about calls that are too short for workers; "" if they are not, or if nobody could run it.

    Args:
        report: The run.
        slow: The function or source.
        share: The share of the time that its calls took.
    """
    inputs = report.before(slow) or [slow]  # a filter is called more often than it returns
    calls = sum(each.rate for each in inputs)
    if slow.kind not in ("function", "source") or not calls or share >= _TRIFLE * calls:
        return ""
    batches = unit(inputs[0]) == "batches"
    takes = (
        f"It takes about {_figure(max(0.1, 1e6 * share / calls))} µs {'a batch' if batches else 'an example'}, "
        "too short for workers"
    )
    if slow.settings.get("in_workers"):
        takes += ": `workers=` costs more than it saves"
    if slow.kind == "source":
        return f"{takes}. {_LESS_WORK}"
    if batches:
        return f"{takes}. To go faster, make larger batches."
    lines = any(each.kind == "source" and each.name.split()[0] == "text" for each in report.stages)
    csv = ", or read CSV lines by `pipeline.csv`" if lines else ""
    return f"{takes}. To go faster, work on whole batches, by `.batch(n).map_batches(...)`{csv}."


def _delayed(stage: Stage) -> float:
    """Return for how many processors a stage waited while other programs had them; 0 if unknown."""
    return (stage.wanted or 0.0) - (stage.cpu or 0.0)


def _why_no_more(report: Report, how: str) -> str:
    """Return why more workers gain nothing, as a sentence; "" where half a processor or more is free."""
    if how != _COMPUTES and (report.lock or 0.0) > HOGGED:
        return f"The GIL is held {report.lock:.0%} of the time. "
    number, used = report.processors, sum(stage.cpu or 0.0 for stage in report.stages)
    if report.watched and number - used >= _HALF:
        return ""
    return f"{'The only processor is' if number == 1 else f'All {number} processors are'} used. "


def _why_idle(report: Report, slow: Stage, how: str) -> str:
    """Return what to do about workers that the thread waits for, and that are idle half of the time or more."""
    if _made_by(slow) == "pipeline.threads":
        text = "They wait for the slowest, as examples take unequal time: if any order will do, pass `ordered=False`"
        if how == _WAITS or report.processors < 2:
            return f"{text}."
        processes = f"`workers=pipeline.processes({report.processors})`"
        return f"{text}. If it computes in Python, {_IN_TURNS}, so use {processes}."
    return "Its results take long to come back: return less, or smaller dtypes."


def _more(
    report: Report, now: int, work: float, share: float, limit: float, how: str, made_by: str = "pipeline.threads"
) -> _Offer:
    """Return how many workers would keep up, and what they gain at most.

    Args:
        report: The run.
        now: How many there are.
        work: How many are at work on average.
        share: As many as do the work of the run now.
        limit: The share of the time below which nothing is gained, as something else takes as long.
        how: What they do.
        made_by: The function that makes them.
    """
    value = max(now + 1, min(math.ceil(work / limit), _MOST_AT_ONCE * now))
    in_threads = made_by == "pipeline.threads"
    turns = ""
    if how == _COMPUTES:
        value = min(value, report.processors)
        if _holds_lock(report, made_by):
            if now > 1:
                turns = f"As {_IN_TURNS}, {now} of them are no faster than one: use processes. "
            made_by, in_threads = "pipeline.processes", False
            share = min(share, 1.0)  # as many as hold the GIL at once
    most = min(1 / max(limit, share / value), _room(report, in_threads))
    knob = f"{made_by}({value})" if made_by.startswith("pipeline.") and not in_threads else str(value)
    if how == _UNKNOWN:
        other = _if_computing(report, now, share, limit, made_by)
        text = f"Try `workers={knob}`: up to {_figure(most)} times as fast if it waits for I/O{other}."
        return _Offer(value, knob, most, None, None, text)
    least = _least(most)
    if how == _COMPUTES:  # two processors may be one core
        least = min(least, max(1.0, 1 / max(limit, 2 * share / value)))
    return _Offer(value, knob, most, most, least, f"{turns}Try `workers={knob}`{_between(least, most)}.")


def _room(report: Report, in_threads: bool) -> float:
    """Return how many times the work of now the processors can do, and the GIL for threads."""
    used = sum(stage.cpu or 0.0 for stage in report.stages)
    lock = (report.lock or 0.0) if in_threads else 0.0
    return min(report.processors / max(used, 1e-3), 1 / max(lock, 1e-3))


def _holds_lock(report: Report, made_by: str) -> bool:
    """Return whether a function that computes holds the GIL, and its workers, if any, are threads."""
    return made_by == "pipeline.threads" and (report.lock is None or report.lock > HOGGED)


def _made_by(part: Stage) -> str:
    return str(part.settings.get("made_by", ""))


def _how(taken: float, thread: _Thread, consumer: float) -> str:
    """Return what a step does: the thread waits in the time that it does not compute, and the loop may compute too."""
    if thread.wanted is None:
        return _UNKNOWN
    if thread.wanted < _MOSTLY * taken:
        return _WAITS
    return _COMPUTES if thread.wanted - consumer - max(thread.busy - taken, 0.0) > _MOSTLY * taken else _UNKNOWN


def _how_workers(report: Report, slow: Stage) -> str:
    if slow.wanted is None or not slow.busy:
        return _UNKNOWN
    at_work = slow.busy * slow.threads
    if _holds_lock(report, _made_by(slow)):
        at_work = min(at_work, 1.0)  # the others wait for the GIL
    return _COMPUTES if slow.wanted > _MOSTLY * at_work else _WAITS


def _if_computing(report: Report, now: int, share: float, limit: float, made_by: str) -> str:
    """Return what to write instead if the function computes."""
    if made_by == "pipeline.processes":
        return f"; if it computes, no more than {report.processors}, the number of processors"
    if made_by != "pipeline.threads" or report.processors < 2:
        return ""
    most = 1 / max(limit, min(share, 1.0) / report.processors)
    processes, gain = f"`workers=pipeline.processes({report.processors})`", _between(1.0, most)
    return f"; if it computes in Python, {f'{_IN_TURNS}, so use ' if now > 1 else ''}{processes}{gain}"


def _least(gain: float) -> float:
    """Return how many times as fast a run is at least that can be `gain` times as fast."""
    return max(1.0, _LEAST * gain)


def _times(gain: float) -> str:
    return _between(_least(gain), gain)


def _between(least: float, most: float) -> str:
    """Return a range of speed-ups as text; "" for one that is not worth a change."""
    if most <= _WORTH:
        return ""
    low, high = _figure(max(1.0, least)), _figure(most)
    return f": {low} to {high} times as fast" if low != high else f": about {high} times as fast"


def _figure(times: float) -> str:
    return f"{times:.1f}".removesuffix(".0") if times < _EXACT else f"{times:.0f}"
