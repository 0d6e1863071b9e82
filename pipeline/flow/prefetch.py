"""Prefetch: a thread that takes elements of a stream ahead of the consumer, through a queue."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.errors import CancelledError, DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from pipeline.flow.block import Block
from pipeline.flow.run import Run, serving
from pipeline.flow.segment import position_of
from pipeline.flow.stream import Stream, dropped, later, seek_later
from pipeline.queues.kinds import FIFOQueue
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.runner import QueueRunner

# Elements that are passed on at once: one by one takes 10 us each.
AT_ONCE = 64

# Seconds between two looks whether the iterator was closed.
_LOOK = 0.5

_ONCE: tuple[tuple[()]] = ((),)  # the arguments of one call


class Item(NamedTuple):
    """What the thread passes on.

    Attributes:
        first: The number of its first element, counted from where the thread began.
        at: The position of that; or the error that says why there is none.
        what: Elements, the error that ended the input, or None for its end.
        after: The position after them.
    """

    first: int
    at: Any
    what: Block | BaseException | None
    after: Any

    @property
    def end(self) -> int:
        """The number of the element after them."""
        return self.first + (len(self.what) if isinstance(self.what, Block) else 0)


class Prefetch:
    """The elements of a stream, taken ahead by the thread of a QueueRunner.

    The thread starts with the first `take`, and ends with the input. What was taken out of its queue stays here until
    the next call, or `done`: if the caller was interrupted, `again` gives it once more.

    Args:
        stream: The elements; once the thread runs, only it takes any.
        n: How many may wait.
        shared: What the streams of the iterator share.
        name: What the queue is called.
        begun: Called with the queue and the threads that fill it, when they begin; None if nobody wants to know.
        live: Whether an element may be long in coming: then each is passed on alone, as it comes.
    """

    def __init__(
        self,
        stream: Stream,
        n: int,
        shared: Run,
        name: str,
        begun: Callable[[Any, Any], object] | None = None,
        live: bool = True,
    ) -> None:
        self._stream = stream
        self._n = n
        self._at_once = 1 if live else max(1, min(n // 2, AT_ONCE))
        self._run = shared
        self._name, self._begun = name, begun
        self._queue: FIFOQueue | None = None
        self._coord = Coordinator()
        self._runs = False  # whether the thread was started, and no interrupt came in between
        self._process = os.getpid()  # that the thread is of
        self._begin(None)
        shared.on_stop(self._stop)

    def _begin(self, at: Any) -> None:
        self._items: list[Item] = []  # that were taken out of the queue
        self._next = 0  # the number of the element that comes next
        self._over = False
        self._at = self._after = at  # where the thread is; where the stream is after what was taken
        self._first = 0  # of the thread: the number of the next element

    def take(self, n: int) -> Block | None:
        if self._forked:
            text = (
                f"{self._run.name}: this iterator was made before os.fork(), and its thread does not run in the child. "
                "Make a new one there with iter(dataset); load_state_dict with the state of this one continues it"
            )
            raise FailedPreconditionError(None, None, text)
        while not self._over:
            self.done()
            if not self._items:
                self._fetch()
            item, number = self._items[0], self._next
            if isinstance(item.what, Block):
                offset = number - item.first
                block = item.what[offset : offset + n] if offset or n < len(item.what) else item.what
                self._next = number + len(block)
                return block
            self._over = True
            if item.what is not None:
                raise item.what
        return None

    def done(self) -> None:
        """Forget what was taken: the caller has it."""
        items = self._items
        if items and items[0].end <= self._next and isinstance(items[0].what, Block):
            self._after = items[0].after
            del items[0]

    def again(self, taken: int) -> bool:
        """After an interrupt: go on after so many elements that were taken in all. Return whether that was possible."""
        if self._items and self._items[0].first <= taken:
            self._next = taken
        return self._next == taken and self._runs

    def _fetch(self) -> None:
        """Take an item out of the queue. An interrupt comes before or after that, as compiled code does both."""
        queue = self._start()
        while True:
            self._run.check()
            dequeue = functools.partial(queue.dequeue, timeout=self._run.left(_LOOK))
            try:
                self._items.extend(itertools.starmap(dequeue, _ONCE))
            except DeadlineExceededError:
                continue
            except OutOfRangeError as error:
                self._run.check()
                raise error.__cause__ or error from None
            return

    def _start(self) -> FIFOQueue:
        if self._queue is None:
            self._begin(position_of(self._stream))
            queue = FIFOQueue(max(1, self._n // self._at_once), [object], [()], name=self._name)
            # That the queue was closed is the end too, not an error that the thread would keep, with all its frames.
            ends = OutOfRangeError, CancelledError
            runner = QueueRunner(queue, [functools.partial(self._fill, queue)], queue_closed_exception_types=ends)
            if self._begun is not None:
                self._begun(queue, runner.group)
            self._queue, self._coord, self._runs = queue, Coordinator(), False
            self._process = os.getpid()
            runner.create_threads(coord=self._coord, daemon=True, start=True)
            self._runs = True
        return self._queue

    def _fill(self, queue: FIFOQueue) -> None:
        """Take elements and put them into the queue; the thread calls this again and again."""
        at, serving.bell = self._at, self._run.bell
        try:
            block = self._stream.take(self._at_once)
        except Exception as error:
            if isinstance(error, CancelledError) and self._run.stopped:
                raise OutOfRangeError(None, None, "the iterator was closed") from None
            queue.enqueue([Item(self._first, at, error, at)])
            raise OutOfRangeError(None, None, "the input ended by an error") from None
        self._at = position_of(self._stream)
        item = Item(self._first, at, block, self._at)
        self._first = item.end
        queue.enqueue([item])
        if block is None:
            raise OutOfRangeError(None, None, "the input is used up")

    def skip(self, n: int) -> int:
        if self._queue is None:
            return self._stream.skip(n)
        return dropped(self, n)

    def position(self) -> Any:
        if self._queue is None:
            return self._stream.position()
        item = self._items[0] if self._items else None
        if item is None:
            position, offset = self._after, 0
        elif self._next < item.end:
            position, offset = item.at, self._next - item.first
        else:
            position, offset = item.after, 0
        if isinstance(position, Exception):
            raise position
        return later(position, offset)

    def seek(self, position: Any) -> None:
        self._end()
        seek_later(self._stream, position)

    def close(self) -> None:
        self._end()
        self._stream.close()

    @property
    def _forked(self) -> bool:
        """Whether this is the child of the process that has the thread."""
        return self._queue is not None and self._process != os.getpid()

    def _stop(self) -> None:
        if self._forked:
            return
        self._coord.request_stop()
        if self._queue is not None:
            self._queue.close(cancel_pending_enqueues=True)

    def _end(self) -> None:
        """End the thread, and forget what it has taken ahead."""
        if self._queue is None:
            return
        self._stop()
        if not self._forked and threading.current_thread() not in self._threads():
            self._coord.join(stop_grace_period_secs=10)
        self._queue = None
        self._begin(None)

    def _threads(self) -> set[threading.Thread]:
        return set(getattr(self._coord, "_registered_threads", ()))
