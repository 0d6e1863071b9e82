"""The verdict on a run: an iterator's bottleneck, and the change to make in the dataset.

Steps run in turn in the consuming thread; `prefetch` has its own thread, and functions may have workers. If the loop
waits, the bottleneck is the step whose workers are always at work. Without one it is the step with most of the time of
the thread for which the loop waits. `facts` has the measured facts, this module finds the cause, and `advice` has one
change for each cause, with a number of workers from `offers`. docs/monitoring.md explains the rules.
"""

from __future__ import annotations

import math
from dataclasses import replace

from pipeline.diagnostics.earlier import LONG
from pipeline.reports.advice import (
    MEASURE_AGAIN,
    OFTEN,
    SELDOM,
    Remedy,
    beside,
    by_turns,
    moves_much,
    of_serial,
    of_workers,
    too_small,
)
from pipeline.reports.facts import (
    MOSTLY,
    Thread,
    all_before,
    always_busy,
    by_epoch,
    elsewhere,
    has_workers,
    keeps_gil,
    needed,
    never_waits,
    taken,
    thread_behind,
)
from pipeline.reports.first import first_awaited
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.offers import WORTH, between
from pipeline.reports.queue_runners import of_queue, of_runner
from pipeline.reports.report import Report
from pipeline.reports.twins import with_number

_OVERLAP = 1.05  # sum of shares: more means that a thread waited for the GIL, not for room
_SLOWER = 1.25  # a read-ahead thread that takes that much longer than the loop needs workers, not room
_AT_WORK = 0.8  # share of the time: such workers hardly wait for room in a buffer
_FIRST = 0.7  # share of a loop's waiting time: more until its first batch means that a buffer filled
_SMALL = 1e-3  # seconds: handing smaller batches between threads costs more than it gains


def judge(report: Report, kind: str = "dataset") -> list[Verdict]:
    """Return a verdict for each iterator over a dataset; for kind "queue", for each loop that takes from a queue."""
    return [
        _verdict(report, each)
        for each in report.stages
        if each.kind == "loop" and each.settings.get("kind", "dataset") == kind
    ]


def _verdict(report: Report, loop: Stage) -> Verdict:
    """Return an iterator's verdict; other programs that took processor time void its promises."""
    remedy = _of_loop(report, loop) if loop.elements else _without_example(report, loop)
    seconds = min(report.seconds, math.inf if loop.age_s is None else loop.age_s)
    if loop.elements and seconds < LONG:
        started = sum(each.settings.get("started_s", 0.0) for each in all_before(report, loop))
        remedy = _short(report, loop, seconds, started, remedy.stage)
    if report.crowded and remedy.knob == "workers" and not remedy.sure:  # they may find no free processor
        remedy = remedy._replace(least=1.0)
    if report.starved:
        remedy = remedy._replace(gain=None, least=None)
        if not remedy.sure:
            remedy = remedy._replace(advice=MEASURE_AGAIN, why="", knob=None, value=None)
    passes = int(loop.settings.get("passes", 1))
    called = f"Your {passes} epochs ({seconds:.1f} s):" if passes > 1 and remedy.kind != "short" else ""
    name = remedy.stage.name
    old, new = f"`{name}`", f"`{with_number(remedy.stage, name)}`"
    cause, advice = remedy.cause.replace(old, new), remedy.advice.replace(old, new)
    return Verdict(
        loop.id,
        remedy.stage.id,
        remedy.kind,
        f"{cause}{f'; {remedy.why}' if remedy.why else ''}.",
        _advice(remedy._replace(advice=advice)),
        remedy.knob,
        remedy.value,
        remedy.gain,
        remedy.least,
        report.starved,
        called,
    )


def _advice(remedy: Remedy) -> str:
    """Return the advice and the speed-up as a sentence."""
    if remedy.gain is None or remedy.least is None:
        return f"{remedy.advice}." if remedy.advice else ""
    return f"{remedy.advice}{between(remedy.least, remedy.gain)}{remedy.note}."


def _short(report: Report, loop: Stage, seconds: float, started: float, slow: Stage) -> Remedy:
    """Return the remedy if a run and the short passes before it are too short to judge."""
    passes = int(loop.settings.get("passes", 1))
    took = f"{passes} epochs, {seconds:.2f} s" if passes > 1 else f"{seconds:.2f} s"
    after = f" after a start of {started:.1f} s" if started else ""
    who, share = _consumers(loop)
    busiest = max(all_before(report, loop), key=lambda each: each.busy or 0.0, default=loop)
    longest = f"{who if (busiest.busy or 0.0) <= share else f'`{busiest.name}`'} took longest"
    if slow.kind == "queue":
        longest = f"your loop mostly waited for queue '{slow.name}'"
    how = f", for example with `.repeat({_round(1.5 * passes * LONG / max(seconds, 1e-3))})` at the end"
    if loop.state == "running" or loop.settings.get("kind") == "queue":
        how = ""
    cause = f"Too short to judge ({took}{after}); so far {longest}"
    return Remedy(loop, "short", cause, f"Let it run for {LONG:.0f} s or more{how}", sure=True)


def _round(epochs: float) -> int:
    """Return a number of epochs, at least 2, rounded up to one digit and zeros."""
    unit = 10 ** max(0, math.ceil(math.log10(epochs)) - 1) if epochs > 1 else 1
    return max(2, math.ceil(epochs / unit) * unit)


def _of_loop(report: Report, loop: Stage) -> Remedy:
    """Return the remedy for an iterator's bottleneck."""
    waits = loop.waits_in or 0.0
    consumer = 1 - waits
    busiest = always_busy(report, loop)
    if busiest is None and (filling := _filling(report, loop)):
        return filling
    holder = keeps_gil(report, busiest, loop) if waits < OFTEN else None
    if holder:
        busiest, report, consumer = holder, replace(report, lock=1.0), loop.wanted or 0.0  # it may need no more
    elif waits < OFTEN and not (busiest and consumer * WORTH < 1):
        return _seldom(report, loop, waits) or _consumer(loop)
    thread, behind = thread_behind(report, loop, waits), consumer  # `behind`: share of the time later threads need
    while busiest not in thread.parts:
        ahead = max(thread.inputs, key=lambda each: each.waits_in or 0.0, default=None)
        if ahead is None or (thread.own > MOSTLY * thread.busy and not (busiest or never_waits(ahead))):
            break
        if ahead.kind != "step" and not report.before(ahead):
            return _outside(ahead)
        behind = needed(thread, behind, consumer)
        room, blamed = ahead.waits_out or 0.0, busiest is None and not _at_work(report, ahead)
        if blamed and room > OFTEN and _has_room(ahead):
            if remedy := _of_room(report, ahead, thread, behind, consumer):
                return remedy
            if ahead.kind == "step" and ahead.rate * _SMALL > 1:
                return too_small(ahead)
        beyond = thread_behind(report, ahead, 1 - room)
        alone = thread.own + beyond.own + consumer  # the share of the time that one thread would need
        if blamed and ahead.kind == "step" and not beyond.inputs and ahead.rate * _SMALL > 1 and alone * WORTH < 1:
            return too_small(ahead)
        thread = beyond
    if not thread.parts:
        return _consumer(loop)
    slow = busiest if busiest in thread.parts else _slowest(report, thread)
    of_step = (
        of_runner if has_workers(slow) and "more" in slow.settings else of_workers if has_workers(slow) else of_serial
    )
    remedy = of_step(report, slow, thread, behind, consumer)
    return remedy._replace(least=remedy.gain and 1.0) if holder else remedy  # the loop may need all of its time


def _slowest(report: Report, thread: Thread) -> Stage:
    """Return the step that a thread works on or waits for, though none is always busy."""
    found = [each for each in thread.parts if moves_much(report, each)] or thread.parts
    if thread.own < MOSTLY * thread.busy:  # it waits, most likely for the GIL
        return max(found, key=lambda each: each.busy or 0.0)
    return max(found, key=taken)


def _without_example(report: Report, loop: Stage) -> Remedy:
    slow, cause = first_awaited(report, loop)
    if loop.state in ("ended", "closed"):
        some = loop.dropped or any(each.elements for each in all_before(report, loop))
        why = "a filter kept none, or too few were left for a batch" if some else "it gave no example"
        cause = f"'{loop.name}' {'gave nothing' if some else 'is empty'}: {why}"
    return Remedy(slow, "start", cause, "", sure=True)


def _has_room(ahead: Stage) -> bool:
    """Return whether the user chose how many elements a stage holds."""
    return ahead.kind == "queue" or ahead.name.startswith("prefetch(")


def _of_room(report: Report, ahead: Stage, thread: Thread, behind: float, consumer: float) -> Remedy | None:
    """Return the remedy for a `prefetch` or queue that is too small; None if its own thread is the slower one."""
    room = ahead.waits_out or 0.0
    empty = max(ahead.waits_in or 0.0, 1 - consumer - thread.own if thread.first else 0.0)  # or waits for the GIL
    if empty + room > _OVERLAP or 1 - room > _SLOWER * behind or len(by_epoch(report, ahead, 0.0, 1.0)) > 1:
        return None  # a cache makes epochs unequal, not elements
    if ahead.kind == "queue":
        return of_queue(ahead, consumer, empty, room)
    return by_turns(report, ahead, consumer, empty, room)


def _seldom(report: Report, loop: Stage, waits: float) -> Remedy | None:
    """Return the remedy for a loop that waits for a small share of the time; None if nothing gains that."""
    thread = thread_behind(report, loop, waits)
    if waits < SELDOM or any(has_workers(each) for each in thread.parts):
        return None
    if not thread.inputs:
        found = beside(report, thread, 1 - waits)
        if found or not thread.parts or (1 - waits) * WORTH > 1:
            return found
        return of_serial(report, max(thread.parts, key=taken), thread, 1 - waits, 1 - waits)
    ahead = max(thread.inputs, key=lambda each: each.waits_in or 0.0)
    if _has_room(ahead) and (ahead.waits_out or 0.0) > OFTEN:
        return _of_room(report, ahead, thread, 1 - waits, 1 - waits)
    return None


def _consumers(loop: Stage) -> tuple[str, float]:
    """Return who takes most of the time between a loop's elements, and the share."""
    others, mine = elsewhere(loop), loop.busy or 0.0
    return ("other iterators in the same thread", others) if others > mine else ("your loop", mine)


def _consumer(loop: Stage) -> Remedy:
    who, share = _consumers(loop)
    cause = f"Bottleneck: {who} ({share:.0%} of the time)"
    source = f"queue '{loop.name}'" if loop.settings.get("kind") == "queue" else "the dataset"
    waits = loop.waits_in or 0.0
    if (1 - waits) * WORTH < 1:
        most = f"at most {1 / (1 - waits):.1f} times as fast"
        advice = f"It waits {waits:.0%} of the time for {source}, so less waiting makes it {most}"
    else:
        advice = f"{source[0].upper()}{source[1:]} keeps up; change nothing in it"
    return Remedy(loop, "consumer", cause, advice, "consumer", sure=True)


def _filling(report: Report, loop: Stage) -> Remedy | None:
    """Return the remedy if the loop waited for nothing but the filling of a shuffle buffer; else None."""
    first, age = loop.first_s or 0.0, loop.age_s or 0.0
    if _at_work(report, loop):
        return None
    waited = (loop.waits_in or 0.0) * age
    if first < max(SELDOM * age, _FIRST * waited) or report.seconds < 0.9 * age:
        return None
    pool = next((each for each in reversed(report.stages) if each.name.startswith("shuffle(")), None)
    if pool is None:
        return None
    cause = f"Your loop waited {first:.1f} s ({first / max(age, 1e-9):.0%}) until the buffer of `{pool.name}` was full"
    knob = "min_after_dequeue" if "min_after_dequeue" in pool.name else "buffer_size"
    advice = f"A smaller `{knob}` starts sooner and shuffles less"
    return Remedy(pool, "pool", cause, advice, knob, sure=True)


def _at_work(report: Report, stage: Stage) -> bool:
    """Return whether workers before a stage are at work most of the time. No buffer makes them faster."""
    return any(has_workers(each) and (each.busy or 0.0) >= _AT_WORK for each in all_before(report, stage))


def _outside(queue: Stage) -> Remedy:
    waited = f"{queue.waits_in or 0.0:.0%} of the time was spent waiting for it"
    cause = f"Bottleneck: the code that fills queue '{queue.name}': {waited}"
    return Remedy(queue, "queue", cause, "Let more threads fill it", sure=True)
