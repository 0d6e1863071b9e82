"""The loop over batches: starts threads that get examples from a source, hands out batches, stops the threads."""

from __future__ import annotations

import logging
import operator
import threading
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from pipeline.coordinator import Coordinator
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.examples import Layout
from pipeline.queues import QueueBase
from pipeline.runner import QueueRunner, batch_loop, start_registered

_log = logging.getLogger(__name__)


class Batches(Iterator[Any]):
    """The batches that threads prepare: an iterator, and a context manager that stops the threads however it is left.

    The first batch starts the threads, and those of the producers that the source takes its input from. The loop ends
    by itself when the input is used up; it raises what a thread raised, once the batches made before are out. Without
    `with`, the threads are stopped at the end of the input, by `close`, or when the iterator is garbage. Queue runners
    that were registered with `add_queue_runner` and never started belong to the first loop that starts.

    Thread safety: several threads may take batches from one iterator; each batch goes to one of them.

    Attributes:
        queue: The queue of examples; None until the first batch is asked for, since the first example decides its
            dtypes and shapes.
        coord: The Coordinator of the threads. A loop that was given one never stops it: only its own queue is closed,
            and the threads are its owner's to join.
        grace: Seconds that the threads get to end when the loop is left; 10 unless set to something else.
    """

    grace = 10.0

    def __init__(
        self,
        source: Callable[[], Any],
        make_queue: Callable[[Layout], QueueBase],
        batch_size: int,
        num_threads: int,
        enqueue_many: bool,
        smaller_final_batch: bool,
        coord: Coordinator | None,
    ) -> None:
        if not callable(source):
            raise TypeError(f"the source of a batch must be a callable that returns an example, not {source!r}")
        self._batch_size = operator.index(batch_size)
        if self._batch_size < 0:
            raise ValueError(f"batch_size must be >= 0, got {batch_size}")
        if num_threads < 1:
            raise ValueError(f"Must provide queue and enqueue_ops. num_threads must be at least 1, got {num_threads}")
        self._source = source
        self._make_queue = make_queue
        self._num_threads = num_threads
        self._many = enqueue_many
        self._smaller = smaller_final_batch
        self._owner = coord is None
        self.coord = Coordinator() if coord is None else coord
        self.queue: QueueBase | None = None
        self._lock = threading.RLock()  # guards the start and the end
        self._feed: _Feed | None = None
        self._ended = False

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        """Return the next batch, in the container of the examples: arrays [batch_size] + the shape of an example.

        Raises:
            StopIteration: The input is used up, or the loop was closed.
            Exception: What a thread, or the source, raised.
        """
        try:
            feed = self._feed or self._start()
            if feed is None:
                raise StopIteration
            take = feed.queue.dequeue_up_to if self._smaller else feed.queue.dequeue_many
            return feed.layout.rebuild(take(self._batch_size))
        except OutOfRangeError:
            self._finish()
        raise StopIteration

    def __enter__(self) -> Batches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception as other:
            if error is None:
                raise
            # What broke the loop matters more; and this may well be the same exception.
            if other is not error:
                _log.warning("while a loop over batches ended because of %r: %r", error, other)

    def close(self) -> None:
        """Stop the threads, close the queues and wait for the threads to end; nothing if that was done already.

        Raises:
            Exception: What a thread raised and nobody was told yet.
            RuntimeError: A thread does not end within `grace` seconds; the message names it.
        """
        with self._lock:
            if not self._ended:
                self._finish()

    def _start(self) -> _Feed | None:
        """Get the first example, make the queue for it and start the threads; None after the end."""
        with self._lock:
            if self._ended or self._feed is not None:
                return self._feed
            start_registered(self.coord)
            with batch_loop(self.coord):
                try:
                    first = self._source()
                except StopIteration:
                    raise OutOfRangeError(None, None, "the source of the batches gave no example") from None
                except OutOfRangeError:
                    raise
                except Exception as error:  # as if it had happened in a thread
                    self.coord.request_stop(error)
                    self._finish()
                    raise
            layout = Layout(first, self._many)
            self.queue = self._make_queue(layout)
            self._feed = _Feed(self._source, self.queue, layout, self._many, self.coord, first)
            runner = QueueRunner(self.queue, [self._feed.enqueue] * self._num_threads)
            runner.create_threads(coord=self.coord, daemon=True, start=True)
            weakref.finalize(self, _abandon, self._feed, self.coord if self._owner else None).atexit = False
            return self._feed

    def _finish(self) -> None:
        """Stop what was started; the first to come raises what a thread raised, and so does everybody later."""
        with self._lock:
            self._ended = True
            feed, self._feed = self._feed, None
            if feed is not None:
                feed.leave()
            if not self._owner:
                self.coord.raise_requested_exception()
                return
            self.coord.request_stop()
            if self.coord.joined:
                self.coord.raise_requested_exception()
            self.coord.join(stop_grace_period_secs=self.grace)


class _Feed:
    """What the threads share. They hold this, not the iterator, so that an abandoned iterator can be garbage."""

    def __init__(
        self, source: Callable[[], Any], queue: QueueBase, layout: Layout, many: bool, coord: Coordinator, first: Any
    ) -> None:
        self.queue = queue
        self.layout = layout
        self._source = source
        self._many = many
        self._coord = coord
        self._first = [first]  # popped by the thread that comes first
        self._left = False

    def enqueue(self) -> None:
        """The enqueue op: one example, or block of examples, from the source to the queue."""
        try:
            example = self._first.pop()
        except IndexError:
            example = self._next()
        self._put(example)

    def _next(self) -> Any:
        with batch_loop(self._coord):
            try:
                return self._source()
            except StopIteration:
                raise OutOfRangeError(None, None, "the source of the batches is used up") from None

    def _put(self, example: Any) -> None:
        components = self.layout.components(example)
        try:
            if self._many:
                self.queue.enqueue_many(components)
            else:
                self.queue.enqueue(components)
        except CancelledError:
            if not self._left:
                raise
            raise OutOfRangeError(None, None, "the loop over the batches was left") from None

    def leave(self) -> None:
        """Close the queue, so that threads waiting to enqueue end as at the end of the input."""
        self._left = True
        self.queue.close(cancel_pending_enqueues=True)


def _abandon(feed: _Feed, coord: Coordinator | None) -> None:
    if coord is not None:
        coord.request_stop()
    feed.leave()
