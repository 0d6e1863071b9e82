"""The short way of single examples into the queue: one loop, if nobody has to look at them on the way.

The time that Python takes for each example counts here: a row of 16 bytes from a generator, in a batch, costs 0.11 us
if compiled code takes it, 0.17 us by a loop in Python, and 0.46 us if the runner makes a call for each.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from pipeline.batches.layout import ExampleLayout, ToComponents
from pipeline.batches.source import OpenSource, loop_left
from pipeline.errors import OutOfRangeError
from pipeline.explain.workers import Worker, current_worker
from pipeline.queues.typed import TypedQueue

_SOON = 0.001  # seconds, that a stop may have to wait


def mover(
    source: OpenSource,
    queue: TypedQueue,
    layout: ExampleLayout,
    to_components: ToComponents,
    stopped: Callable[[], bool],
    missing: Callable[[], int],
    at_once: bool,
) -> Callable[[], None]:
    """Make what moves all further examples of a source; each is in the queue before it asks for the next one.

    Args:
        source: What gives them.
        queue: Its rows are small, or vary in shape.
        layout: The layout of the examples.
        to_components: How they are taken apart: as the layout says, or as those of a source of a join.
        stopped: Whether to ask the source no more.
        missing: How many examples are wanted; -1 for all.
        at_once: Who moves them takes all of them out before anybody can change one.

    Returns:
        A function that returns once `stopped()`, or when it has moved so many. It raises OutOfRangeError at the end of
        the source, and what the source or the queue raises.
    """
    own = to_components == layout.to_components
    bare, count = own and layout.bare, layout.tuple_length if own else 0
    examples = source.examples
    # zip makes 1-tuples without a step of Python.
    values: Iterator[Any] = zip(examples, strict=False) if bare else examples if count else map(to_components, examples)
    # If the source keeps no reference to an array, the 1-tuple has the only one. An array of varying shape, which the
    # queue holds as it is, then needs no copy.
    give = bare and None in (queue.shapes[0] or (None,))
    enqueue: Callable[[Any], None] = queue._enqueue_given if give else queue.enqueue
    strides = _Strides(examples, queue, stopped, at_once and source.steady)

    def move() -> None:
        worker = current_worker()
        assert worker is not None
        if stopped():
            raise loop_left()
        left = missing()
        if bare:
            left = strides.move(left, worker)
        for each in values if left < 0 else itertools.islice(values, left):
            # Most examples are tuples of the right length. Looking at them here saves 70 ns.
            enqueue(to_components(each) if count and (type(each) is not tuple or len(each) != count) else each)
            worker.keys = None  # what was read for this example has nothing to do with an error in the next
            left -= 1
            if stopped():
                return
        if left:
            raise _used_up()

    return move if source.turn is None else _in_turn(source.turn, move)


def _in_turn(turn: AbstractContextManager[Any], move: Callable[[], None]) -> Callable[[], None]:
    def move_in_turn() -> None:
        with turn:
            move()

    return move_in_turn


class _Strides:
    """Moves examples with no step of Python for each: many at once if that takes no time, fewer if others would have to
    wait for the interpreter's lock, or a stop for a loop that has no thread. It is for one thread at a time.

    Args:
        examples: What gives them.
        queue: Where to; it has one component.
        stopped: Whether to ask for no more.
        steady: No example changes before it leaves the queue.
    """

    def __init__(self, examples: Iterator[Any], queue: TypedQueue, stopped: Callable[[], bool], steady: bool) -> None:
        self._examples, self._enqueue, self._stopped, self._steady = examples, queue._enqueue_from, stopped, steady
        self._stride = 1

    def move(self, wanted: int, worker: Worker) -> int:
        """Move so many examples, or with -1 all, until stopped; return how many are left to be moved one by one, as
        records are read for them.

        Raises:
            OutOfRangeError: The source is at its end.
        """
        while wanted:
            worker.keys, began = None, time.monotonic()
            stride = self._stride if wanted < 0 else min(self._stride, wanted)
            moved = self._enqueue(self._examples, stride, self._steady, worker, self._stopped if wanted < 0 else None)
            if self._stopped():
                return 0
            if wanted > 0:
                wanted -= moved
            if worker.keys is not None:
                worker.keys, self._stride = None, 1
                return wanted
            if moved < stride:
                raise _used_up()
            self._stride = 2 * stride if time.monotonic() - began < _SOON else max(1, stride // 2)
        return 0


def _used_up() -> OutOfRangeError:
    return OutOfRangeError(None, None, "the source of the batches is used up")
