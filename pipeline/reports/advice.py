"""Advice: how many workers to try, the speed-up to expect, and how to say it."""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.reports.model import Stage
from pipeline.reports.report import Report
from pipeline.reports.words import unit

WORTH = 1.1  # speed-up below which nothing is advised
LEAST = 0.75  # part of the possible speed-up to promise; `make verdicts` checks it
MOSTLY = 0.5  # share of the time
HOGGED = 0.7  # share of the time with the GIL held by some thread

_TRIFLE = 10e-6  # seconds: handing a shorter call to a worker costs about as much as the call
_SHORT = 20e-6  # seconds: for a shorter call, processes gain at most `_OF_SHORT`
_OF_SHORT = 1.5
_MOST_AT_ONCE = 4  # largest factor for the number of workers
_MOST = 64  # workers
_NOTICED = 1.15  # a smaller speed-up is not promised as the least one
_EXACT = 3.0  # smaller speed-ups are printed with a decimal
_HALF = 0.5  # processors
_HARDLY = 0.05  # share of the time at work: nothing that computes uses less, even on a busy machine
_MUCH = 50e6  # bytes per second to and from processes: less takes them no noticeable time
_HANDED_OVER = 1.15  # largest cost of handing over the GIL; `make verdicts` checks it
_AT_ONCE = 1.2  # processors: threads wanting more run at the same time, so without the GIL

COMPUTES, WAITS, UNKNOWN = ", computing", ", waiting for I/O", ""
UNEQUAL = "They wait for the slowest, as examples take unequal time"
UNLESS = ", unless they wait for one lock, disk or server"
MEASURE_AGAIN = "Measure again while they are free."
LESS_WORK = "To go faster, do less work per example."


class Offer(NamedTuple):
    """A number of workers to try.

    Attributes:
        value: The number.
        knob: The argument to write.
        most: The largest possible speed-up.
        gain, least: The largest and smallest speed-up to promise; None if it is unknown whether the function computes.
        text: The advice as a sentence.
    """

    value: int
    knob: str
    most: float
    gain: float | None
    least: float | None
    text: str


def of_files(slow: Stage, how: str) -> str:
    """Return the advice for a source that reads files."""
    if how == WAITS:
        return "Faster storage or a local copy of its files would help."
    if slow.settings.get("source") == "csv":
        return "Read fewer columns (`columns=`), or convert the files to Parquet."
    return "It would help to read less, such as fewer columns, or another file format."


def too_brief(report: Report, slow: Stage, share: float) -> str:
    """Return the advice if calls are too short for workers; "" for longer calls and for other steps.

    Args:
        report: The run.
        slow: The function or source.
        share: Share of the time in its calls.
    """
    inputs = report.before(slow) or [slow]  # a filter is called more often than it returns
    calls = sum(each.rate for each in inputs)
    batches, at_work = unit(inputs[0]) == "batches", slow.settings.get("in_workers")
    limit = _TRIFLE if at_work else _SHORT
    if slow.kind not in ("function", "source") or not calls or share >= limit * calls:
        return ""
    takes = f"It takes about {figure(max(0.1, 1e6 * share / calls))} µs {'a batch' if batches else 'an example'}"
    processes = slow.kind == "function" and not batches and share >= _TRIFLE * calls and report.processors > 1
    if not (at_work or processes):
        takes += ", too short for workers"
    if slow.kind == "source":
        return f"{takes}. {LESS_WORK}"
    if batches:
        return f"{takes}. To go faster, make larger batches."
    return f"{takes}. {_for_batches(report, slow)}{_OR_PROCESSES if processes else ''}."


_OR_PROCESSES = f", or try `workers=pipeline.processes(2)`: up to {_OF_SHORT} times as fast"


def _for_batches(report: Report, slow: Stage) -> str:
    """Return the advice to work on whole batches, without its full stop."""
    if slow.settings.get("call") == "filter":
        return "To go faster, filter whole batches (`.batch(n).map_batches(f).unbatch()`)"
    if any(each.kind == "source" and each.name.split()[0] == "text" for each in report.stages):
        csv = ", or read the columns by `pipeline.csv(path, names=[...])`, whose rows are dicts"
    else:
        csv = ""
    return f"To go faster, write it for a whole batch in NumPy (`.batch(n).map_batches(f)`){csv}"


def delayed(stage: Stage) -> float:
    """Return the number of processors for which a stage waited; 0 if unknown."""
    return (stage.wanted or 0.0) - (stage.cpu or 0.0)


def why_no_more(report: Report, how: str) -> str:
    """Return a sentence on why more workers gain nothing; "" if at least half a processor is free."""
    if how != COMPUTES and (report.lock or 0.0) > HOGGED:
        return f"The GIL is held {report.lock:.0%} of the time. "
    number, known = report.processors, [stage.cpu for stage in report.stages if stage.cpu is not None]
    if known and number - sum(known) >= _HALF:
        return ""
    return f"{'The only processor is' if number == 1 else f'All {number} processors are'} used. "


def why_idle(report: Report, slow: Stage) -> str:
    """Return the advice if a thread waits for workers although they are mostly idle."""
    sent, received = slow.settings.get("moved", (0, 0))
    if made_by(slow) == "pipeline.threads" or sent + received < _MUCH * (slow.age_s or report.seconds):
        return f"{UNEQUAL}: if any order will do, pass `ordered=False`."
    if sent > received:
        return "Its inputs take long to send: send less, such as file names, and read in the function."
    return "Its results take long to come back: return less, or smaller dtypes."


def more_workers(
    report: Report,
    now: int,
    work: float,
    share: float,
    limit: float,
    how: str,
    made_by: str = "pipeline.threads",
    wanted: float = 0.0,
) -> Offer:
    """Return the number of workers to keep up, and the speed-up.

    Args:
        report: The run.
        now: The current number.
        work: The average number at work.
        share: The number doing the current work.
        limit: Share of the time for everything else; more workers cannot lower it.
        how: COMPUTES, WAITS or UNKNOWN.
        made_by: Their factory, such as "pipeline.threads".
        wanted: The processors that they used or waited for.
    """
    value = min(max(now + 1, min(math.ceil(work / limit), _MOST_AT_ONCE * now)), max(now, _MOST))
    in_threads = made_by == "pipeline.threads"
    advice, handed, unless, either = "Try", 1.0, "", ""
    if how == COMPUTES:
        value = min(value, report.processors)
        if holds_lock(report, made_by, wanted):
            if now > 1 and value > 1:
                advice, handed = f"Its {now} threads take turns at Python's lock (GIL). Try", _HANDED_OVER
            elif report.lock is None:
                either = _either(value)
            made_by, in_threads = "pipeline.processes", False
            share = min(share, 1.0)  # only one holds the GIL at a time
    elif how == UNKNOWN and now == 1 and in_threads and report.processors > 1:
        made_by, in_threads, value = "pipeline.processes", False, min(value, report.processors)  # it may compute
        either = _either(value)
    elif how == WAITS:
        unless = UNLESS if now > 1 else ""
        if made_by == "pipeline.processes":
            made_by, in_threads, unless = "pipeline.threads", True, f"{unless}; threads suffice, as it waits"
    most = min(1 / max(limit, share / value), _room(report, in_threads)) * handed
    knob = f"{made_by}({value})" if made_by.startswith("pipeline.") and not in_threads else str(value)
    either = either or f"`workers={knob}`"
    if how == UNKNOWN:
        return Offer(value, knob, most, None, None, f"Try {either}{between(1.0, most)}.")
    least = 1.0 if unless else least_of(most)
    if how == COMPUTES:  # two processors may be one core
        least = min(least, max(1.0, 1 / max(limit, 2 * share / value)))
    return Offer(value, knob, most, most, least, f"{advice} {either}{between(least, most)}{unless}.")


def _either(value: int) -> str:
    """Return both kinds of workers, if it is unknown whether the function holds the GIL."""
    return f"`workers={value}` if it releases the GIL (NumPy, images), else `workers=pipeline.processes({value})`"


def _room(report: Report, in_threads: bool) -> float:
    """Return the largest speed-up with the free processors, and for threads with the GIL."""
    used = sum(stage.cpu or 0.0 for stage in report.stages)
    lock = (report.lock or 0.0) if in_threads else 0.0
    return min(report.processors / max(used, 1e-3), 1 / max(lock, 1e-3))


def holds_lock(report: Report, made_by: str, wanted: float) -> bool:
    """Return whether a computing function holds the GIL, in threads or in the caller.

    Args:
        report: The run.
        made_by: The factory for its workers.
        wanted: The processors that they used or waited for.
    """
    held = wanted < _AT_ONCE if report.lock is None else report.lock > HOGGED
    return made_by == "pipeline.threads" and held


def taken(part: Stage) -> float:
    """Return a step's share of its thread's time; for workers, the thread's waiting time."""
    return float(part.settings.get("taken", 0.0))


def made_by(part: Stage) -> str:
    """Return the factory for a step's workers; "" without workers."""
    return str(part.settings.get("made_by", ""))


def how_workers(report: Report, slow: Stage) -> str:
    """Return whether a step's workers compute."""
    if slow.wanted is None or not slow.busy:
        return UNKNOWN
    at_work = slow.busy * slow.threads
    if holds_lock(report, made_by(slow), slow.wanted):
        at_work = min(at_work, 1.0)  # the others wait for the GIL
    if (slow.cpu or 0.0) > MOSTLY * report.processors and slow.wanted > MOSTLY * at_work:  # they wait for each other
        return COMPUTES
    return activity(slow.cpu or 0.0, slow.wanted, at_work)


def activity(cpu: float, wanted: float, work: float) -> str:
    """Return whether a step computes; a wait for a processor may belong to its work or to its end.

    Args:
        cpu: Processors used.
        wanted: The processors that it used or waited for.
        work: Share of the time at work, summed over its threads.
    """
    if cpu > MOSTLY * work:
        return COMPUTES
    return WAITS if wanted < MOSTLY * work or cpu < _HARDLY * work else UNKNOWN


def least_of(gain: float) -> float:
    """Return the smallest speed-up to expect if the largest is `gain`."""
    return max(1.0, LEAST * gain)


def between(least: float, most: float) -> str:
    """Return a range of speed-ups in words; "" if it is not worth a change."""
    if most <= WORTH:
        return ""
    low, high = figure(least), figure(most)
    if least < _NOTICED and low != high:
        return f": up to {high} times as fast"
    return f": {low} to {high} times as fast" if low != high else f": about {high} times as fast"


def figure(times: float) -> str:
    """Return a number for people."""
    return f"{times:.1f}".removesuffix(".0") if times < _EXACT else f"{times:.0f}"
