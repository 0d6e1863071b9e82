"""What helps a stage that works while others wait for it: more threads, processes, blocks, or nothing but less work."""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.watch.model import Report, Stage

SELDOM = 0.2  # a share of the time
MOSTLY = 0.5  # a share of the time
HOGGED = 0.7  # of the time somebody holds the interpreter's lock
MANY = 100
MOST_AT_ONCE = 4  # times as many threads or workers as now are proposed at most
LOCKED_MOST = 1.2  # processors that threads which share the interpreter's lock can keep busy
ALL_BUSY = 0.75  # a share of the processors
CROWD = 2  # times as many threads that want a processor as there are processors
PROCESSES_LOSE = 0.95  # what is left of the gain after examples went from process to process
SINGLE = 10e-6  # seconds of work for an example below which the way of one example through the queue costs more
BLOCKS_GAIN = 10.0  # what blocks gain at least, where that is so


class Remedy(NamedTuple):
    """What is wrong with a stage, and what helps; as in `Verdict`."""

    stage: Stage
    kind: str
    knob: str | None
    value: int | None
    gain: float | None
    text: str


def at_work(report: Report, function: Stage, waited: float, loop: Stage | None) -> Remedy:
    """What helps a function whose threads are at work all the time.

    Args:
        report: The run.
        function: The stage.
        waited: The share of their time that those who take from it wait for it.
        loop: The loop that takes from its queue; None if other threads do.
    """
    threads, busy, wanted = max(1, function.threads), function.busy or 0.0, function.wanted
    takes = f"{function.name} takes {busy:.0%} of the time of {_counted(threads, 'thread')}"
    most = 1 / max(1 - waited, 1e-3)
    if wanted is None:
        text = f"{takes}. Whether more threads help, only `with pipeline.monitor():` can tell."
        return Remedy(function, "function", _knob(loop), None, None, text)
    locked = _hogged(report, function) and wanted <= CROWD * report.processors
    hasty = one_by_one(function, loop)
    if loop is not None and (locked or hasty):
        most = _beside_the_lock(waited, loop)
    if hasty:
        gain = min(most, BLOCKS_GAIN)
        text = (
            f"{function.name} gives {function.rate:,.0f} examples/s, one by one: blocks of some hundred rows, with "
            f"enqueue_many=True, would cost hardly more than one row now{times(gain)}."
        )
        return Remedy(function, "singles", "enqueue_many", None, gain, text)
    if not locked and wanted <= report.processors and _computing_share(function) < MOSTLY:
        return _waiting(function, takes, most, loop)
    if locked:
        return _processes(report, function, takes, most)
    return _computing(report, function, takes, most, loop)


def _processes(report: Report, stage: Stage, takes: str, most: float) -> Remedy:
    """The threads of a stage hold the interpreter's lock by turns."""
    value = report.processors
    gain = min(most, max(1.0, PROCESSES_LOSE * value))
    text = (
        f"{takes} and holds the interpreter's lock: more threads will not help, "
        f"processes will, with function= and workers=pipeline.processes({value}){times(gain)}."
    )
    return Remedy(stage, "locked", "processes", value, gain, text)


def in_loop(function: Stage, loop: Stage) -> Remedy:
    """What helps a loop that calls its function itself, without threads."""
    share = function.busy or 0.0
    takes = f"{function.name} takes {share:.0%} of the time of the loop '{loop.name}', which calls it itself"
    if share < SELDOM:
        gain = 1 / max(share, 1e-3)
        text = f"The consumer of '{loop.name}' is the bottleneck: {takes}. If it took no time, batches would come"
        return Remedy(loop, "consumer", "consumer", None, gain, f"{text}{times(gain, '') or ' as fast'}.")
    gain = 1 / max(share, 1 - share)
    more = "" if gain > 1.05 else ", more threads if it waits for something or releases the interpreter's lock"
    text = f"{takes}: num_threads=1 would call it meanwhile{more}{times(gain, ', at most')}."
    return Remedy(function, "inline", "num_threads", 1, gain, text)


def crowded(report: Report, function: Stage) -> bool:
    """Whether threads of this function keep all processors busy, and many more of them are at work than there are."""
    at_work = function.threads * (function.busy or 0.0)
    return (function.wanted or 0.0) > ALL_BUSY * report.processors and at_work > CROWD * report.processors


def _computing_share(function: Stage) -> float:
    """The share of their time at work that the threads compute, leaving out what they wait for a processor."""
    cpu, waits = function.cpu or 0.0, (function.wanted or 0.0) - (function.cpu or 0.0)
    return cpu / max((function.busy or 0.0) * function.threads - waits, cpu, 1e-3)


def one_by_one(function: Stage, loop: Stage | None) -> bool:
    """Whether the threads spend their time on handing over one example after the other."""
    if loop is None or loop.settings.get("enqueue_many") or not function.rate or function.wanted is None:
        return False
    sources = function.doing.get("results", 0.0) + function.doing.get("reading", 0.0)
    return sources < MOSTLY and MOSTLY * (function.busy or 0.0) < function.wanted < SINGLE * function.rate


def _waiting(function: Stage, takes: str, most: float, loop: Stage | None) -> Remedy:
    """The function waits for something that is no queue and no processor."""
    value = _more(function.threads, most)
    gain = min(most, value / max(1, function.threads))
    outside = f"{takes} and waits for something outside, not for a processor"
    if loop is not None and loop.settings.get("in_turns"):
        gain = min(most, float(max(function.threads, 2)))
        text = f"{outside}; it is an iterator, which gives one example at a time. A function could be called by more"
        return Remedy(function, "turns", "function", None, gain, f"{text} threads{times(gain)}.")
    text = f"{outside}: {_knob(loop)}={value}{times(gain)}."
    return Remedy(function, "waiting", _knob(loop), value, gain, text)


def _computing(report: Report, function: Stage, takes: str, most: float, loop: Stage | None) -> Remedy:
    """The function computes without the interpreter's lock."""
    used, now = _used(report), function.threads
    if used > ALL_BUSY * report.processors:
        busy = f"{takes}, and all {report.processors} processors are busy"
        if now > CROWD * report.processors:
            text = f"{busy}: num_threads={report.processors} would do as well, with less memory."
            return Remedy(function, "crowded", _knob(loop), report.processors, 1.0, text)
        return Remedy(function, "processors", "function", None, 1.0, f"{busy}: only less work for each example helps.")
    value = max(now + 1, math.ceil(now * report.processors / max(used, 1e-3)))
    # At least the share of the time with the lock stays as it is.
    gain = min(most, report.processors / max(used, 1e-3), value / now, 1 / max(report.lock or 0.0, 1e-3))
    text = f"{takes} and leaves the interpreter's lock to others: {_knob(loop)}={value}{times(gain)}."
    return Remedy(function, "computing", _knob(loop), value, gain, text)


def executor(report: Report, workers: Stage, waited: float, loop: Stage | None) -> Remedy:
    """What helps an executor whose results are waited for; `waited` and `loop` as for `at_work`."""
    now, ahead, processes = workers.threads or 1, workers.settings["buffersize"], workers.settings["processes"]
    wanted, most = workers.wanted or 0.0, 1 / max(1 - waited, 1e-3)
    if not processes and MOSTLY < wanted <= CROWD * report.processors and _hogged(report, workers):
        if loop is not None:
            most = _beside_the_lock(waited, loop)
        return _processes(report, workers, f"{workers.name} computes in {_counted(now, 'thread')}", most)
    name = f"The executor of {workers.name}"
    if ahead < now:
        gain = min(most, now / ahead)
        text = f"{name} has {now} workers and gets {ahead} chunks at a time: buffersize={2 * now}{times(gain)}."
        return Remedy(workers, "buffersize", "buffersize", 2 * now, gain, text)
    used, value = _used(report), _more(now, most)
    if wanted > MOSTLY * now:
        if used > ALL_BUSY * report.processors:
            text = f"{name} keeps all {report.processors} processors busy: only less work for each item helps."
            return Remedy(workers, "processors", "function", None, 1.0, text)
        value = max(now + 1, math.ceil(now * report.processors / used))
        most = min(most, report.processors / used)
    gain = min(most, value / now)
    its = f"its {now} workers are" if now > 1 else "its only worker is"
    knob = f"workers={workers.settings['made_by']}({value})"
    text = f"{name} is the bottleneck, {its} waited for: {knob} would do more at once{times(gain)}."
    return Remedy(workers, "workers", "workers", value, gain, text)


def _hogged(report: Report, stage: Stage) -> bool:
    """Whether the lock is held nearly always, and the threads of a stage get no further than one of them would."""
    return (report.lock or 0.0) > HOGGED and (stage.cpu or 0.0) < LOCKED_MOST


def _beside_the_lock(waited: float, loop: Stage) -> float:
    """The most to gain before a loop; that its consumer waits for the lock looks like work of the consumer."""
    return 1 / max(min(1 - waited, loop.cpu or 1.0), 1e-3)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}s" if number > 1 else f"{number} {what}"


def _used(report: Report) -> float:
    """How many processors the stages want."""
    return sum(stage.wanted or 0.0 for stage in report.stages)


def _more(now: int, most: float) -> int:
    """How many threads would keep up with what takes from them."""
    now = max(1, now)
    return max(now + 1, min(math.ceil(now * most), MOST_AT_ONCE * now))


def _knob(loop: Stage | None) -> str:
    """What the number of threads is called."""
    if loop is None:
        return "enqueue_ops"
    return "sources" if loop.settings.get("num_threads") is None else "num_threads"


def times(gain: float, before: str = ",") -> str:
    """Return a gain as the end of a sentence; nothing if it is none."""
    if gain > MANY:  # no figure that anybody could hold us to
        return f"{before} more than {MANY} times as fast"
    return f"{before} about {gain:.1f} times as fast" if gain > 1.05 else ""
