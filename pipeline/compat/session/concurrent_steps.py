"""Follow a plan with several operations that may wait at the same time.

Each is tried with little patience first. An operation gets a thread only if it would wait longer while other steps can
continue.
"""

from __future__ import annotations

import contextlib
import heapq
import queue
from typing import Any

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.session.helpers import Helpers, HelperTask
from pipeline.compat.session.run import SessionRun, current
from pipeline.compat.session.steps import KernelStep, compiled
from pipeline.errors import CancelledError, DeadlineExceededError

# A wait checks again after this many seconds, because a signal just before it begins does not end it.
_POLL = 0.05
# Seconds a dequeue waits in the caller's thread: handing it to a helper costs 50 us and waits for the GIL.
_PATIENCE = 0.002


class ConcurrentSteps:
    """A plan's steps, for any number of simultaneous runs.

    Attributes:
        steps: As given.
        take: Takes one by its index.
        tried: Per step, whether it can be tried because a failure loses nothing.
        missing, dependents: See `dependencies`.
    """

    def __init__(self, steps: list[KernelStep]) -> None:
        self.steps = steps
        self.take = compiled(steps).take
        self.missing, self.dependents = dependencies(steps)
        self.tried = [_all_or_nothing(step.op) and not step.reads for step in steps]

    def follow(self, run: SessionRun, values: list[Any]) -> None:
        """Take all steps, in order unless one waits.

        The first failure cancels all other waits and is raised once they have ended.
        """
        dead: set[Operation] = set()
        for number, step in enumerate(self.steps):
            if not step.op.blocking:
                self.take(number, run, values, dead)
            elif not self.tried[number] or not self.taken(number, run, values, dead):
                break
        else:
            return
        current.run = own = SessionRun(run.resources, run.remaining())  # can be cancelled separately
        _Follower(self, own, values, dead, number).follow()

    def taken(self, number: int, run: SessionRun, values: list[Any], dead: set[Operation]) -> bool:
        """Take a step unless it would wait for long; return whether it was taken."""
        try:
            self.take(number, run.hurried(_PATIENCE), values, dead)
        except DeadlineExceededError:
            return False
        return True


def _all_or_nothing(op: Operation) -> bool:
    """Return whether an operation that ran out of time has changed nothing."""
    return op.type.startswith("QueueDequeue") or op.type == "QueueEnqueueV2"


class _Follower:
    """The rest of a run. Its own thread passes steps that may wait to helpers, and collects their answers."""

    def __init__(
        self, plan: ConcurrentSteps, run: SessionRun, values: list[Any], dead: set[Operation], begin: int
    ) -> None:
        self._plan, self._steps, self._tried = plan, plan.steps, plan.tried
        self._run, self._values, self._dead = run, values, dead
        self._missing, self._dependents = plan.missing.copy(), plan.dependents
        for number in range(begin):
            for each in self._dependents[number]:
                self._missing[each] -= 1
        later = range(begin, len(plan.steps))
        self._ready = [number for number in later if self._missing[number] == 0]  # a heap
        self._answers: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()
        self._helpers: Helpers = run.state("helpers", lambda: Helpers(run.resources))
        self._tasks: list[HelperTask] = []
        self._waiting = 0  # tasks with an uncollected answer
        self._error: BaseException | None = None

    def follow(self) -> None:
        """Take all steps; raise the first error."""
        try:
            while (self._ready and self._error is None) or self._waiting:
                if self._ready and self._error is None:
                    number = heapq.heappop(self._ready)
                    step = self._steps[number]
                    if not step.op.blocking or not (self._ready or self._waiting):
                        self._plan.take(number, self._run, self._values, self._dead)
                    elif not self._tried[number] or not self._plan.taken(number, self._run, self._values, self._dead):
                        self._hand_over(number)
                        continue
                else:
                    number = self._collect()
                self._release_dependents(number)
        except BaseException:  # maybe Ctrl-C, anywhere above: check whether the tasks continue
            self._run.cancel()
            for task in self._tasks:
                while not task.withdrawn_or_ended(_POLL):
                    pass
            raise
        if self._error is not None:
            raise self._error

    def _hand_over(self, number: int) -> None:
        name = f"Session-{self._steps[number].op.name}"
        task = HelperTask(name, lambda: self._attempt(number), lambda error: self._answers.put((number, error)))
        self._tasks.append(task)
        self._helpers.give(task)
        self._waiting += 1

    def _attempt(self, number: int) -> None:
        """Take a step in a helper's thread."""
        current.run = self._run
        try:
            self._plan.take(number, self._run, self._values, self._dead)
        finally:
            current.run = None

    def _collect(self) -> int:
        """Wait for a helper's answer; the first error cancels the other waits."""
        number, error = _next(self._answers)
        self._waiting -= 1
        if error is not None and (self._error is None or isinstance(self._error, CancelledError)):
            self._error = error
            self._run.cancel()
        return number

    def _release_dependents(self, number: int) -> None:
        for each in self._dependents[number]:
            self._missing[each] -= 1
            if self._missing[each] == 0:
                heapq.heappush(self._ready, each)


def _next(answers: queue.SimpleQueue[tuple[int, BaseException | None]]) -> tuple[int, BaseException | None]:
    while True:
        with contextlib.suppress(queue.Empty):
            return answers.get(timeout=_POLL)


def dependencies(steps: list[KernelStep]) -> tuple[list[int], list[list[int]]]:
    """Return the number of dependencies for each step, and the steps that depend on it."""
    makers: dict[int, int] = {}  # place -> the step that fills it
    numbers: dict[Operation, int] = {}
    missing: list[int] = []
    dependents: list[list[int]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        needs = {makers[place] for place in step.inputs if place in makers}
        if not step.reads:
            numbers[step.op] = number
            needs |= {numbers[op] for op in step.op.control_inputs if op in numbers}
        for each in needs:
            dependents[each].append(number)
        missing.append(len(needs))
        for place in (step.outputs,) if isinstance(step.outputs, int) else step.outputs:
            makers[place] = number
    return missing, dependents
