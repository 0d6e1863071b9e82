"""Prefetch: a thread that takes elements of a stream ahead of the consumer, through a queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from pipeline.flow.block import Block
from pipeline.flow.run import Run
from pipeline.flow.segment import position_of
from pipeline.flow.stream import Stream, dropped, later, seek_later
from pipeline.queues.kinds import FIFOQueue
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.runner import QueueRunner

# Elements that are passed on at once: one by one takes 10 us each.
AT_ONCE = 64

# Seconds between two looks whether the iterator was closed.
_LOOK = 0.5


class Item(NamedTuple):
    """What the thread passes on.

    Attributes:
        at: The position of its first element; the error that says why there is none.
        what: Elements, the error that ended the input, or None for its end.
        after: The position after them.
    """

    at: Any
    what: Block | BaseException | None
    after: Any


class Prefetch:
    """The elements of a stream, taken ahead by the thread of a QueueRunner.

    The thread starts with the first `take`, and ends with the input.

    Args:
        stream: The elements; once the thread runs, only it takes any.
        n: How many may wait.
        shared: What the streams of the iterator share.
        name: What the queue is called.
        begun: Called with the queue and the threads that fill it, when they begin; None if nobody wants to know.
    """

    def __init__(
        self, stream: Stream, n: int, shared: Run, name: str, begun: Callable[[Any, Any], object] | None = None
    ) -> None:
        self._stream = stream
        self._n = n
        self._at_once = max(1, min(n // 2, AT_ONCE))
        self._run = shared
        self._name, self._begun = name, begun
        self._queue: FIFOQueue | None = None
        self._coord = Coordinator()
        self._front: Item | None = None
        self._offset = 0  # elements of the front that were taken
        self._over = False
        self._at: Any = None  # of the thread: where the stream is
        self._after: Any = None  # where it was after what was taken
        shared.on_stop(self._stop)

    def take(self, n: int) -> Block | None:
        while True:
            item = self._front
            if item is None:
                if self._over:
                    return None
                item = self._front = self._next()
                self._offset = 0
            if isinstance(item.what, Block):
                block = item.what[self._offset : self._offset + n]
                self._offset += len(block)
                if self._offset >= len(item.what):
                    self._front, self._after = None, item.after
                return block
            self._over = True
            self._front = None
            if item.what is not None:
                raise item.what

    def _next(self) -> Item:
        queue = self._start()
        while True:
            self._run.check()
            try:
                item: Item = queue.dequeue(timeout=self._run.left(_LOOK))
            except DeadlineExceededError:
                continue
            except OutOfRangeError as error:
                self._run.check()
                raise error.__cause__ or error from None
            return item

    def _start(self) -> FIFOQueue:
        if self._queue is None:
            self._at = self._after = position_of(self._stream)
            queue = FIFOQueue(max(1, self._n // self._at_once), [object], [()], name=self._name)
            runner = QueueRunner(queue, [self._fill])
            if self._begun is not None:
                self._begun(queue, runner.group)
            self._queue = queue
            self._coord = Coordinator()
            runner.create_threads(coord=self._coord, daemon=True, start=True)
        return self._queue

    def _fill(self) -> None:
        """Take elements and put them into the queue; the thread calls this again and again."""
        queue, stream = self._queue, self._stream
        assert queue is not None
        at = self._at
        try:
            block = stream.take(self._at_once)
        except CancelledError:
            raise OutOfRangeError(None, None, "the iterator was closed") from None
        except Exception as error:
            queue.enqueue([Item(at, error, at)])
            raise OutOfRangeError(None, None, "the input ended by an error") from None
        self._at = position_of(stream)
        queue.enqueue([Item(at, block, self._at)])
        if block is None:
            raise OutOfRangeError(None, None, "the input is used up")

    def skip(self, n: int) -> int:
        if self._queue is None and self._front is None:
            return self._stream.skip(n)
        return dropped(self, n)

    def position(self) -> Any:
        if self._queue is None:
            return self._stream.position()
        front = self._front
        position = self._after if front is None else front.at
        if isinstance(position, Exception):
            raise position
        return position if front is None else later(position, self._offset)

    def seek(self, position: Any) -> None:
        self._end()
        self._front, self._offset, self._over = None, 0, False
        seek_later(self._stream, position)

    def close(self) -> None:
        self._end()
        self._stream.close()

    def _stop(self) -> None:
        self._coord.request_stop()
        if self._queue is not None:
            self._queue.close(cancel_pending_enqueues=True)

    def _end(self) -> None:
        """End the thread, and forget what it has taken ahead."""
        if self._queue is None:
            return
        self._stop()
        if threading.current_thread() not in self._threads():
            self._coord.join(stop_grace_period_secs=10)
        self._queue = None

    def _threads(self) -> set[threading.Thread]:
        return set(getattr(self._coord, "_registered_threads", ()))
