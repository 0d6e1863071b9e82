"""The verdict on a run: an iterator's bottleneck, and the change to make in the dataset.

Steps run in turn in the consuming thread; `prefetch` has its own thread, and functions may have workers. If the loop
waits, the bottleneck is the step whose workers are always at work. Without one it is the step with most of the time of
the thread for which the loop waits. docs/monitoring.md explains the rules.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from pipeline.diagnostics.earlier import LONG
from pipeline.diagnostics.wording import count
from pipeline.reports.advice import (
    ALL_COMPILED,
    COMPUTES,
    LEAST,
    LESS_WORK,
    MEASURE_AGAIN,
    MOSTLY,
    OF_SHORT,
    OR_PROCESSES,
    TOO_SMALL,
    UNEQUAL,
    UNKNOWN,
    UNLESS,
    WAITS,
    WORTH,
    Offer,
    activity,
    between,
    delayed,
    figure,
    holds_lock,
    how_workers,
    least_of,
    made_by,
    more_workers,
    of_files,
    taken,
    too_brief,
    why_idle,
    why_no_more,
)
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.report import NO_EXAMPLE, Report

_OVERLAP = 1.05  # sum of shares: more means that a thread waited for the GIL, not for room
_SMALL = 1e-3  # seconds: handing smaller batches between threads costs more than it gains
_SETTLED = 10.0  # seconds after which `workers="auto"` has tried all it can
_SOMETIMES, _OFTEN, _ALL_BUSY, _ALWAYS = 0.1, 0.2, 0.75, 0.9  # shares of the time
_AHEAD, _DEEP = 2, 8  # default of `prefetch`; the least one for unequal elements
_HAND_OVER = 12e-6  # seconds added to each element by a prefetch

_OF_USERS = ("iterable", "callable", "stateful", "sequence")  # kinds of sources written by users

_PROMISE = re.compile(rf":(?: up to| about)? [\d.]+(?: to [\d.]+)? times as fast(?:{UNLESS})?")


class _Remedy(NamedTuple):
    """The bottleneck and the advice; fields as in `Verdict`."""

    stage: Stage
    kind: str
    text: str
    knob: str | None = None
    value: int | None = None
    gain: float | None = None
    least: float | None = None


class _Thread(NamedTuple):
    """A consuming thread.

    Attributes:
        owner: The loop, or the step for which it reads ahead.
        parts: Its steps.
        inputs: Its queues, and the steps whose threads read ahead for it.
        busy: Share of the time in these steps, or waiting for input.
        wanted: Processors it used or waited for; None if unknown.
    """

    owner: Stage
    parts: list[Stage]
    inputs: list[Stage]
    busy: float
    wanted: float | None

    @property
    def first(self) -> bool:
        """True for the loop's thread."""
        return self.owner.kind == "loop"


def judge(report: Report) -> list[Verdict]:
    """Return a verdict for each started iterator."""
    found = []
    for loop in report.stages:
        if loop.kind == "loop" and loop.state != "not started":
            seconds = min(report.seconds, math.inf if loop.age_s is None else loop.age_s)
            short = loop.elements and seconds < LONG
            remedy = _short(loop, seconds) if short else _of_loop(report, loop)
            if report.starved:
                remedy = _without_promise(report, remedy)
            least = remedy.least if remedy.gain is None or remedy.least is not None else least_of(remedy.gain)
            found.append(
                Verdict(
                    loop.id, remedy.stage.id, remedy.kind, remedy.knob, remedy.value, remedy.gain, remedy.text, least
                )
            )
    return found


def _without_promise(report: Report, remedy: _Remedy) -> _Remedy:
    """Return the remedy for a starved run, without a promise."""
    text = _PROMISE.sub("", remedy.text)
    judged = remedy.kind in ("function", "source", "step", "prefetch")
    if UNEQUAL in text or (judged and f"{WAITS})" not in text):
        text = f"{text.removesuffix('.').partition('. ')[0]}. {MEASURE_AGAIN}"
        remedy = remedy._replace(knob=None, value=None)
    return remedy._replace(text=f"{report.starved} {text}", gain=None, least=None)


def _short(loop: Stage, seconds: float) -> _Remedy:
    """Return the remedy if a run and the short passes before it are too short to judge."""
    passes = int(loop.settings.get("passes", 1))
    took = f"{passes} epochs, {seconds:.2f} s" if passes > 1 else f"{seconds:.2f} s"
    return _Remedy(loop, "short", f"Too short to judge ({took}): let it run for {LONG:.0f} s or more.")


def _of_loop(report: Report, loop: Stage) -> _Remedy:
    """Return the remedy for an iterator's bottleneck."""
    if not loop.elements:
        ended = f"'{loop.name}' is empty: it gave no example."
        return _Remedy(loop, "start", NO_EXAMPLE if loop.state == "running" else ended)
    waits = loop.waits_in or 0.0
    consumer = 1 - waits
    busiest = _always_busy(report, loop)
    if busiest is None and (filling := _filling(report, loop)):
        return filling
    if waits < _OFTEN:
        return _consumer(loop, consumer)
    thread, behind = _thread(report, loop, waits), consumer  # `behind`: share of the time needed by later threads
    while busiest not in thread.parts:
        ahead = max(thread.inputs, key=lambda each: each.waits_in or 0.0, default=None)
        own = sum(map(taken, thread.parts))
        if ahead is None or (own > MOSTLY * thread.busy and not (busiest or _never_waits(ahead))):
            break
        if ahead.kind != "step":
            return _outside(ahead)
        behind = _needed(thread, behind, consumer)
        room = ahead.waits_out or 0.0
        if room > _OFTEN and ahead.name.startswith("prefetch("):
            empty = max(ahead.waits_in or 0.0, waits - own if thread.first else 0.0)  # or the loop waits for the GIL
            if empty + room <= _OVERLAP:
                return _by_turns(ahead, consumer, empty, room)
            if ahead.rate * _SMALL > 1:
                return _too_small(ahead)
        thread = _thread(report, ahead, 1 - room)
    if not thread.parts:
        return _consumer(loop, consumer)
    slow = busiest if busiest in thread.parts else max(thread.parts, key=taken)
    if slow.settings.get("in_workers"):
        first = (loop.first_s or 0.0) / max(loop.age_s or 0.0, 1e-9)
        return _workers(report, slow, thread, behind, consumer, first)
    return _serial(report, slow, thread, behind, consumer)


def _always_busy(report: Report, loop: Stage) -> Stage | None:
    """Return the busiest stage before a loop if it is always at work; None without one."""
    found, left = [], report.before(loop)
    while left:
        each = left.pop()
        if each not in found:
            found.append(each)
            left += report.before(each)
    busiest = max(found, key=lambda each: each.busy or 0.0, default=None)
    return busiest if busiest is not None and (busiest.busy or 0.0) >= _ALWAYS else None


def _never_waits(ahead: Stage) -> bool:
    """Return whether a read-ahead thread is always at work, and another one waits for it."""
    return ahead.kind == "step" and (ahead.waits_in or 0.0) > _SOMETIMES and 1 - (ahead.waits_out or 0.0) >= _ALWAYS


def _needed(thread: _Thread, behind: float, consumer: float, slow: Stage | None = None) -> float:
    """Return the share of the time needed by the busiest of this thread, its workers and `behind`; without `slow`."""
    others = [each for each in thread.parts if each is not slow]
    workers = [each.busy or 0.0 for each in others if each.settings.get("in_workers")]
    serial = sum(taken(each) for each in others if not each.settings.get("in_workers"))
    return max(serial + (consumer if thread.first else 0.0), behind, 1e-3, *workers)


def _thread(report: Report, owner: Stage, busy: float) -> _Thread:
    """Return the thread behind a loop or a read-ahead step."""
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


def _consumer(loop: Stage, consumer: float) -> _Remedy:
    text = f"Bottleneck: your loop ({consumer:.0%} of the time). The dataset keeps up; change nothing in it."
    return _Remedy(loop, "consumer", text, "consumer")


def _filling(report: Report, loop: Stage) -> _Remedy | None:
    """Return the remedy if the run mostly filled a shuffle buffer; else None."""
    first, age = loop.first_s or 0.0, loop.age_s or 0.0
    if first < MOSTLY * age or report.seconds < 0.9 * age:
        return None
    pool = next((each for each in reversed(report.stages) if each.name.startswith("shuffle(")), None)
    if pool is None:
        return None
    text = (
        f"Bottleneck: filling the buffer of `{pool.name}` took {first / max(age, 1e-9):.0%} of the time. A smaller "
        "buffer_size starts sooner and shuffles less."
    )
    return _Remedy(pool, "pool", text, "buffer_size")


def _outside(queue: Stage) -> _Remedy:
    text = (
        f"Bottleneck: the code that fills queue '{queue.name}': {queue.waits_in or 0.0:.0%} of the time was spent "
        "waiting for it."
    )
    return _Remedy(queue, "queue", text)


def _too_small(prefetch: Stage) -> _Remedy:
    """Return the remedy for batches that take less time than handing them over."""
    text = f"Bottleneck: `{prefetch.name}`. {TOO_SMALL}. Leave out `.{prefetch.name}`, or make larger batches."
    return _Remedy(prefetch, "prefetch", text, "prefetch")


def _by_turns(prefetch: Stage, consumer: float, empty: float, room: float) -> _Remedy:
    """Return the remedy for unequal elements: sometimes the loop waits, sometimes the read-ahead thread."""
    assert prefetch.tank is not None
    value = max(_DEEP, 4 * prefetch.tank.stats.capacity)
    gain = 1 / max(consumer, 1 - room, 1e-3)
    text = (
        f"Bottleneck: `{prefetch.name}` is too small: your loop waited for it {empty:.0%} of the time, and it "
        f"was full {room:.0%} of the time. Try `prefetch({value})`{between(1.0, gain)}."
    )
    return _Remedy(prefetch, "prefetch", text, "prefetch", value, gain, 1.0)


def _serial(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float) -> _Remedy:
    """Return the remedy for a step without workers."""
    share = taken(slow)
    limit = _needed(thread, behind, consumer, slow)
    does = _how(slow, thread, consumer if thread.first else 0.0)
    begins = f"Bottleneck: `{slow.name}` ({share:.0%} of the time{does})"
    brief = too_brief(report, slow, share * (1 - delayed(thread.owner) / max(thread.busy, 1e-3)))
    compiled = _compiled(thread)
    if brief and share < MOSTLY * thread.busy and not compiled:
        return _Remedy(slow, slow.kind, f"No step stands out: {_by_size(thread)}. Work on whole batches.")
    if brief and not compiled:
        gain = OF_SHORT if OR_PROCESSES in brief else None
        return _Remedy(slow, slow.kind, f"{begins}. {brief}", gain=gain, least=gain and 1.0)
    least, prefetched = _prefetched(report, thread, consumer)
    if (slow.kind == "function" or _can_move(slow)) and (
        (offer := more_workers(report, slow, 1, share, share, limit, does, _apart(report, share))).most
        > WORTH * (least if does == COMPUTES else prefetched)
    ):
        return _in_workers(slow, begins, offer)
    if prefetched > WORTH:
        text = f"{begins}. Try `.prefetch({_AHEAD})` at the end{between(1.0, prefetched)}."
        return _Remedy(slow, slow.kind, text, "prefetch", _AHEAD, prefetched, 1.0)
    if slow.settings.get("call") == "batch" and slow.settings.get("functions"):
        text = "Its `collate=` takes it. Move the work into `.batch(n, collate=list).map_batches(f, workers=4)`."
        return _Remedy(slow, slow.kind, f"{begins}. {text}")
    if compiled and share < MOSTLY * thread.busy:
        reads = "reads this file" if _reads_file(thread) else "goes"
        text = f"{ALL_COMPILED} This is about as fast as one thread {reads}."
        return _Remedy(slow, slow.kind, text)
    if slow.kind == "source":
        helps = "" if slow.settings.get("source") in _OF_USERS else f" {of_files(slow, does)}"
    else:
        helps = f" {LESS_WORK}" if _calls(slow) else ""
    return _Remedy(slow, slow.kind, f"{begins}.{helps}")


def _calls(part: Stage) -> bool:
    """Return whether a step calls functions of the user."""
    return part.kind == "function" or bool(part.settings.get("functions"))


def _compiled(thread: _Thread) -> bool:
    """Return whether a thread runs nothing but this library's steps."""
    return not any(_calls(each) or (each.kind == "source" and _can_move(each)) for each in thread.parts)


def _reads_file(thread: _Thread) -> bool:
    """Return whether a thread reads files."""
    return any(each.settings.get("reads_files") for each in thread.parts)


def _apart(report: Report, share: float) -> float:
    """Return the share of the time in which workers cannot help: a cache's first epoch is not like the others."""
    return 1 - share if any(each.settings.get("call") == "cache" for each in report.stages) else 0.0


def _by_size(thread: _Thread) -> str:
    """Return a thread's longest steps with their shares of the time."""
    longest = sorted(thread.parts, key=taken, reverse=True)[:3]
    return ", ".join(f"`{each.name}` {taken(each):.0%}" for each in longest)


def _can_move(slow: Stage) -> bool:
    """Return whether workers can do a source's work."""
    return bool(slow.settings.get("takes_workers")) or slow.settings.get("source") in _OF_USERS


def _in_workers(slow: Stage, begins: str, offer: Offer) -> _Remedy:
    """Return the advice to give a step's work to workers, with the argument to write."""
    call = slow.settings.get("takes_workers")
    if slow.kind == "source" and not call:
        most = f"up to {figure(offer.most)} times as fast"
        text = f"{begins}. Move its slow part into `.map(..., workers={offer.knob})`: {most}."
        return _Remedy(slow, "source", text, "workers", offer.value, offer.most, 1.0)
    text = re.sub("`workers=([^`]+)`", rf"`{call}(..., workers=\1)`", offer.text) if call else offer.text
    return _Remedy(slow, slow.kind, f"{begins}. {text}", "workers", offer.advised, offer.most, offer.least)


def _prefetched(report: Report, thread: _Thread, consumer: float) -> tuple[float, float]:
    """Return the smallest and largest speed-up by a prefetch at the end."""
    if not thread.first:
        return 1.0, 1.0
    limit = max(thread.busy, consumer, report.lock or 0.0) + _HAND_OVER * thread.owner.rate
    most = 1 / max(limit, 1e-3)
    return max(1.0, min(LEAST * most, 1 / max(thread.wanted or 0.0, 1e-3))), most


def _workers(report: Report, slow: Stage, thread: _Thread, behind: float, consumer: float, first: float) -> _Remedy:
    """Return the remedy for slow workers; `first` is the share of the time before the first batch."""
    now, busy = max(1, slow.threads), slow.busy or 0.0
    auto = slow.settings.get("auto")
    does = UNKNOWN if auto else how_workers(report, slow)
    begins = f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, {busy:.0%} busy{does})"
    used, work = slow.cpu or 0.0, now * busy
    brief = too_brief(report, slow, used if does == COMPUTES else max(used, work - delayed(slow)))
    if brief and not auto:
        return _Remedy(slow, slow.kind, f"{begins}. {brief}")
    _, gain = _prefetched(report, thread, consumer)
    locked = does == COMPUTES and holds_lock(report, made_by(slow), slow.wanted or 0.0)
    if busy < _ALL_BUSY and consumer > _OFTEN and gain > WORTH and not locked:
        text = (
            f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, only {busy:.0%} busy): the workers are idle while "
            f"your loop works. Try `.prefetch({_AHEAD})` at the end{between(1.0, gain)}."
        )
        return _Remedy(slow, "function", text, "prefetch", _AHEAD, gain, 1.0)
    if (start := min(slow.settings.get("starting", 0.0), first)) > _OFTEN:
        starting = f"{start:.0%} of the time was spent starting its {count(now, 'worker')}"
        text = f"Bottleneck: `{slow.name}`: {starting}. Let it run for {_SETTLED:.0f} s or more."
        return _Remedy(slow, "function", text)
    if auto and report.seconds < _SETTLED:
        text = f'{begins}. `workers="auto"` still tries other numbers: let it run for {_SETTLED:.0f} s or more.'
        return _Remedy(slow, "function", text)
    if auto:
        return _Remedy(slow, "function", f'{begins}. `workers="auto"` found no better number. {LESS_WORK}')
    if busy < MOSTLY and not locked:
        return _Remedy(slow, "function", f"{begins}. {why_idle(report, slow)}")
    limit = _needed(thread, behind, consumer, slow)
    apart = _apart(report, taken(slow))
    share = now * taken(slow) if apart else now
    offer = more_workers(report, slow, now, work, share, limit, does, apart)
    if offer.most < WORTH:
        return _Remedy(slow, "function", f"{begins}. {why_no_more(report, does)}{LESS_WORK}")
    return _Remedy(slow, "function", f"{begins}. {offer.text}", "workers", offer.advised, offer.most, offer.least)


def _how(slow: Stage, thread: _Thread, consumer: float) -> str:
    """Return whether a step computes. Its thread's processor time may belong to other steps, too."""
    if thread.wanted is None:
        return UNKNOWN
    share = taken(slow)
    others = consumer + max(thread.busy - share, 0.0)
    does = activity((thread.owner.cpu or 0.0) - others, thread.wanted, share)
    return UNKNOWN if does == WAITS and slow.kind == "step" and not _calls(slow) else does
