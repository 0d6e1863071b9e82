"""Advice for the threads of a queue runner, or of a batch function: more of them, where the user wrote their number."""

from __future__ import annotations

from pipeline.diagnostics.wording import count
from pipeline.reports.advice import LESS_WORK, Remedy, takes, why_no_more
from pipeline.reports.facts import COMPUTES, UNKNOWN, WAITS, Thread, delayed, does_in_workers, holds_gil, needed
from pipeline.reports.model import Stage
from pipeline.reports.offers import WORTH, more_workers
from pipeline.reports.report import Report

_BRIEF = 10e-6  # seconds: a shorter call takes about as long as handing its element from thread to thread


def of_runner(report: Report, slow: Stage, thread: Thread, behind: float, consumer: float) -> Remedy:
    """Return the remedy for a slow function in such threads."""
    now, busy, used = max(1, slow.threads), slow.busy or 0.0, slow.cpu or 0.0
    work, does = now * busy, does_in_workers(report, slow)
    brief = takes(report, slow, used if does == COMPUTES else max(used, work - delayed(slow)), _BRIEF)
    cause = f"Bottleneck: `{slow.name}` ({count(now, 'thread')}, {busy:.0%} busy{does}{brief})"
    if brief:
        return Remedy(slow, slow.kind, cause, "To go faster, hand over many elements at a time with `enqueue_many`")
    turns = does == COMPUTES and holds_gil(report, "pipeline.threads", used)
    if turns and (now > 1 or report.lock is not None):
        why = f"its {now} threads take turns at Python's lock (GIL)" if now > 1 else "it holds Python's lock (GIL)"
        advice = "Call it in processes: `pipeline.dataset(...).map(f, workers=pipeline.processes(n))`"
        return Remedy(slow, slow.kind, cause, advice, why=why, sure=report.lock is not None)
    limit = needed(thread, behind, consumer, slow)
    offer = more_workers(report, slow, now, work, [(now, limit)], WAITS if does == UNKNOWN else does)
    if offer.most < WORTH:
        return Remedy(slow, slow.kind, cause, LESS_WORK, why=why_no_more(report, slow, does))
    note, least = offer.note, offer.least
    if does == UNKNOWN:
        note, least = ", if it waits for I/O", 1.0
    elif turns:
        note, least = ", if it releases Python's lock (GIL)", 1.0
    advice = f"Try {slow.settings['more'].format(offer.value)}"
    return Remedy(
        slow, slow.kind, cause, advice, "num_threads", offer.value, offer.most, least, note, sure=does == WAITS
    )


def of_queue(queue: Stage, consumer: float, empty: float, room: float) -> Remedy:
    """Return the remedy for a queue that is too small: its threads wait, and those that take from it, too."""
    assert queue.tank is not None
    waited = f"it was empty {empty:.0%} of the time, and full {room:.0%} of the time"
    if queue.tank.min_after_dequeue:
        cause = f"Your loop waited until queue '{queue.name}' was filled: {waited}"
        advice = "A smaller `min_after_dequeue` starts sooner and shuffles less"
        return Remedy(queue, "pool", cause, advice, "min_after_dequeue", sure=True)
    value = 4 * queue.tank.stats.capacity
    cause = f"Bottleneck: queue '{queue.name}' is too small: {waited}"
    gain = 1 / max(consumer, 1 - room, 1e-3)
    return Remedy(queue, "queue", cause, f"Try `capacity={value}`", "capacity", value, gain, 1.0)
