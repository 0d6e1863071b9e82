"""Facts behind a verdict: the threads of a run, how busy its steps are, and whether they compute or wait."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.reports.model import Stage
from pipeline.reports.report import Report
from pipeline.reports.words import unit

MOSTLY = 0.5  # share of the time
ALWAYS = 0.9  # share of the time: a step is the bottleneck wherever it is
HOGGED = 0.7  # share of the time with the GIL held by some thread
ALL = 0.85  # processors: threads using less are not limited by the GIL

_SOMETIMES = 0.1  # share of the time
_HALF = 0.5  # processors
_HARDLY = 0.05  # share of the time at work: nothing that computes uses less, even on a busy machine
_AT_ONCE = 1.2  # processors: threads using more run at the same time, so without the GIL
_PART = 0.3  # processors: a function using less does not compute much

_IN_THREADS = "", "pipeline.threads"  # factories for workers that share the GIL; "" for no workers

COMPUTES, WAITS, UNKNOWN = ", computing", ", waiting for I/O", ""

OF_USERS = ("iterable", "callable", "stateful", "sequence")  # kinds of sources written by users


class Thread(NamedTuple):
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

    @property
    def own(self) -> float:
        """Share of the time in its steps."""
        return sum(map(taken, self.parts))

    @property
    def compiled(self) -> bool:
        """True if it runs nothing but this library's steps."""
        return not any(calls(each) or (each.kind == "source" and can_move(each)) for each in self.parts)

    @property
    def reads_files(self) -> bool:
        """True if one of its sources reads files."""
        return any(each.settings.get("reads_files") for each in self.parts)

    def step(self, call: str) -> Stage | None:
        """Return a step made by this method, such as "batch"; None without one."""
        return next((each for each in self.parts if each.settings.get("call") == call), None)


def thread_behind(report: Report, owner: Stage, busy: float) -> Thread:
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
    return Thread(owner, parts, inputs, busy, owner.wanted)


def all_before(report: Report, stage: Stage) -> list[Stage]:
    """Return all stages before one."""
    found: list[Stage] = []
    left = report.before(stage)
    while left:
        each = left.pop()
        if each not in found:
            found.append(each)
            left += report.before(each)
    return found


def always_busy(report: Report, loop: Stage) -> Stage | None:
    """Return the busiest stage before a loop if it is always at work; None without one.

    Threads that hold the GIL most of the time are, too: they idle only while others wait for it.
    """
    before = all_before(report, loop)
    busiest = max(before, key=lambda each: each.busy or 0.0, default=None)
    if busiest is not None and (busiest.busy or 0.0) >= ALWAYS:
        return busiest
    return next((each for each in before if take_turns(report, each) and (each.cpu or 0.0) > MOSTLY), None)


def keeps_gil(report: Report, busiest: Stage | None, loop: Stage) -> Stage | None:
    """Return the step, in a thread that is always at work, for whose GIL a loop that seldom waits may wait instead.

    Their threads together use about one processor; a loop of a queue program has no clock.
    """
    found = [] if busiest is None else [(busiest, busiest.cpu)]
    for ahead in all_before(report, loop):
        thread = thread_behind(report, ahead, 1.0)
        if ahead.tank is not None and thread.own >= ALWAYS:
            found.append((max(thread.parts, key=taken), ahead.cpu))
    for slow, cpu in found:
        alone = ALL < (cpu or 0.0) <= _AT_ONCE - (loop.cpu or 0.0)
        if (
            (calls(slow) or can_move(slow))
            and alone
            and holds_gil(report, made_by(slow) or "pipeline.threads", cpu or 0.0)
        ):
            return slow
    return None


def never_waits(ahead: Stage) -> bool:
    """Return whether a read-ahead thread is always at work, and another one waits for it."""
    return ahead.kind == "step" and (ahead.waits_in or 0.0) > _SOMETIMES and 1 - (ahead.waits_out or 0.0) >= ALWAYS


def elsewhere(loop: Stage) -> float:
    """Return the share of the time that a loop's thread spent in `next` of other iterators."""
    return 0.0 if loop.busy is None else max(0.0, 1 - (loop.waits_in or 0.0) - loop.busy)


def needed(thread: Thread, behind: float, consumer: float, slow: Stage | None = None) -> float:
    """Return the share of the time needed by the busiest of this thread, its workers and `behind`; without `slow`."""
    others = [each for each in thread.parts if each is not slow]
    workers = [each.busy or 0.0 for each in others if has_workers(each)]
    serial = sum(taken(each) for each in others if not has_workers(each))
    return max(serial + (consumer if thread.first else 0.0), behind, 1e-3, *workers)


def by_epoch(report: Report, slow: Stage, share: float, others: float) -> list[tuple[float, float]]:
    """Return the shares of the time of a step and of others, in epochs that fill a cache and in those that read it.

    Args:
        report: The run.
        slow: The step, or the loop.
        share: Its share, over all epochs.
        others: The others' share.
    """
    first, filling = _filling(report)
    if not filling:
        return [(share, others)]
    before = [each for each in filling if each is not slow]
    serial = min(sum(taken(each) for each in before if not has_workers(each)), others)
    later = (1 - first) * (others - serial)
    at_first = max(others - later, *(each.busy or 0.0 for each in before if has_workers(each)), 0.0)
    part = first if len(before) == len(filling) else 1.0
    return [(part * share, at_first), ((1 - part) * share, later)]


def _filling(report: Report) -> tuple[float, list[Stage]]:
    """Return the part of a cache's elements that filled it, and the stages before it; none without later epochs."""
    cache = next((each for each in report.stages if each.settings.get("call") == "cache"), None)
    filled = 0 if cache is None else sum(each.elements for each in report.before(cache))
    if cache is None or not 0 < filled < cache.elements:
        return 1.0, []
    return filled / cache.elements, all_before(report, cache)


def used_meanwhile(report: Report, slow: Stage, stage: Stage) -> float:
    """Return the processors used by a stage while the slow step works.

    Workers before a cache work in the epochs that fill it, and are always busy there. Threads that take turns at the
    GIL may be idle, too, so that these epochs last for an unknown time.
    """
    first, filling = _filling(report)
    cpu = stage.cpu or 0.0
    if slow not in filling or not slow.busy or (slow.wanted or 0.0) < ALL * slow.busy * slow.threads:
        return cpu
    return cpu * (1.0 if stage in filling else first) / slow.busy


# One step


def taken(part: Stage) -> float:
    """Return a step's share of its thread's time; for workers, the thread's waiting time."""
    return float(part.settings.get("taken", 0.0))


def has_workers(part: Stage) -> bool:
    """Return whether workers run a step."""
    return bool(part.settings.get("in_workers"))


def made_by(part: Stage) -> str:
    """Return the factory for a step's workers; "" without workers."""
    return str(part.settings.get("made_by", ""))


def calls(part: Stage) -> bool:
    """Return whether a step calls functions of the user."""
    return part.kind == "function" or bool(part.settings.get("functions"))


def can_move(part: Stage) -> bool:
    """Return whether workers can do a source's work."""
    return bool(part.settings.get("takes_workers")) or part.settings.get("source") in OF_USERS


def delayed(stage: Stage) -> float:
    """Return the number of processors for which a stage waited; 0 if unknown."""
    return (stage.wanted or 0.0) - (stage.cpu or 0.0)


def called(report: Report, part: Stage) -> tuple[float, bool]:
    """Return how often a step's function is called per second, and whether with batches.

    A filter is called more often than it returns.
    """
    inputs = report.before(part) or [part]
    return sum(each.rate for each in inputs), unit(inputs[0]) == "batches"


# Computing or waiting


def does_serially(report: Report, slow: Stage, thread: Thread, consumer: float) -> str:
    """Return whether a step without workers computes. Its thread's CPU time may belong to other steps, too.

    A thread that seems to wait for I/O may wait for the GIL if others hold it most of the time.
    """
    if thread.wanted is None:
        return UNKNOWN
    does = _activity(computing(slow, thread, consumer), thread.wanted, taken(slow))
    unsure = (report.lock or 0.0) > HOGGED or (slow.kind == "step" and not calls(slow))
    return UNKNOWN if does == WAITS and unsure else does


def computing(slow: Stage, thread: Thread, consumer: float) -> float:
    """Return the processors that a step without workers uses at least: the other steps may not compute."""
    others = consumer + max(thread.busy - taken(slow), 0.0)
    return (thread.owner.cpu or 0.0) - others


def does_in_workers(report: Report, slow: Stage) -> str:
    """Return whether a step's workers compute."""
    if slow.wanted is None or not slow.busy:
        return UNKNOWN
    at_work, cpu = slow.busy * slow.threads, slow.cpu or 0.0
    if take_turns(report, slow):
        return COMPUTES
    if holds_gil(report, made_by(slow), used_meanwhile(report, slow, slow)):
        at_work = min(at_work, 1.0)  # the others wait for the GIL
    if cpu > MOSTLY * report.processors and slow.wanted > MOSTLY * at_work:  # they wait for each other
        return COMPUTES
    does = _activity(cpu, slow.wanted, at_work)
    unsure = (report.lock or 0.0) > HOGGED or (cpu > _HARDLY * at_work and delayed(slow) > _HALF)
    return UNKNOWN if does == WAITS and unsure else does


def holds_gil(report: Report, factory: str, cpu: float) -> bool:
    """Return whether a computing function holds the GIL, in threads or in the caller.

    Waits for a processor do not count: a thread that waits for the GIL wakes up again and again.

    Args:
        report: The run.
        factory: The factory for its workers.
        cpu: The processors that they used.
    """
    held = cpu < _AT_ONCE if report.lock is None else report.lock > HOGGED
    return factory == "pipeline.threads" and held


def shared(report: Report, slow: Stage) -> float:
    """Return the processors used by other threads, which may hold the GIL meanwhile."""
    return sum(each.cpu or 0.0 for each in report.stages if each is not slow and made_by(each) in _IN_THREADS)


def take_turns(report: Report, slow: Stage) -> bool:
    """Return whether threads compute, and wait for the GIL, which they share with the loop and read-ahead threads.

    All together then use one processor, and these are at work for longer than they ran or waited for a processor.
    """
    sharing = [each for each in report.stages if made_by(each) in _IN_THREADS]
    return (
        slow.threads > 1
        and sum(each.wanted or 0.0 for each in sharing) >= ALL
        and sum(used_meanwhile(report, slow, each) for each in sharing) <= _AT_ONCE
        and holds_gil(report, made_by(slow), used_meanwhile(report, slow, slow))
        and (slow.cpu or 0.0) > _PART
        and (slow.busy or 0.0) * slow.threads - (slow.wanted or 0.0) > _SOMETIMES
    )


def _activity(cpu: float, wanted: float, work: float) -> str:
    """Return whether a step computes; a wait for a processor may belong to its work or to its end.

    Args:
        cpu: Processors used.
        wanted: The processors that it used or waited for.
        work: Share of the time at work, summed over its threads.
    """
    if cpu > MOSTLY * work:
        return COMPUTES
    return WAITS if wanted < MOSTLY * work or cpu < _HARDLY * work else UNKNOWN
