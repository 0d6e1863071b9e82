"""Hold several elements in one thread while a queue is full, and enqueue them together.

In TensorFlow each runner thread holds one element while there is no room. Here one thread works while the others stand
by, so it holds as many elements as they all would, and waits for room once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Operation
from pipeline.compat.queues.gil_turns import before_waiting
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.plan import Plan
from pipeline.compat.session.run import SessionRun, current
from pipeline.compat.session.session import BaseSession
from pipeline.diagnostics.workers import note_read, this_thread
from pipeline.dtypes import object_vector
from pipeline.errors import InvalidArgumentError, OpError

# Operations that wait for a queue. They first enqueue all elements in hand, because that queue's producers may wait for
# them.
_WAITING = frozenset(("QueueDequeueV2", "ReaderReadV2"))
# User functions may wait for anything.
FUNCTIONS = frozenset(("PyFunc", "PyFuncStateless"))


def in_hand(sess: BaseSession, op: Operation, single: Callable[[], object], threads: int) -> Callable[[], object]:
    """Return a function that enqueues one element, or several at once while there is no room.

    Args:
        sess: The session.
        op: The enqueue operation.
        single: Function that runs it once.
        threads: Number of threads running it.
    """
    if threads < 2 or op.control_inputs or sess._timeout is not None:
        return single
    plan = Plan(op.inputs[1:], (), sess._folded)
    alone = any(each.type not in _WAITING if each.blocking else each.type in FUNCTIONS for each in plan.ops)
    return single if alone else ElementsInHand(sess, op, plan, single, threads)


class ElementsInHand:
    """Makes elements until there is room, then enqueues them. For a single thread.

    Args:
        sess: The session.
        op: The enqueue operation.
        plan: Computes its components.
        single: Function that runs it once.
        most: Maximum number of elements to make while there is no room.
    """

    def __init__(self, sess: BaseSession, op: Operation, plan: Plan, single: Callable[[], object], most: int) -> None:
        self._sess, self._op, self._plan, self._single, self._most = sess, op, plan, single, most
        self._queue: Any = None
        self._elements: list[tuple[Any, ...]] = []
        self._keys: list[Sequence[bytes] | None] = []  # record keys, per element

    def __call__(self) -> object:
        """Make and enqueue at least one element."""
        if self._queue is None:
            self._queue = self._sess.run(self._op.inputs[0])
        shapes = self._queue.spec.shapes
        if shapes is None or not all(each.is_fully_defined() for each in shapes):
            return self._single()
        try:
            while True:
                run = self._begin()
                before_waiting(self._put_in)
                this_thread.keys = None
                element = tuple(self._plan.run(run))  # may enqueue the earlier ones
                self._elements.append(element)
                self._keys.append(this_thread.keys)
                if len(self._elements) >= self._most or self._queue._flow()[1]:
                    return None
        finally:
            before_waiting(None)
            self._put_in()

    def _begin(self) -> SessionRun:
        self._sess._check_open()
        return self._sess._begin(None)

    def _put_in(self) -> None:
        elements, self._elements = self._elements, []
        keys, self._keys = self._keys, []
        if not elements:
            return
        outer, current.run = current.run, self._begin()
        try:
            if len(elements) == 1:
                self._queue.enqueue(elements[0])
            else:
                self._put_all(elements, keys)
        except OpError as error:
            raise op_error(error, self._op) from error.__cause__
        finally:
            current.run = outer

    def _put_all(self, elements: list[tuple[Any, ...]], keys: list[Sequence[bytes] | None]) -> None:
        try:
            self._queue._enqueue_each(tuple(map(_column, zip(*elements, strict=True))))
            return
        except (InvalidArgumentError, ValueError):  # nothing went in: find the element that does not fit
            pass
        wrong = None
        for element, read in zip(elements, keys, strict=True):
            try:
                self._queue.enqueue(element)
            except InvalidArgumentError as error:
                if wrong is None:
                    wrong = error
                    if read is not None:
                        note_read(read)
        if wrong is not None:
            raise wrong


def _column(values: tuple[Any, ...]) -> Any:
    return object_vector(values) if isinstance(values[0], bytes) else np.array(values)
