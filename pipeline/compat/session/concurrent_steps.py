"""Runs in which several operations may wait for other threads: each such wait gets a thread of its own."""

from __future__ import annotations

import contextlib
import heapq
import queue
import threading
from typing import Any

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.session.run import Run, current
from pipeline.compat.session.steps import Step, take
from pipeline.errors import CancelledError

# Seconds after which a wait looks again: a signal that comes just before the wait begins does not end it.
_LOOK = 0.05


def follow_concurrently(steps: list[Step], run: Run, values: list[Any]) -> None:
    """Take all steps, in their order as far as nothing waits; the first failure ends the others' waits.

    A wait gets a thread only if something else can go on meanwhile.
    """
    current.run = run = Run(run.resources, run.remaining())  # one that can be cancelled by itself
    missing, behind = _dependencies(steps)
    ready = [number for number, count in enumerate(missing) if count == 0]
    dead: set[Operation] = set()
    answers: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()
    threads: list[threading.Thread] = []
    waiting = 0
    error: BaseException | None = None

    def attempt(number: int) -> None:
        current.run = run
        try:
            take(steps[number], run, values, dead)
        except BaseException as failed:
            answers.put((number, failed))
        else:
            answers.put((number, None))

    try:
        while ready or waiting:
            if ready and error is None:
                number = heapq.heappop(ready)
                if steps[number].op.blocking and (ready or waiting):
                    name = f"Session-{steps[number].op.name}"
                    threads.append(threading.Thread(target=attempt, args=(number,), name=name, daemon=True))
                    threads[-1].start()
                    waiting += 1
                    continue
                take(steps[number], run, values, dead)
            elif waiting:
                number, failed = _next(answers)
                waiting -= 1
                if failed is not None and (error is None or isinstance(error, CancelledError)):
                    error = failed
                    run.cancel()
            else:
                break
            for each in behind[number]:
                missing[each] -= 1
                if missing[each] == 0:
                    heapq.heappush(ready, each)
    except BaseException:  # maybe Ctrl-C, between any two lines: the threads themselves say whether they go on
        run.cancel()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK)
        raise
    if error is not None:
        raise error


def _next(answers: queue.SimpleQueue[Any]) -> Any:
    while True:
        with contextlib.suppress(queue.Empty):
            return answers.get(timeout=_LOOK)


def _dependencies(steps: list[Step]) -> tuple[list[int], list[list[int]]]:
    """How many steps each one needs, and which ones need it."""
    makers: dict[int, int] = {}
    numbers: dict[Operation, int] = {}
    missing: list[int] = []
    behind: list[list[int]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        needs = {makers[place] for place in step.inputs if place in makers}
        if not step.reads:
            numbers[step.op] = number
            needs |= {numbers[op] for op in step.op.control_inputs if op in numbers}
        for each in needs:
            behind[each].append(number)
        missing.append(len(needs))
        for place in (step.outputs,) if isinstance(step.outputs, int) else step.outputs:
            makers[place] = number
    return missing, behind
