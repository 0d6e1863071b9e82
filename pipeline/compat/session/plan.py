"""Plan: the steps that give the values of some tensors, worked out once and then followed at every run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.concurrent_steps import follow_concurrently
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.ordering import needed
from pipeline.compat.session.run import Run, current
from pipeline.compat.session.steps import MERGES, SWITCHES, Step, checked_cell, take, value_of


class Plan:
    """How to compute tensors from those that are given.

    Thread safety: several threads may run one plan at the same time.

    Args:
        fetches: The tensors to compute, and operations to run.
        fed: Tensors whose values are given.
        folded: Values of operations that depend on constants alone, kept from plan to plan.

    Attributes:
        fed: As given.
        constants: The values that are known before a run.
        fed_fetches: The fetches that are fed, and their places among all.
    """

    def __init__(
        self,
        fetches: Iterable[Tensor | Operation],
        fed: Iterable[Tensor] = (),
        folded: dict[Operation, Any] | None = None,
    ) -> None:
        self._places: dict[Tensor, int] = {}
        self._template: list[Any] = []
        self._steps: list[Step] = []
        self._depths: dict[Operation, int] = {}  # how many branches an operation's outputs are within
        self._quiet = False
        self._nothing: int | None = None  # the place of what operations give
        self._showing: dict[Tensor, bool] = {}
        self._late: list[tuple[int, Operation]] = []  # variables that are read when all is done
        self.fed = fed = list(fed)
        fetches = list(fetches)
        self._fed = [self._place(each) for each in fed]
        ops = needed(fetches, set(fed))
        known = self._fold(ops, set(fed), {} if folded is None else folded)
        for op in ops:
            if op not in known:
                self._add(op)
        self._fetched = [self._fetch(each) for each in fetches]
        self.fed_fetches = [(place, each) for place, each in enumerate(fetches) if each in fed]
        self._forget_unused()
        self.constants = {tensor: self._template[place] for tensor, place in self._places.items() if tensor.op in known}
        self._handles = [step for step in self._steps if step.op.handle and not step.inputs]
        self._steps = [step for step in self._steps if not (step.op.handle and not step.inputs)]
        blocking = [step.op for step in self._steps if step.op.blocking]
        self._waits = bool(blocking)
        self._moves = any(_moves(op) for op in blocking)
        self._concurrent = len(blocking) > 1 and not _sequential(self._steps)

    def run(self, run: Run, given: Sequence[Any] = ()) -> list[Any]:
        """Return the values of the fetches, None for operations.

        Raises:
            OpError: An operation failed; it says which.
        """
        if self._handles:
            self._open(run)
        values = self._template.copy()
        if given:
            for place, value in zip(self._fed, given, strict=True):
                values[place] = value
        if self._quiet:
            with np.errstate(all="ignore"):
                self._follow_as_current(run, values)
        elif self._waits:
            self._follow_as_current(run, values)
        else:
            self._follow(run, values)
        for place, op in self._late:
            try:
                values[place] = value_of(values[place])
            except Exception as error:
                raise op_error(error, op) from error.__cause__
        return [values[place] for place in self._fetched]

    def done(self, run: Run) -> None:
        """Say after a run that it was too late: over its time, or of a closed session. Not where it took elements from
        a queue or a reader, which the caller gets, or put some in, which the caller would put in again.

        Raises:
            CancelledError, DeadlineExceededError: see Run.ended.
        """
        if not self._moves:
            run.ended()

    def _follow_as_current(self, run: Run, values: list[Any]) -> None:
        if not self._waits:
            self._follow(run, values)
        else:
            outer, current.run = current.run, run
            try:
                self._follow(run, values)
            finally:
                current.run = outer

    def _follow(self, run: Run, values: list[Any]) -> None:
        if self._concurrent:
            follow_concurrently(self._steps, run, values)
            return
        step: Step | None = None
        dead: set[Operation] = set()
        try:
            for step in self._steps:
                kernel, stateful, inputs, outputs, _, guarded = step
                if guarded:
                    take(step, run, values, dead)
                    continue
                # Most take few values: a list of them costs 0.1 us more.
                if len(inputs) == 1:
                    result = kernel(run, values[inputs[0]]) if stateful else kernel(values[inputs[0]])
                elif stateful:
                    result = kernel(run, *[values[place] for place in inputs])
                else:
                    result = kernel(*[values[place] for place in inputs])
                if outputs.__class__ is int:
                    values[outputs] = result
                elif outputs:
                    for place, value in zip(outputs, result, strict=True):
                        values[place] = value
        except Exception as error:
            assert step is not None
            raise op_error(error, step.op) from error.__cause__

    def _open(self, run: Run) -> None:
        """Look up queues and readers, which are the same at every run of the session."""
        for step in self._handles:
            try:
                self._template[step.outputs] = step.kernel(run)
            except Exception as error:
                raise op_error(error, step.op) from error.__cause__
        self._handles = []

    @property
    def ops(self) -> list[Operation]:
        """The operations that run each time, in their order."""
        return [step.op for step in self._steps if not step.reads]

    # Building

    def _place(self, tensor: Tensor) -> int:
        place = self._places.get(tensor)
        if place is None:
            place = self._places[tensor] = len(self._template)
            self._template.append(None)
        return place

    def _fold(self, ops: list[Operation], fed: set[Tensor], folded: dict[Operation, Any]) -> set[Operation]:
        """Compute what depends on constants alone; an operation that fails is left for the run to fail."""
        known: set[Operation] = set()
        for op in ops:
            if (
                op.stateful
                or op.kernel is None
                or not op.outputs
                or op.control_inputs
                or op.type in ("Switch", "Merge")
            ):
                continue
            if any(each.op not in known or each in fed for each in op.inputs):
                continue
            if op in folded:
                result = folded[op]
            else:
                try:
                    result = op.kernel(*[self._template[self._place(each)] for each in op.inputs])
                except Exception:
                    continue
                folded[op] = result = _read_only(result)
            known.add(op)
            for tensor, value in zip(op.outputs, (result,) if len(op.outputs) == 1 else result, strict=True):
                if tensor not in fed:
                    self._template[self._place(tensor)] = value
        # Kept between plans is only what steps begin with, not what is on the way there.
        used = {each.op for op in ops if op not in known for each in op.inputs}
        for op in known - used:
            folded.pop(op, None)
        return known

    def _add(self, op: Operation) -> None:
        if op.kernel is None:
            raise TypeError(f"Operation '{op.name}' of type {op.type} cannot be run.")
        before = [each.op for each in op.inputs] + op.control_inputs
        depth = max((self._depths.get(each, 0) for each in before), default=0)
        merges = op.type in MERGES
        guarded = merges or depth > 0
        self._depths[op] = depth + 1 if op.type in SWITCHES else max(depth - 1, 0) if merges else depth
        inputs = tuple(self._input(op, i, each, guarded) for i, each in enumerate(op.inputs))
        places = tuple(self._place(each) for each in op.outputs)
        # Those that would each keep NumPy quiet, at 2 us a time, are kept quiet together.
        bare = getattr(op.kernel, "bare", None)
        self._quiet |= bare is not None
        outputs = places[0] if len(places) == 1 else places
        kernel = bare or op.kernel
        if op.type == "Identity" and _shows_variable(op.inputs[0], self._showing):
            kernel = checked_cell
        self._steps.append(Step(kernel, op.stateful, inputs, outputs, op, guarded))

    def _input(self, op: Operation, index: int, tensor: Tensor, guarded: bool) -> int:
        place = self._place(tensor)
        if index not in op.ref_inputs and op.type not in _PASSING and _shows_variable(tensor, self._showing):
            return self._read(place, op, guarded)
        return place

    def _read(self, cell: int, op: Operation, guarded: bool) -> int:
        """A step that takes the value of a variable; it fails where it is not initialised."""
        place = len(self._template)
        self._template.append(None)
        self._steps.append(Step(value_of, False, (cell,), place, op, guarded))
        return place

    def _fetch(self, element: Tensor | Operation) -> int:
        if isinstance(element, Operation):
            if self._nothing is None:
                self._nothing = len(self._template)
                self._template.append(None)
            return self._nothing
        place = self._place(element)
        if _shows_variable(element, self._showing):
            self._late.append((place, element.op))
        return place

    def _forget_unused(self) -> None:
        used = {place for step in self._steps for place in step.inputs}.union(self._fetched)
        self._template = [value if i in used else None for i, value in enumerate(self._template)]


# What passes a variable's memory on, rather than a copy of its value: who takes the value sees what was assigned
# meanwhile. In TensorFlow `tf.identity(variable)` after an assignment gives the new value for this reason.
_PASSING = frozenset(["Identity", "Switch", "Merge", "Enter"])


def _moves(op: Operation) -> bool:
    """Whether an operation that may wait takes elements out of something, or puts them in."""
    return op.type.startswith("QueueEnqueue") or (bool(op.outputs) and not op.type.endswith("SizeV2"))


def _shows_variable(tensor: Tensor, known: dict[Tensor, bool]) -> bool:
    """Whether the value of a tensor may be the Cell of a variable; `known` keeps what was found out."""
    if tensor not in known:
        found, seen, waiting = False, {tensor}, [tensor]
        while waiting and not found:
            each = waiting.pop()
            found = known.get(each, each.dtype._is_ref_dtype)
            if not found and each not in known and each.op.type in _PASSING:
                waiting += [one for one in each.op.inputs if one not in seen]
                seen.update(each.op.inputs)
        known[tensor] = found
    return known[tensor]


def _read_only(result: Any) -> Any:
    for each in result if isinstance(result, (list, tuple)) else (result,):
        if getattr(each, "ndim", 0) and each.flags.writeable:
            each.flags.writeable = False
    return result


def _sequential(steps: list[Step]) -> bool:
    """Whether each operation that may wait depends on the one before it, so that one thread can take all steps."""
    behind: dict[Operation, int] = {}
    last = 0
    for number, step in enumerate(steps):
        op = step.op
        mask = behind.get(op, 0)
        for each in [each.op for each in op.inputs] + op.control_inputs:
            mask |= behind.get(each, 0)
        if op.blocking and not step.reads:
            if last and not mask & last:
                return False
            last = 1 << number
            mask |= last
        behind[op] = mask
    return True


class Subplan:
    """Computes tensors from others within a run: the body of a loop.

    Args:
        inputs: The tensors whose values are given.
        outputs: The tensors to compute; what else they need is computed too.
    """

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | Operation]) -> None:
        self._inputs, self._outputs = list(inputs), list(outputs)

    def run(self, run: Run, values: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        return run.state(self, lambda: Plan(self._outputs, self._inputs)).run(run, values)
