"""Before the first example: the step that is at work, because its call is in no counter until it ends."""

from __future__ import annotations

import dataclasses

from pipeline.reports.facts import all_before
from pipeline.reports.model import Stage
from pipeline.reports.report import NO_EXAMPLE, Report


def waits_for_first(loop: Stage) -> bool:
    """Return whether a loop waits for its first example."""
    return loop.kind == "loop" and loop.state == "running" and not loop.elements


def at_work(report: Report, loop: Stage) -> Stage | None:
    """Return the step that most likely runs before a loop's first example; None if queues feed it.

    It is the first function that took more than it returned, or else the source.
    """
    before = [each for each in report.stages if each in all_before(report, loop)]
    if any(each.kind not in ("source", "function", "step") for each in before):
        return None
    functions = [each for each in before if each.kind == "function"]
    behind = [each for each in functions if any(one.elements > each.elements for one in report.before(each))]
    return next(iter(behind or before), None)


def with_open_calls(report: Report) -> Report:
    """Return a report where the steps at work before a first example are busy, and the loops are not."""
    changed: dict[int, Stage] = {}
    for loop in filter(waits_for_first, report.stages):
        changed[loop.id] = dataclasses.replace(loop, busy=0.0, waits_in=1.0)
        if (slow := at_work(report, loop)) is not None and not slow.settings.get("in_workers"):
            others = sum(each.busy or 0.0 for each in report.stages if each not in (slow, loop) and not each.threads)
            changed[slow.id] = dataclasses.replace(slow, busy=max(slow.busy or 0.0, 1.0 - others))
    return dataclasses.replace(report, stages=tuple(changed.get(each.id, each) for each in report.stages))


def first_awaited(report: Report, loop: Stage) -> tuple[Stage, str]:
    """Return the step for which a loop without an example waits, and a sentence about it without its full stop."""
    slow = at_work(report, loop) if waits_for_first(loop) else None
    if slow is None:
        return loop, NO_EXAMPLE
    since = "yet" if loop.age_s is None or loop.age_s < 1 else f"in {loop.age_s:.0f} s"
    return slow, f"No example has arrived {since}: `{slow.name}` is at work"
