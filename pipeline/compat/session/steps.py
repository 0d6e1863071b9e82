"""KernelStep: one plan operation, with its input and output places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pipeline._steps import Steps
from pipeline.compat.graph.tensor import Operation
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.variable_cell import Cell

SWITCHES = frozenset(("Switch", "RefSwitch"))
MERGES = frozenset(("Merge", "RefMerge"))


class KernelStep(NamedTuple):
    """One operation: `values[outputs] = kernel(values[inputs])`."""

    kernel: Callable[..., Any]
    stateful: bool  # the kernel takes the run as its first argument
    inputs: tuple[int, ...]
    outputs: Any  # the only output's place, or a tuple of places
    op: Operation
    guarded: bool  # within a branch: skipped if the other branch is taken
    last: tuple[int, ...] = ()  # places not read later, so their old values can be dropped
    given: Callable[..., Any] | None = None  # like `kernel`, but takes a list of its values, and empties it

    @property
    def reads(self) -> bool:
        """True if this step only reads a variable for the step after it."""
        return self.kernel is value_of


def value_of(cell: Any) -> Any:
    """Return a variable's value, given its Cell; other values as is."""
    return cell.read() if cell.__class__ is Cell else cell


def checked_cell(cell: Any) -> Any:
    """Return the argument; FailedPreconditionError if it is a Cell without a value."""
    value_of(cell)
    return cell


def compiled(steps: Iterable[KernelStep]) -> Steps:
    """Return the steps compiled for speed."""
    return Steps(steps, MERGES, op_error)


def with_last(steps: list[KernelStep], kept: Iterable[int]) -> list[KernelStep]:
    """Return the steps, each with the places it is the last to read or write.

    Args:
        steps: The steps, in run order.
        kept: Places with values before the first step, or needed after the last one.
    """
    seen = set(kept)
    made = []
    for step in reversed(steps):
        outputs = (step.outputs,) if step.outputs.__class__ is int else step.outputs
        last = dict.fromkeys(place for place in (*step.inputs, *outputs) if place not in seen)
        seen.update(last)
        made.append(step._replace(last=tuple(last)))
    return made[::-1]
