"""Prefetch: threads that take elements of streams ahead of the consumer, through a queue."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from pipeline._next import Gauge, MadeBatches
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.dtypes import object_vector
from pipeline.errors import CancelledError, DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from pipeline.flow.block import Block, Examples, Made
from pipeline.flow.run import Run, serving
from pipeline.flow.stream import (
    Element,
    Stream,
    alone,
    block_of,
    dropped,
    elements_of,
    gives_elements,
    later,
    nowhere,
    seek_later,
)
from pipeline.queues.kinds import FIFOQueue
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.ending import wait_for_end
from pipeline.runners.runner import QueueRunner

# Elements that are passed on at once: one by one takes 10 us each.
AT_ONCE = 64

# Seconds between two looks whether the iterator was closed.
_LOOK = 0.5

# Seconds that an element of several threads may wait for others: to wake for each takes longer than to pass it on.
_TOGETHER = 0.001

_ONCE: tuple[tuple[()]] = ((),)  # the arguments of one call


class Item(NamedTuple):
    """What a thread passes on.

    Attributes:
        at: The position of its first element; or the error that says why there is none.
        what: Elements in a block, batches that were made together, or one element alone; or the error that ended the
            input.
        size: How many elements.
        after: The position after them.
    """

    at: Any
    what: Any
    size: int
    after: Any


def _made(block: Block) -> Block:
    """Return a block whose elements are made: that is the work."""
    return Block(Made(block.made(), block.values), block.ids, block.numbers)


class Prefetch:
    """The elements of streams, taken ahead by the threads of a QueueRunner, one for each stream.

    The threads start with the first `take` or `element`, and end with the input. What came out of their queue stays
    here until the next call, or `done`: if the caller was interrupted, `again` gives it once more. With one stream the
    elements keep their order and have positions; those of several come as they come.

    If the first call is `element`, batches are passed on as they are: 3 us less for each than as a block of one. Those
    that the stream has ready are made and handed over in C.

    Args:
        streams: The elements; once the threads run, each takes of its own.
        n: How many may wait.
        shared: What the streams of the iterator share.
        name: What the queue is called.
        begun: Called with the queue and the threads that fill it, when they begin; None if nobody wants to know.
        live: Whether an element may be long in coming: then each is passed on alone, as it comes.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        n: int,
        shared: Run,
        name: str,
        begun: Callable[[Any, Any], object] | None = None,
        live: bool = True,
    ) -> None:
        self._streams = streams
        self._n = n
        self._at_once = 1 if live or gives_elements(streams[0]) else max(1, min(n // 2, AT_ONCE))
        self._most = min(n // 4, 16) if n >= 8 else 0  # batches ready that are passed on with the element before them
        self._run = shared
        self._name, self._begun = name, begun
        self._queue: FIFOQueue | None = None
        self._one_by_one = False  # whether the threads pass elements on, not blocks
        self._group: WorkerGroup | None = None  # the threads
        self._coord: Coordinator | None = None
        self._runs = False  # whether the threads were started, and no interrupt came in between
        self._process = os.getpid()  # that the threads are of
        self._ready: Callable[[int], MadeBatches | None] = lambda most: None  # returns such batches
        self._reset(None)
        shared.on_stop(self._stop)

    @property
    def gives_elements(self) -> bool:
        return gives_elements(self._streams[0])

    def begin(self) -> None:
        """Start the threads, if they do not run; else the first `element` does."""
        if not self._forked:
            self._start(True)

    def _reset(self, at: Any) -> None:
        self._items: list[Any] = []  # that was taken out of the queue: `Item`, or elements, each in a tuple of its own
        self._first = 0  # the number of its first element, or of the one that comes next
        self._next = 0  # the number of the element that comes next
        self._over = False
        self._at = self._after = at  # where the thread is; where the stream is after what was taken

    def take(self, n: int) -> Block | None:
        item = self._next_item(False, n)
        if item is None:
            return None
        number = self._next
        offset = number - self._first
        self._next = number + min(n, item.size - offset)
        if type(item.what) is not Block:
            self._next = number
            return block_of(self._one(item), number + 1)
        block = item.what[offset : offset + n] if offset or n < item.size else item.what
        return self._numbered(block, number)

    def element(self) -> Element | None:
        """Return the next element; None at the end."""
        item = self._next_item(True, 1)
        if item is None:
            return None
        return self._one(item) if type(item.what) is not Block else alone(self.take(1))

    def _one(self, item: Item) -> Element:
        """Return the next element, which is not in a block."""
        i = self._next - self._first
        self._next += 1
        return item.what.element(i) if type(item.what) is MadeBatches else item.what

    def ready(self) -> tuple[MadeBatches, int, Callable[[Any, int], Any]] | None:
        """As that of `IndexedBatches`."""
        made = self._items[0].what if self._items else None
        return (made, made.n, made.later) if type(made) is MadeBatches and made.left else None

    def _next_item(self, one_by_one: bool, n: int) -> Item | None:
        """Return what has the next element; None at the end. `one_by_one` is for threads that this starts, and n is how
        many elements are wanted."""
        if self._queue is None or self._process != os.getpid():
            if self._forked:
                text = (
                    f"{self._run.name}: this iterator was made before os.fork(), and its thread does not run in the "
                    "child. Make a new one there with iter(dataset); load_state_dict with the state of this one "
                    "continues it"
                )
                raise FailedPreconditionError(None, None, text)
            if not self._over:
                self._start(one_by_one)
        while not self._over:
            self.done()
            if not self._items:
                self._over = not self._fetch(n)
                continue
            if type(self._items[0]) is tuple:
                self._join_elements()
            item: Item = self._items[0]
            if isinstance(item.what, BaseException):
                self._over = True
                raise item.what
            return item
        return None

    def _join_elements(self) -> None:
        """Make a block of the elements that come next, which came one by one."""
        items = self._items
        elements = [item[0] for item in itertools.takewhile(lambda item: type(item) is tuple, items)]
        count = len(elements)
        items[:count] = [Item(None, Block(Examples(elements), range(count), range(count)), count, None)]

    def _numbered(self, block: Block, number: int) -> Block:
        """Return elements of several streams with numbers, and ids, of their own."""
        if len(self._streams) == 1:
            return block
        numbers = range(number, number + len(block))
        return Block(block.values, numbers, numbers)

    def done(self) -> None:
        """Forget what was taken: the caller has it."""
        if not self._items or type(self._items[0]) is tuple:
            return
        item = self._heard()
        if type(item.what) is MadeBatches:
            item.what.give(self._next - self._first)
        if item.size and self._first + item.size <= self._next:
            self._after, self._first = item.after, self._next
            del self._items[0]

    def _heard(self) -> Item:
        """Return what has the next element, after what was handed over of it in C is counted."""
        item: Item = self._items[0]
        if type(item.what) is MadeBatches:
            self._next = max(self._next, self._first + item.what.given)
        return item

    def again(self, taken: int) -> bool:
        """After an interrupt: go on after so many elements that were taken in all. Return whether that was possible."""
        if self._items and self._first <= taken:
            self._next = taken
        return self._next == taken and self._runs

    def _fetch(self, n: int) -> bool:
        """Take what is there for n elements out of the queue, at least one item; return whether there was one. An
        interrupt comes before or after that, as compiled code does both."""
        queue, run = self._queue, self._run
        most, wait = (n - 1, _TOGETHER) if self._at_once == 1 and len(self._streams) > 1 else (self._most, 0)
        assert queue is not None
        while True:
            run.check()
            dequeue = functools.partial(queue.dequeue, timeout=_LOOK if run.deadline is None else run.left(_LOOK))
            try:
                self._items.extend(filter(None, itertools.starmap(dequeue, _ONCE)))
                if wait and most > queue.size():
                    with contextlib.suppress(DeadlineExceededError):
                        self._extend(queue, most, wait)
                        return True
                there = min(queue.size(), most)
                if there > 0:
                    self._extend(queue, there, 0)
            except DeadlineExceededError:
                if not self._items:
                    continue
            except OutOfRangeError as error:
                if self._items:  # which come first
                    return True
                self._run.check()
                cause = error.__cause__
                if cause is not None and not isinstance(cause, OutOfRangeError):
                    raise cause from None
                return False
            return True

    def _extend(self, queue: FIFOQueue, n: int, timeout: float) -> None:
        """Take n items."""
        take = functools.partial(queue.dequeue_up_to, n, timeout=timeout)
        self._items.extend(filter(None, itertools.chain.from_iterable(itertools.starmap(take, _ONCE))))

    def _start(self, one_by_one: bool) -> None:
        if self._queue is None:
            single = len(self._streams) == 1
            self._one_by_one = one_by_one and single and gives_elements(self._streams[0])
            self._element = elements_of(self._streams[0])
            self._ready = getattr(self._streams[0], "together", self._ready)
            self._reset(self._streams[0].position() if single else None)
            queue = FIFOQueue(max(1, self._n // self._at_once), [object], [()], name=self._name)
            # That the queue was closed is the end too, not an error that a thread would keep, with all its frames.
            ends = OutOfRangeError, CancelledError
            ops = [functools.partial(self._fill_by(each), queue, each) for each in self._streams]
            for op in ops:
                op.__qualname__ = self._name  # type: ignore[attr-defined]  # what threads are called
            runner = QueueRunner(queue, ops, queue_closed_exception_types=ends)
            if self._begun is not None:
                self._begun(queue, runner._group)
            self._queue, self._group, self._runs = queue, runner._group, False
            self._process = os.getpid()
            self._coord = None if self._run.stops_with is not None else Coordinator()
            coord = self._run.stops_with if self._coord is None else self._coord
            runner.create_threads(coord=coord, daemon=True, start=True)
            self._runs = True
            if self._run.stopped:  # meanwhile, or before: nobody else ends these threads
                self._stop()

    def _fill_by(self, stream: Stream) -> Callable[[FIFOQueue, Any], None]:
        """Return how to pass the elements of a stream on."""
        inner = getattr(stream, "stream", None)
        alone = self._at_once == 1 and len(self._streams) > 1 and hasattr(inner, "one_by_one")
        return self._fill_one_by_one if alone else self._fill

    def _fill_one_by_one(self, queue: FIFOQueue, stream: Gauge) -> None:
        """Put elements into the queue, each as it comes, by a loop in C: 0.4 us each, and 7 as blocks."""
        serving.bell = self._run.bell
        one = stream.stream.one_by_one()  # type: ignore[attr-defined]
        if one is None:
            self._fill(queue, stream)
            return
        error = stream.pass_on(one, AT_ONCE, queue.enqueue)
        if isinstance(error, (StopIteration, OutOfRangeError)):
            raise OutOfRangeError(None, None, "the input is used up")
        if error is not None:
            self._end_by(queue, None, error)

    def _end_by(self, queue: FIFOQueue, at: Any, error: BaseException) -> NoReturn:
        """Pass an error on, if it is not that of a stream which was stopped, and end."""
        if not (isinstance(error, CancelledError) and self._run.cancelled):
            queue.enqueue([Item(at, error, 0, at)])
        raise OutOfRangeError(None, None, "the input ended by an error") from None

    def _fill(self, queue: FIFOQueue, stream: Stream) -> None:
        """Take elements and put them into the queue; a thread calls this again and again."""
        at, serving.bell = self._at, self._run.bell
        try:
            what: Any = self._element() if self._one_by_one else stream.take(self._at_once)
        except BaseException as error:  # also SystemExit: it ends the loop, as without the thread
            self._end_by(queue, at, error)
        if what is None:
            raise OutOfRangeError(None, None, "the input is used up")
        self._at = after = stream.position() if len(self._streams) == 1 else None
        if self._one_by_one:
            self._put_element(queue, stream, Item(at, what, 1, after))
            return
        try:
            made = _made(what)
        except BaseException as error:
            self._fill_alone(queue, at, what, error)
        else:
            queue.enqueue([Item(at, made, len(made), after)])

    def _put_element(self, queue: FIFOQueue, stream: Stream, first: Item) -> None:
        """Put an element into the queue, and the batches that the stream has ready after it."""
        made = None
        if self._most:
            with contextlib.suppress(Exception):  # which comes again with the next element
                made = self._ready(self._most)
        if made is None:
            queue.enqueue([first])
            return
        at, self._at = self._at, stream.position()
        rest = itertools.repeat(None, len(made) - 1)  # as each batch has a place in the queue
        queue.enqueue_many([object_vector([first, Item(at, made, len(made), self._at), *rest])])

    def _fill_alone(self, queue: FIFOQueue, at: Any, block: Block, error: BaseException) -> None:
        """Put elements that could not be made together into the queue one by one, up to the one that fails."""
        for number in range(len(block)):
            before = later(at, number)
            try:
                if len(block) == 1:
                    raise error
                made = _made(block[number : number + 1])
            except BaseException as alone:
                self._end_by(queue, before, alone)
            queue.enqueue([Item(before, made, 1, later(at, number + 1))])

    def skip(self, n: int) -> int:
        if self._queue is None and len(self._streams) == 1:
            return self._streams[0].skip(n)
        return dropped(self, n)

    def position(self) -> Any:
        if len(self._streams) > 1:
            return nowhere(f"{self._name}: several threads fill it, in the order in which they come")
        if self._queue is None:
            return self._streams[0].position()
        if not self._items:
            return self._after
        item = self._heard()
        offset = self._next - self._first
        if not item.size or offset >= item.size:
            return item.after
        return item.what.position(item.at, offset) if type(item.what) is MadeBatches else later(item.at, offset)

    def seek(self, position: Any) -> None:
        if len(self._streams) > 1:
            raise self.position()
        self._end()
        seek_later(self._streams[0], position)

    def close(self) -> None:
        self._end()
        for stream in self._streams:
            stream.close()

    @property
    def _forked(self) -> bool:
        """Whether this is the child of the process that has the thread."""
        return self._queue is not None and self._process != os.getpid()

    def _stop(self) -> None:
        if self._forked:
            return
        if self._coord is not None:
            self._coord.request_stop()
        if self._queue is not None:
            self._queue.close(cancel_pending_enqueues=True)

    def _end(self) -> None:
        """End the threads, and forget what they have taken ahead."""
        if self._queue is None:
            return
        self._stop()
        group = self._group
        if not self._forked and group is not None and not group.includes(threading.current_thread()):
            self._join(group)
        self._queue = None
        self._reset(None)

    def _join(self, group: WorkerGroup) -> None:
        (grace,) = self._run.grace
        if self._coord is not None:
            self._coord.join(stop_grace_period_secs=grace)
            return
        deadline = time.monotonic() + grace
        for thread in group.times():  # and not the one that waits for the end of all
            wait_for_end(thread, deadline)
