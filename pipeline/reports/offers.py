"""Offers: how many workers to try, and the speed-up to expect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.reports.facts import (
    ALL,
    COMPUTES,
    UNKNOWN,
    WAITS,
    has_workers,
    holds_gil,
    made_by,
    shared,
    used_meanwhile,
)
from pipeline.reports.model import Stage
from pipeline.reports.report import Report

FEW = 100  # Python objects per example, made and sent in no noticeable time
WORTH = 1.1  # speed-up below which nothing is advised
_LITTLE = 1.05  # speed-up below which none is printed
LEAST = 0.75  # part of the possible speed-up to promise; `make verdicts` checks it
_MOST_AT_ONCE = 4  # largest factor for the number of workers
_ENOUGH = 2  # a larger number by up to this factor is advised at once if no more are needed
_MOST = 64  # workers
_NOTICED = 1.15  # a smaller speed-up is not promised as the least one
_EXACT = 3.0  # smaller speed-ups are printed with a decimal
_SEND = 0.3e-6  # seconds to send an object, such as a string, and to take it out again
_TURN = 5e-3  # seconds a thread keeps the GIL while others want it
_COPY = 0.1e-9  # seconds to take a byte of a large result out of shared memory

_OR_THREADS = " (`workers={}` may do for NumPy and images)"


class Offer(NamedTuple):
    """A number of workers to try.

    Attributes:
        value: The number.
        argument: The value to write for `workers=`.
        most, least: The largest and smallest speed-up to promise.
        note: As in `Remedy`.
        turns: True if the current threads take turns at the GIL.
    """

    value: int
    argument: str
    most: float
    least: float
    note: str
    turns: bool


def between(least: float, most: float) -> str:
    """Return a range of speed-ups in words; "" if it is not worth a change."""
    if most <= _LITTLE:
        return ""
    low, high = figure(least), figure(most)
    if least < _NOTICED and low != high:
        return f": up to {high} times as fast"
    return f": {low} to {high} times as fast" if low != high else f": about {high} times as fast"


def figure(times: float) -> str:
    """Return a number for people."""
    return f"{times:.1f}".removesuffix(".0") if times < _EXACT else f"{times:.0f}"


def more_workers(
    report: Report, slow: Stage, now: int, work: float, epochs: Sequence[tuple[float, float]], how: str
) -> Offer:
    """Return the number of workers to keep up, and the speed-up.

    Args:
        report: The run.
        slow: The step.
        now: The current number.
        work: The average number at work.
        epochs: Per kind of epoch, the number doing the current work, and the share of the time for everything else;
            more workers cannot lower that one.
        how: COMPUTES, WAITS or UNKNOWN.
    """
    share = whole = max(sum(each for each, _ in epochs), 1e-3)
    enough = min(math.ceil(max(work / whole * each / max(others, 1e-3) for each, others in epochs)), _MOST)
    at_once = _MOST_AT_ONCE * now
    value = max(now + 1 if now < _MOST else now, enough if enough <= _ENOUGH * at_once else at_once)
    kind, used = made_by(slow) or "pipeline.threads", used_meanwhile(report, slow, slow) if made_by(slow) else 0.0
    threads, note, turns, risky = kind == "pipeline.threads", "", False, how == UNKNOWN
    one = 1.0  # processors used by workers of which one at a time computes
    if how == COMPUTES:
        value = min(value, report.processors)
        if holds_gil(report, kind, used):
            turns = now > 1
            risky = now == 1 and report.lock is None
            note = _OR_THREADS.format(value) if risky else ""
            one = max(ALL, min(used, 1.0)) if turns else one  # none computes while the GIL changes hands
            kind, threads, share = "pipeline.processes", False, min(share, one)
    elif how == UNKNOWN and now == 1 and threads and report.processors > 1:  # it may compute
        kind, threads, value = "pipeline.processes", False, min(value, report.processors)
        note = _OR_THREADS.format(value)
    elif how == WAITS:
        risky = now > 1
        note = f", unless {'they wait' if risky else 'it waits'} for one lock, disk or server"
        if not risky and enough > value:
            note += f"; if it helps, try {min(enough, _MOST_AT_ONCE * value)} next"
        if kind == "pipeline.processes":
            kind, threads, note = "pipeline.threads", True, f"{note}; threads suffice, as it waits"
    sent = 0.0 if threads else sending(report, slow)

    def left(at_once: float) -> float:
        """Return the time left with the work of so many at once."""
        return sum(max(others + sent * each / whole, share / whole * each / at_once) for each, others in epochs)

    most, times = min(1 / left(value), _room(report, threads)), value / max(share, one)
    if how != WAITS:  # else other steps run while it waits, so it may gain more than the number of workers
        most = min(most, times)
    least = 1.0 if risky else max(1.0, LEAST * min(most, times))
    if how == COMPUTES:  # two processors may be one core
        least = min(least, max(1.0, 1 / left(value / 2)))
    if how == WAITS and threads and work < _TURN * slow.rate:  # short calls do not end while others hold the GIL
        held = min(shared(report, slow), 1.0)
        least = min(least, max(1.0, 1 / (held + min(share, 1 - held) / value)))
    if value <= now and kind == made_by(slow):  # as it is
        most = least = 1.0
    argument = f"{kind}({value})" if kind.startswith("pipeline.") and not threads else str(value)
    return Offer(value, argument, most, least, note, turns)


def sending(report: Report, slow: Stage) -> float:
    """Return the share of the time to send objects to and from processes; 0 for steps with workers."""
    if has_workers(slow):
        return 0.0
    before = sum(int(each.settings.get("objects", 0)) for each in report.before(slow))
    objects = max(0, before + int(slow.settings.get("objects", 0)) - FEW)
    return slow.rate * (_SEND * objects + _COPY * int(slow.settings.get("bytes", 0)))


def _room(report: Report, in_threads: bool) -> float:
    """Return the largest speed-up with the free processors, and for threads with the GIL."""
    used = sum(stage.cpu or 0.0 for stage in report.stages)
    lock = (report.lock or 0.0) if in_threads else 0.0
    return min(report.processors / max(used, 1e-3), 1 / max(lock, 1e-3))
