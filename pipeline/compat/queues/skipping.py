"""Skipping: leaving out examples of a queue by what they take from alone, many at a time, where that is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.queues.effects import changes, origin, varies, within
from pipeline.compat.session.phased_plan import PhasedPlan, in_any_order
from pipeline.compat.session.session import BaseSession

Skip = Callable[[int], None]


def skipping(sess: BaseSession, plan: PhasedPlan, things: Mapping[Operation, Any]) -> Skip | None:
    """Return what takes from each thing as often as so many runs do; None if only runs themselves can.

    A run of 20 us then becomes a record of 0.2 us, or 3 us for a random number.

    Args:
        sess: The session.
        plan: What the runs are of.
        things: What it takes from, by their operations.
    """
    skips: list[Skip] = []
    users: dict[Any, Any] = {}  # who takes from a producer: of two readers, which one is first depends on the records
    if plan.has_branches:
        return None
    for op in plan.taken:
        if any(changes(each) or (each is not op and each in things) for each in within([op])):
            return None
        if not varies(op) or in_any_order(op, True) or op.type.endswith(("Reader", "ReaderV2")):
            continue
        skip = _drawing(sess, plan, op) if hasattr(op.kernel, "position") else _taking(op, things, users)
        if skip is None:
            return None
        skips.append(skip)

    def skip_all(count: int) -> None:
        for each in skips:
            each(count)

    return skip_all


def _taking(op: Operation, things: Mapping[Operation, Any], users: dict[Any, Any]) -> Skip | None:
    """What skips elements of a dequeue or a read, one for each run."""
    thing = things[origin(op.inputs[0])]
    if op.type == "QueueDequeueV2":
        return thing.skip if users.setdefault(thing, thing) is thing else None
    if op.type not in ("ReaderReadV2", "ReaderRead"):
        return None
    source = things[origin(op.inputs[1])]
    return (lambda count: thing._skip(count, source)) if users.setdefault(source, thing) is thing else None


def _drawing(sess: BaseSession, plan: PhasedPlan, op: Operation) -> Skip | None:
    """What skips the numbers of a random op whose inputs are always the same."""
    if any(each not in plan.constants for each in op.inputs):
        return None
    kernel: Any = op.kernel
    values = [plan.constants[each] for each in op.inputs]

    def skip(count: int) -> None:
        for _ in range(count):
            kernel(sess._plain_run, *values)

    return skip
