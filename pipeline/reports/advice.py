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
_SHORT = 20e-6  # seconds: for a shorter call, processes gain at most `OF_SHORT`
OF_SHORT = 1.5
_MOST_AT_ONCE = 4  # largest factor for the number of workers
_MOST = 64  # workers
_NOTICED = 1.15  # a smaller speed-up is not promised as the least one
_EXACT = 3.0  # smaller speed-ups are printed with a decimal
_HALF = 0.5  # processors
_HARDLY = 0.05  # share of the time at work: nothing that computes uses less, even on a busy machine
_MUCH = 50e6  # bytes per second to and from processes: less takes them no noticeable time
_QUICK = 2e-3  # seconds: for shorter calls, pickling their arguments counts
_MUCH_OF_SHORT = 1e6  # bytes per second of such calls
_HANDED_OVER = 1.15  # largest cost of handing over the GIL; `make verdicts` checks it
_AT_ONCE = 1.2  # processors: threads wanting more run at the same time, so without the GIL

_ALL = 0.85  # processors: threads using less are not limited by the GIL
_PART = 0.3  # processors: a function using less does not compute much

COMPUTES, WAITS, UNKNOWN = ", computing", ", waiting for I/O", ""
UNEQUAL = "They wait for the slowest, as examples take unequal time"
UNLESS = ", unless they wait for one lock, disk or server"
MEASURE_AGAIN = "Measure again while they are free."
TOO_SMALL = "The batches are too small for a thread of their own"
ALL_COMPILED = "No step stands out; all are compiled."
LESS_WORK = "To go faster, do less work per example."


class Offer(NamedTuple):
    """A number of workers to try.

    Attributes:
        value: The number.
        knob: The argument to write.
        most, least: The largest and smallest speed-up to promise.
        text: The advice as a sentence.
        either: True if the text has two kinds of workers.
    """

    value: int
    knob: str
    most: float
    least: float
    text: str
    either: bool

    @property
    def advised(self) -> int | None:
        """The number; None if the kind of workers is open."""
        return None if self.either else self.value


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
        return f"{takes}."
    if batches:
        return f"{takes}. To go faster, make larger batches."
    if _reads_csv_lines(report, slow):
        return f"{takes}. Read the columns by `pipeline.csv(path, names=[...])`: its rows are dicts."
    return f"{takes}. {_for_batches(slow)}{OR_PROCESSES if processes else ''}."


OR_PROCESSES = f", or try `workers=pipeline.processes(2)`: up to {OF_SHORT} times as fast"


def _for_batches(slow: Stage) -> str:
    """Return the advice to work on whole batches, without its full stop."""
    if slow.settings.get("call") == "filter":
        return "To go faster, filter whole batches (`.batch(n).map_batches(f).unbatch()`)"
    return "To go faster, write it for a whole batch in NumPy (`.batch(n).map_batches(f)`)"


def _reads_csv_lines(report: Report, slow: Stage) -> bool:
    """Return whether a function gets the lines of a CSV file, most likely to split them."""
    return slow.settings.get("call") != "filter" and any(each.settings.get("csv_lines") for each in report.stages)


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
    short = (slow.busy or 0.0) * slow.threads < _QUICK * slow.rate
    least = (_MUCH_OF_SHORT if short else _MUCH) * (slow.age_s or report.seconds)
    if made_by(slow) == "pipeline.threads" or sent + received < least:
        return f"{UNEQUAL}: if any order will do, pass `ordered=False`."
    if sent > received:
        return "Its inputs take long to send: send less, such as file names, and read in the function."
    return "Its results take long to come back: return less, or smaller dtypes."


def more_workers(
    report: Report,
    slow: Stage,
    now: int,
    work: float,
    share: float,
    limit: float,
    how: str,
    apart: float = 0.0,
) -> Offer:
    """Return the number of workers to keep up, and the speed-up.

    Args:
        report: The run.
        slow: The step.
        now: The current number.
        work: The average number at work.
        share: The number doing the current work.
        limit: Share of the time for everything else; more workers cannot lower it.
        how: COMPUTES, WAITS or UNKNOWN.
        apart: Share of the time in which they cannot work, however many there are.
    """
    value = min(max(now + 1, min(math.ceil(work / limit), _MOST_AT_ONCE * now)), max(now, _MOST))
    kind, wanted = made_by(slow) or "pipeline.threads", (slow.wanted or 0.0) if made_by(slow) else 0.0
    in_threads = kind == "pipeline.threads"
    advice, handed, unless, choice = "Try", 1.0, "", ""
    if how == COMPUTES:
        value = min(value, report.processors)
        if holds_lock(report, kind, wanted):
            if now > 1 and value > 1:
                advice, handed = f"Its {now} threads take turns at Python's lock (GIL). Try", _HANDED_OVER
            elif report.lock is None:
                choice = _either(value)
            kind, in_threads = "pipeline.processes", False
            share = min(share, 1.0)  # only one holds the GIL at a time
    elif how == UNKNOWN and now == 1 and in_threads and report.processors > 1:
        kind, in_threads, value = "pipeline.processes", False, min(value, report.processors)  # it may compute
        choice = _either(value)
    elif how == WAITS:
        unless = UNLESS if now > 1 else ""
        if kind == "pipeline.processes":
            kind, in_threads, unless = "pipeline.threads", True, f"{unless}; threads suffice, as it waits"
    most = min(1 / max(limit, apart + share / value), _room(report, in_threads)) * handed
    knob = f"{kind}({value})" if kind.startswith("pipeline.") and not in_threads else str(value)
    least = 1.0 if unless or choice or how == UNKNOWN else least_of(most)
    if how == COMPUTES:  # two processors may be one core
        least = min(least, max(1.0, 1 / max(limit, apart + 2 * share / value)))
    text = f"{advice} {choice or f'`workers={knob}`'}{between(least, most)}{unless}."
    return Offer(value, knob, most, least, text, bool(choice))


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
    if _contend(report, slow):
        return COMPUTES
    if holds_lock(report, made_by(slow), slow.wanted):
        at_work = min(at_work, 1.0)  # the others wait for the GIL
    if (slow.cpu or 0.0) > MOSTLY * report.processors and slow.wanted > MOSTLY * at_work:  # they wait for each other
        return COMPUTES
    cpu = slow.cpu or 0.0
    does = activity(cpu, slow.wanted, at_work)
    return UNKNOWN if does == WAITS and cpu > _HARDLY * at_work and delayed(slow) > _HALF else does


def _contend(report: Report, slow: Stage) -> bool:
    """Return whether threads compute, and share the GIL with the loop and read-ahead threads."""
    used = sum(each.cpu or 0.0 for each in report.stages if made_by(each) in ("", "pipeline.threads"))
    turns = holds_lock(report, made_by(slow), slow.wanted or 0.0) and slow.threads > 1
    return turns and _ALL <= used <= _AT_ONCE and (slow.cpu or 0.0) > _PART


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
