"""Step: one operation of a plan, with the places of its inputs and outputs; and how to take one within a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.run import Run
from pipeline.compat.session.variable_cell import Cell


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


# The value of a tensor in the branch of a conditional that was not taken.
DEAD = _Dead()

SWITCHES = frozenset(("Switch", "RefSwitch"))
MERGES = frozenset(("Merge", "RefMerge"))


class Step(NamedTuple):
    """One operation: `values[outputs] = kernel(values[inputs])`."""

    kernel: Callable[..., Any]
    stateful: bool  # the kernel takes the run as its first argument
    inputs: tuple[int, ...]
    outputs: Any  # the place of the only output, or a tuple of places
    op: Operation
    guarded: bool  # within a branch: skipped if the other branch is taken
    last: tuple[int, ...] = ()  # places that no later step reads: what is there makes room for new values
    given: Callable[..., Any] | None = None  # as `kernel`, but takes a list of its values, and empties it

    @property
    def reads(self) -> bool:
        """Whether this step only reads a variable for the step after it."""
        return self.kernel is value_of


def value_of(cell: Any) -> Any:
    """Return a variable's value, given its Cell; other values as they are."""
    return cell.read() if cell.__class__ is Cell else cell


def checked_cell(cell: Any) -> Any:
    """Return the argument; FailedPreconditionError if it is the Cell of a variable without a value."""
    value_of(cell)
    return cell


def take_step(step: Step, run: Run, values: list[Any], dead: set[Operation]) -> None:
    """Take a step that may lie in a branch that is not taken.

    Args:
        step: The step.
        run: The run.
        values: The values of the run; those of a skipped step become DEAD.
        dead: The operations that were skipped, which this adds to.

    Raises:
        OpError: The kernel failed.
    """
    kernel, stateful, inputs, outputs, op, *_ = step
    args = [values[place] for place in inputs]
    if op.type in MERGES:
        skip = all(each is DEAD for each in args)
    else:
        skip = any(each is DEAD for each in args) or not dead.isdisjoint(op.control_inputs)
    if skip:
        if not step.reads:  # a step that reads a variable for a Merge says nothing of the Merge
            dead.add(op)
        result: Any = DEAD if outputs.__class__ is int else [DEAD] * len(outputs)
    else:
        try:
            result = kernel(run, *args) if stateful else kernel(*args)
        except Exception as error:
            raise op_error(error, op) from error.__cause__
    if outputs.__class__ is int:
        values[outputs] = result
    elif outputs:
        for place, value in zip(outputs, result, strict=True):
            values[place] = value


def with_last(steps: list[Step], kept: Iterable[int]) -> list[Step]:
    """Return the steps, each with the places that it is the last to read or write.

    Args:
        steps: The steps; a run takes them in this order.
        kept: The places whose values are there before the first step, or needed after the last one.
    """
    seen = set(kept)
    made = []
    for step in reversed(steps):
        outputs = (step.outputs,) if step.outputs.__class__ is int else step.outputs
        last = dict.fromkeys(place for place in (*step.inputs, *outputs) if place not in seen)
        seen.update(last)
        made.append(step._replace(last=tuple(last)))
    return made[::-1]
