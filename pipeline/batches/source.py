"""Sources of examples: a callable, an iterable, a queue, or anything that gives blocks, made ready to be read."""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from pipeline import spans
from pipeline.batches.iterables import (
    WANTED,
    check_callable,
    check_iterable,
    is_generator_function,
    items,
    starts_over,
)
from pipeline.errors import DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from pipeline.nest import map_values
from pipeline.queues.base import QueueBase
from pipeline.queues.rows import Rows
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import gathered
from pipeline.sources.stream import PartsCursor
from pipeline.spans import noted
from pipeline.workers.ahead import MapAhead

P = ParamSpec("P")

# Rows move in blocks of about this many bytes, which stay in the cache, and of at most this many rows.
BLOCK_BYTES = 2 << 20
BLOCK_ROWS = 4096
FIRST_BLOCK = 8  # rows, while their size is not known

# A list with a source among so many items is one of sources. To look at 20,000 examples took longer than to batch them.
_SOURCES = 64

# What `OpenSource.keeping` keeps before the example, from the moment on at which it asks for that.
_ASKED = object()

# Seconds between two checks whether the loop was left, of a thread that waits in a queue that is not the loop's.
CHECK_INTERVAL = 0.1


class OpenSource(NamedTuple):
    """A source that is ready to be read.

    Attributes:
        take: Gives the next example or block; StopIteration or OutOfRangeError at the end. Any thread may call it.
        many: It gives blocks.
        iterator: It reads an iterator, which an exception ends.
        name: For the names of threads.
        turn: A thread holds this while it takes from `examples` instead, once or many times; None: it need not.
        examples: What `take` gives.
        steady: They are there already: no later one changes them.
        keeping: As `take`; the list gets the example at the moment when it is taken, so that the same call gives it
            again if Ctrl-C strikes. None: there is no such way.
    """

    take: Callable[[], Any]
    many: bool
    iterator: bool
    name: str
    turn: AbstractContextManager[Any] | None
    examples: Iterator[Any]
    steady: bool = False
    keeping: Callable[[list[Any]], Any] | None = None


def is_source(thing: Any) -> bool:
    """Whether this is something to read examples from, and not itself an example."""
    return callable(thing) or isinstance(thing, QueueBase) or callable(getattr(thing, "block", None))


def is_iterable(source: Any) -> bool:
    """Whether a source that `check_source` lets pass is read as an iterable."""
    return is_generator_function(source) or not is_source(source)


def check_source(source: Any) -> None:
    """Raise TypeError for what cannot be the source of a batch."""
    if is_source(source):
        check_callable(source)
    elif isinstance(source, (list, tuple)) and any(map(is_source, source[:_SOURCES])):
        raise TypeError(f"{WANTED}, not a list of them: that is for batch_join and shuffle_batch_join")
    else:
        check_iterable(source)


def open_source(
    source: Any,
    many: bool,
    alone: bool,
    block_rows: int | None,
    room: Callable[[], int] | None,
    stopped: Callable[[], bool],
) -> OpenSource:
    """Make a source ready to be read.

    Args:
        source: What `check_source` lets pass.
        many: Each thing that it gives is a block of examples.
        alone: Only one thread reads it.
        block_rows: The largest block of use, for a source of single examples that can give blocks too; None to take
            examples one by one.
        room: How many rows the next block may have; None if that is always the same.
        stopped: Whether waiting for the next example is in vain.
    """
    if isinstance(source, MapAhead):
        return _open_map_ahead(source, many, block_rows, stopped)
    give = None if many or block_rows is None else row_giver(source, stopped)
    if give is not None and block_rows is not None:
        fitting = give if room is None else limited(give, room)
        return _without_turns(sized(fitting, block_rows), True, op_name(source), getattr(source, "iterator", False))
    block = getattr(source, "block", None)
    if callable(block) and not callable(source) and not isinstance(source, QueueBase):
        return _without_turns(lambda: first_row(block(1)), many, op_name(source), getattr(source, "iterator", False))
    if isinstance(source, QueueBase):
        return _without_turns(lambda: _dequeue(source, stopped), many, op_name(source))
    if not is_iterable(source):
        name = op_name(source)
        opened = _without_turns(noted(source, name) if spans.on else source, many, name)
        return opened._replace(keeping=_keeping(opened.examples, name))
    examples, steady = items(source), type(source) in (list, tuple)
    keeping = None if starts_over(source) else _keeping(examples, op_name(source))
    if alone:
        return OpenSource(examples.__next__, many, True, op_name(source), None, examples, steady, keeping)
    lock = threading.Lock()
    take = _locked(examples.__next__, lock, stopped)
    return OpenSource(take, many, True, op_name(source), lock, examples, steady, keeping)


def _open_map_ahead(source: MapAhead, many: bool, block_rows: int | None, stopped: Callable[[], bool]) -> OpenSource:
    """As `open_source`. It can tell that waiting is in vain."""
    # Its blocks are what a worker made, and may become batches as they are.
    most = 0 if many or block_rows is None else max(1, min(block_rows, BLOCK_ROWS))

    def take(kept: list[Any] | None = None) -> Any:
        taken = kept[0] if kept else source.take(most, stopped, kept)
        return map_values(_integers, taken) if most else taken

    return _without_turns(take, many or most > 0, op_name(source))._replace(keeping=take)


def row_giver(source: Any, stopped: Callable[[], bool]) -> Callable[[int], Any] | None:
    """What gives a block of at most so many rows of a source of single examples; None if it gives no blocks."""
    if isinstance(source, MapAhead):
        return lambda n: map_values(_integers, source.take(n, stopped))
    block = getattr(source, "block", None)
    if callable(block):
        return getattr(source, "rows", block)  # type: ignore[no-any-return]
    if isinstance(source, QueueBase) and _stackable(source):
        return lambda n: _queue_block(source, n, stopped)
    return None


def _integers(values: Any) -> Any:
    """A component of a block; Python's integers as an array, so that a queue takes it and the others as they are."""
    if isinstance(values, list) and set(map(type, values)) == {int}:
        array = np.array(values)
        return array if array.dtype == np.int64 else values  # not those that are too large for it
    return values


def _without_turns(take: Callable[[], Any], many: bool, name: str, iterator: bool = False) -> OpenSource:
    """A source that each of its threads may ask at any time."""
    # starmap calls without a step of Python.
    examples = itertools.starmap(take, itertools.repeat(()))
    return OpenSource(take, many, iterator, name, None, examples)


def _keeping(examples: Iterator[Any], name: str) -> Callable[[list[Any]], Any]:
    """`OpenSource.keeping`, for a source with this name that nobody else reads meanwhile.

    It notes that it asks the source, too: where Ctrl-C struck that, nobody knows what the source had done.
    """

    def take(kept: list[Any]) -> Any:
        if kept == [_ASKED]:
            raise interrupted(name, "it took its first example from this, which cannot go back")
        if not kept:
            try:
                # Without a step of Python in between.
                kept.extend(itertools.chain((_ASKED,), itertools.islice(examples, 1)))
            except Exception:
                kept.clear()
                raise
        if len(kept) == 1:
            kept.clear()
            raise StopIteration
        return kept[1]

    return take


def _locked(following: Callable[[], Any], lock: threading.Lock, stopped: Callable[[], bool]) -> Callable[[], Any]:
    """Takes the items of an iterator under a lock: two threads may not resume a generator at once."""
    taken = 0

    def take() -> Any:
        nonlocal taken
        before = taken
        # Not acquire() and release(): an exception from outside may strike between them and `try`, and then nobody
        # else could take anything.
        with lock:
            if taken != before and stopped():  # while another thread waited for an item: do not ask for one more
                raise loop_left()
            try:
                return following()
            finally:
                taken += 1

    return take


def limited(give: Callable[[int], Any], room: Callable[[], int]) -> Callable[[int], Any]:
    """Gives no more rows than there is room for."""
    return lambda n: give(min(n, room()))


def sized(give: Callable[[int], Any], rows: int) -> Callable[[], Any]:
    """Takes blocks of as many rows as fit in BLOCK_BYTES, judging by the rows of the first block."""
    most = max(1, min(rows, BLOCK_ROWS))
    n, known = min(most, FIRST_BLOCK), most == 1

    def take() -> Any:
        nonlocal n, known
        block = give(n)
        if not known:
            n, known = max(1, min(most, BLOCK_BYTES // _row_bytes(block))), True
        return block

    return take


def _row_bytes(block: Any) -> int:
    size = 0

    def add(component: Any) -> None:
        nonlocal size
        size += _component_bytes(component)

    map_values(add, block)
    return max(1, size)


def _component_bytes(component: Any) -> int:
    """The bytes of one row of a component of a block."""
    array: Any = component if isinstance(component, Rows) else None
    if array is None and not isinstance(component, (list, tuple)):
        array = np.asarray(component)
    if array is None or array.dtype.hasobject:
        return 256  # a guess: strings of one line
    return int(math.prod(array.shape[1:]) * array.dtype.itemsize)


def _stackable(queue: QueueBase) -> bool:
    """Whether a block of elements equals the elements one by one."""
    shapes = queue.shapes
    return bool(shapes) and all(
        shape is not None and None not in shape and dtype.kind != "O"
        for shape, dtype in zip(shapes, queue.dtypes, strict=True)
    )


def _dequeue(queue: QueueBase, stopped: Callable[[], bool]) -> Any:
    """Take one element. Nothing wakes a thread that waits in a queue that is not the loop's own, so it checks."""
    while True:
        try:
            return queue.dequeue(timeout=CHECK_INTERVAL)
        except DeadlineExceededError:
            if stopped():
                raise loop_left() from None


def _queue_block(queue: QueueBase, n: int, stopped: Callable[[], bool]) -> Any:
    """Take the elements that are there, at most n; waits only for the first."""
    there = min(queue.size(), n)
    if there > 1:
        try:
            return queue.dequeue_up_to(there, timeout=0)
        except DeadlineExceededError:  # others took some, or a shuffle queue holds them back
            pass
    return _as_block(_dequeue(queue, stopped))


def _as_block(example: Any) -> Any:
    """Make a block of one example."""
    return map_values(
        lambda each: np.asarray(each)[None] if isinstance(each, (np.ndarray, np.generic)) else [each], example
    )


def first_row(block: Any) -> Any:
    """The first example of a block."""
    return map_values(lambda component: gathered(component)[0], block)


def recall(sources: Sequence[Any]) -> None:
    """Cancel what workers prepare for a loop that was left."""
    for source in sources:
        if isinstance(source, (MapAhead, PartsCursor)):
            source.recall()


def weakly(method: Callable[P, Any]) -> Callable[P, Any]:
    """What calls a method and does not keep its object alive; once that is gone, it returns True.

    For what a reader or a producer keeps of a loop that is over, since some live as long as the program; and for what
    the loop itself keeps: a cycle would hold its arrays until the next garbage collection.
    """
    known = weakref.WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        here = known()
        return here is None or here(*args, **kwargs)

    return call


def loop_left() -> OutOfRangeError:
    """The error that ends the threads of a loop that was left."""
    return OutOfRangeError(None, None, "the loop over the batches was left")


def interrupted(name: str, during: str) -> FailedPreconditionError:
    """The error of a loop with this name that Ctrl-C has struck where it cannot go on."""
    return FailedPreconditionError(None, None, f"{name}: the loop was interrupted while {during}. Make a new one")
