"""Plan: the steps to compute some fetches, built once per list of fetches and followed in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.building import PlanBuilder
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.run import SessionRun, current
from pipeline.compat.session.steps import KernelStep, compiled, value_of, with_last
from pipeline.memory import keep_pages


class Plan:
    """Computes tensors from fed tensors.

    Thread safety: several threads may run one plan at the same time.

    Args:
        fetches: Tensors to compute, and operations to run.
        fed: Tensors fed to each run.
        folded: Results for operations that depend on constants alone; shared by a session's plans, and extended.

    Attributes:
        fed: As given.
        constants: Tensors known before a run, with their values.
        ops: Operations in every run, in order.
        fed_fetches: Fetches that are fed, each with its index among all fetches.
    """

    def __init__(
        self,
        fetches: Iterable[Tensor | Operation],
        fed: Iterable[Tensor] = (),
        folded: dict[Operation, Any] | None = None,
    ) -> None:
        fetches = list(fetches)
        self.fed = fed = list(fed)
        self.fed_fetches = [(index, each) for index, each in enumerate(fetches) if each in fed]
        built = PlanBuilder(fetches, fed, {} if folded is None else folded)
        self.constants = built.constants
        self._initial_values = built.values
        self._fed_places, self._fetch_places = built.fed_places, built.fetch_places
        self._late_reads = built.late_reads
        self._warnings_off = built.warnings_off
        self._handle_steps = [step for step in built.steps if _gives_handle(step)]
        steps = [step for step in built.steps if not _gives_handle(step)]
        self.ops = [step.op for step in steps if not step.reads]
        blocking = [op for op in self.ops if op.blocking]
        self._may_wait = bool(blocking)
        self._moves_elements = any(_moves_elements(op) for op in blocking)
        concurrent = len(blocking) > 1 and not _sequential(steps)
        if len(steps) > 1:
            from pipeline.compat.session.chains import with_chains  # most plans at a program's start need no chains

            steps = with_chains(steps, self._fetch_places)
        self._follow: Callable[[SessionRun, list[Any]], None]
        if concurrent:
            from pipeline.compat.session.concurrent_steps import ConcurrentSteps  # most plans do not need it

            self._follow = ConcurrentSteps(steps).follow
        else:
            made = {place for step in steps for place in _places(step.outputs)}
            given = set(range(len(self._initial_values))) - made
            steps = with_last(steps, given.union(self._fetch_places))
            self._follow = compiled(steps).follow
            keep_pages()

    def run(self, run: SessionRun, given: Sequence[Any] = ()) -> list[Any]:
        """Return the values of the fetches, None for operations.

        Args:
            run: The session run.
            given: Values for the fed tensors, in order.

        Raises:
            OpError: An operation failed; the error names it.
        """
        if self._handle_steps:
            self._look_up_handles(run)
        values = self._initial_values.copy()
        if given:
            for place, value in zip(self._fed_places, given, strict=True):
                values[place] = value
        if self._warnings_off:
            with np.errstate(all="ignore"):
                self._follow_as_current(run, values)
        elif self._may_wait:
            self._follow_as_current(run, values)
        else:
            self._follow(run, values)
        for place, op in self._late_reads:
            try:
                values[place] = value_of(values[place])
            except Exception as error:
                raise op_error(error, op) from error.__cause__
        return [values[place] for place in self._fetch_places]

    def done(self, run: SessionRun) -> None:
        """Check after a run that it was not too late: past its deadline, or in a session closed by now.

        A run that moved elements out of or into a queue or reader is never too late. Its caller gets the taken
        elements, and would enqueue the stored ones again.

        Raises:
            CancelledError, DeadlineExceededError: See SessionRun.ended.
        """
        if not self._moves_elements:
            run.ended()

    def _follow_as_current(self, run: SessionRun, values: list[Any]) -> None:
        if not self._may_wait:
            self._follow(run, values)
        else:
            outer, current.run = current.run, run
            try:
                self._follow(run, values)
            finally:
                current.run = outer

    def _look_up_handles(self, run: SessionRun) -> None:
        """Look up queues and readers once, because they are the same in every run."""
        for step in self._handle_steps:
            try:
                self._initial_values[step.outputs] = step.kernel(run)
            except Exception as error:
                raise op_error(error, step.op) from error.__cause__
        self._handle_steps = []


def _places(outputs: Any) -> tuple[int, ...]:
    return (outputs,) if outputs.__class__ is int else outputs


def _gives_handle(step: KernelStep) -> bool:
    """Return whether a step looks up a queue or a reader."""
    return step.op.handle and not step.inputs


def _moves_elements(op: Operation) -> bool:
    """Return whether an operation that may wait takes elements from a queue or reader, or stores them."""
    return op.type.startswith("QueueEnqueue") or (bool(op.outputs) and not op.type.endswith("SizeV2"))


def _sequential(steps: list[KernelStep]) -> bool:
    """Return whether each operation that may wait depends on the one before, so that one thread can take all steps."""
    ancestors: dict[Operation, int] = {}  # one bit per blocking step the operation depends on
    last = 0
    for number, step in enumerate(steps):
        op = step.op
        mask = ancestors.get(op, 0)
        for each in [each.op for each in op.inputs] + op.control_inputs:
            mask |= ancestors.get(each, 0)
        if op.blocking and not step.reads:
            if last and not mask & last:
                return False
            last = 1 << number
            mask |= last
        ancestors[op] = mask
    return True


class Subplan:
    """Computes tensors from others within a run: a map_fn or scan body.

    Args:
        inputs: Tensors with given values.
        outputs: Tensors to compute, with all their dependencies.
    """

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | Operation]) -> None:
        self._inputs, self._outputs = list(inputs), list(outputs)

    def run(self, run: SessionRun, values: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs for these input values."""
        return run.state(self, lambda: Plan(self._outputs, self._inputs)).run(run, values)
