"""Follows a plan in which several operations may wait at the same time: each such wait gets a thread of its own."""

from __future__ import annotations

import contextlib
import heapq
import queue
import threading
from typing import Any

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.session.run import Run, current
from pipeline.compat.session.steps import Step, take_step
from pipeline.errors import CancelledError

# A wait looks again after this many seconds: a signal that arrives just before the wait begins does not end it.
_POLL = 0.05


def follow_concurrently(steps: list[Step], run: Run, values: list[Any]) -> None:
    """Take all steps, in their order as far as none waits.

    A step that may wait gets a thread only if something else can go on meanwhile. The first failure cancels the other
    waits and is raised once they have ended.
    """
    current.run = own = Run(run.resources, run.remaining())  # can be cancelled by itself
    _Follower(steps, own, values).follow()


class _Follower:
    """One run of the steps. Its own thread starts threads for steps that may wait, and collects their answers."""

    def __init__(self, steps: list[Step], run: Run, values: list[Any]) -> None:
        self._steps, self._run, self._values = steps, run, values
        self._missing, self._dependents = dependencies(steps)
        self._ready = [number for number, count in enumerate(self._missing) if count == 0]  # a heap
        self._dead: set[Operation] = set()
        self._answers: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._waiting = 0  # threads whose answer is not collected
        self._error: BaseException | None = None

    def follow(self) -> None:
        """Take all steps; raise the first error."""
        try:
            while (self._ready and self._error is None) or self._waiting:
                if self._ready and self._error is None:
                    number = heapq.heappop(self._ready)
                    if self._steps[number].op.blocking and (self._ready or self._waiting):
                        self._start_thread(number)
                        continue
                    take_step(self._steps[number], self._run, self._values, self._dead)
                else:
                    number = self._collect()
                self._release_dependents(number)
        except BaseException:  # maybe Ctrl-C, between any two lines: ask the threads themselves whether they go on
            self._run.cancel()
            for thread in self._threads:
                while thread.is_alive():
                    thread.join(_POLL)
            raise
        if self._error is not None:
            raise self._error

    def _start_thread(self, number: int) -> None:
        name = f"Session-{self._steps[number].op.name}"
        self._threads.append(threading.Thread(target=self._attempt, args=(number,), name=name, daemon=True))
        self._threads[-1].start()
        self._waiting += 1

    def _attempt(self, number: int) -> None:
        """Take a step in a thread of its own, and put its number and its error into the answers."""
        current.run = self._run
        try:
            take_step(self._steps[number], self._run, self._values, self._dead)
        except BaseException as error:
            self._answers.put((number, error))
        else:
            self._answers.put((number, None))

    def _collect(self) -> int:
        """Wait for the answer of a thread; the first error cancels the other waits."""
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


def dependencies(steps: list[Step]) -> tuple[list[int], list[list[int]]]:
    """For each step, how many steps it depends on, and which steps depend on it."""
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
