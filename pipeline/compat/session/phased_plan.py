"""PhasedPlan: a plan cut in three, so that several threads can follow it and still fill a queue in a fixed order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.concurrent_steps import dependencies
from pipeline.compat.session.plan import Plan
from pipeline.compat.session.run import Run, current
from pipeline.compat.session.session import BaseSession
from pipeline.compat.session.steps import MERGES, SWITCHES, Step, take_step

# Stateful operations that give the same in every order: they change nothing, or nothing that anybody sees.
_NEUTRAL = (
    "Placeholder PlaceholderWithDefault Assert Print PrintV2 ReadFile AddSparseToTensorsMap AddManySparseToTensorsMap"
)
_IN_ANY_ORDER = SWITCHES | MERGES | frozenset(_NEUTRAL.split())
# Results that may wait to be stored: with fewer, a slow one stops the other threads.
_WAITING = 4096
_WAITING_BYTES = 64 << 20

_FUNCTIONS = frozenset(("PyFunc", "EagerPyFunc"))


class Followed(NamedTuple):
    """How far a thread has followed a plan: its run, the value of each place, and the operations that were skipped."""

    run: Run
    values: list[Any]
    dead: set[Operation]


class _Part(Plan):
    """Some of the steps of a plan, to be followed with values of the whole."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps, self._concurrent = steps, False


class PhasedPlan(Plan):
    """The steps of an operation that enqueues, in three parts.

    `take` has those whose results depend on what other runs did before: dequeues, reads, random numbers, variables, and
    whatever these need. It is to be called in order, by one thread at a time. `store` has the enqueues and what waits
    for them, likewise. `make` has the others, in any thread at any time. Python functions are among these once they
    depend on something that was taken; a function that takes nothing is a source itself.

    Args:
        sess: The session.
        op: What the thread of a queue runner runs.

    Attributes:
        taken: The operations of the first part.
        stores_one: Each run stores one element.
    """

    def __init__(self, sess: BaseSession, op: Operation | Tensor) -> None:
        super().__init__([op], (), sess._folded)
        self._sess = sess
        parts = _parts(self._steps)
        self.taken = [step.op for step in parts[0] if not step.reads]
        self.stores_one = type(op) is Operation and op.type == "QueueEnqueueV2"
        self._taking, self._making, self._storing = map(_Part, parts)
        self._guarded = any(step.guarded for step in self._steps)
        needed = {place for step in parts[2] for place in step.inputs}
        filled = {place for part in parts[:2] for step in part for place in _places(step)}
        self._spent = sorted(filled - needed)
        self._handed_over = sorted(filled & needed)

    @property
    def has_branches(self) -> bool:
        """Whether runs differ in what they do."""
        return self._guarded

    def take(self, limit: int) -> Followed:
        """Follow the first part, once."""
        run = self._begin()
        if self._handle_steps:
            self._look_up_handles(run)
        followed = Followed(run, self._initial_values.copy(), set())
        self._follow_part(self._taking, run, followed)
        return followed

    def count(self, taken: Followed) -> int:
        """Return how many elements were taken, if each run stores one."""
        return 1

    def pick(self, taken: Followed, wanted: NDArray[np.bool_]) -> Followed | None:
        """Return those that are wanted; None if none is."""
        return taken if wanted[0] else None

    def make(self, taken: Followed) -> Followed:
        """Follow the second part."""
        self._follow_part(self._making, taken.run, taken)
        values = taken.values
        for place in self._spent:  # it may wait for long
            values[place] = None
        return taken

    def store(self, made: Followed) -> None:
        """Follow the third part. Its deadline is its own: what it waited for before is not its fault."""
        self._follow_part(self._storing, self._begin(), made)

    def room(self, made: Followed, threads: int) -> int:
        """Return how many results like this one may wait for the one that is due, if so many threads make them."""
        size = sum(_size(made.values[place]) for place in self._handed_over)
        return max(16 * threads, min(_WAITING, _WAITING_BYTES // max(1, size)))

    def _begin(self) -> Run:
        self._sess._check_open()
        return self._sess._begin(None)

    def _follow_part(self, part: _Part, run: Run, followed: Followed) -> None:
        if not part._steps:
            return
        outer, current.run = current.run, run
        try:
            if self._warnings_off:
                with np.errstate(all="ignore"):
                    self._follow_steps(part, run, followed)
            else:
                self._follow_steps(part, run, followed)
        finally:
            current.run = outer

    def _follow_steps(self, part: _Part, run: Run, followed: Followed) -> None:
        if not self._guarded:
            part._follow(run, followed.values)
            return
        for step in part._steps:
            take_step(step, run, followed.values, followed.dead)


def _parts(steps: list[Step]) -> tuple[list[Step], list[Step], list[Step]]:
    _, dependents = dependencies(steps)
    taken: set[int] = set()  # what depends on a dequeue or a read
    first: set[int] = set()
    last: set[int] = set()
    for number, step in enumerate(steps):
        op = step.op
        if number in last or (op.type.startswith("QueueEnqueue") and not step.reads):
            last.update((number, *dependents[number]))
            continue
        if number in taken or is_source(op):
            taken.update((number, *dependents[number]))
        if step.reads or (op.stateful and not in_any_order(op, number in taken)):
            first.add(number)
    for number in reversed(range(len(steps))):
        if number not in last and not first.isdisjoint(dependents[number]):
            first.add(number)
    parts: tuple[list[Step], list[Step], list[Step]] = [], [], []
    for number, step in enumerate(steps):
        parts[0 if number in first else 2 if number in last else 1].append(step)
    return parts


def is_source(op: Operation) -> bool:
    """Whether an operation takes something from a queue, a reader or the like: what it gives differs in each run."""
    return op.blocking


def in_any_order(op: Operation, taken: bool) -> bool:
    """Whether the results of a stateful operation do not depend on what ran before; `taken`: it depends on a source."""
    if op.type in _FUNCTIONS:
        return taken
    if op.type == "LookupTableFindV2":  # of a table that does not change once it is filled
        return op.inputs[0].op.type == "HashTableV2"
    return op.type in _IN_ANY_ORDER


def _places(step: Step) -> tuple[int, ...]:
    return (step.outputs,) if isinstance(step.outputs, int) else tuple(step.outputs)


def _size(value: Any) -> int:
    return int(value.nbytes) if hasattr(value, "nbytes") else len(value) if isinstance(value, bytes) else 64
