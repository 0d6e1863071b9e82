"""BucketFeed: what the threads of bucket_by_sequence_length do."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline._delivery import Outlet
from pipeline.batches.feed import Feed
from pipeline.batches.layout import ToComponents
from pipeline.batches.request import Request
from pipeline.dtypes import integer
from pipeline.errors import OutOfRangeError
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_partial_shapes, parse_shapes
from pipeline.queues.kinds import FIFOQueue


class Bucket:
    """The examples of one range of lengths."""

    def __init__(self, queue: QueueBase, batch_size: int, min_after_dequeue: int) -> None:
        self.queue = queue
        self.batch_size = batch_size
        self._needed = min_after_dequeue + batch_size
        self._count = 0  # of the examples that are in no batch yet
        self._lock = threading.Lock()  # guards the count

    def put(self, components: Sequence[Any]) -> Any:
        """Put an example in; return a batch if there are enough examples for one now, else None."""
        self.queue.enqueue(components)
        with self._lock:
            self._count += 1
            if self._count < self._needed:
                return None
            self._count -= self.batch_size
        return self.queue.dequeue_many(self.batch_size)


class BucketFeed(Feed):
    """Puts examples into buckets; the loop takes whole batches from the queue."""

    kind = "bucket_by_sequence_length"
    one_by_one = True
    enough = 1

    def __init__(
        self, request: Request, input_length: Callable[[Any], int], boundaries: Sequence[int], sizes: Sequence[int]
    ) -> None:
        super().__init__(request)
        self._length = input_length
        self._boundaries = boundaries
        self._sizes = sizes
        self._buckets: list[Bucket] = []

    def _make_queue(self) -> QueueBase:
        """Make the queue of finished batches, and the buckets."""
        request = self.request
        named: dict[str, Any] = {"shared_name": request.shared_name, "name": request.name}
        queue = FIFOQueue(request.queue_capacity, [object], [()], **named)
        self._buckets = [self._bucket(i, size) for i, size in enumerate(self._sizes)]
        return queue

    def _bucket(self, number: int, batch_size: int) -> Bucket:
        request, layout = self.request, self.layout
        assert layout is not None
        parse = parse_partial_shapes if request.dynamic_pad else parse_shapes
        # Buckets of one seed would draw alike.
        held, shapes = self._layout_of_queue(layout), None
        if request.shapes is not None:
            shapes = [(), *parse(request.shapes, len(layout.dtypes)), *self._more_shapes(held)]
        own = request.reseeded(number)._replace(capacity=-1, shapes=shapes, name=f"{request.name}_{number}")
        queue = own.make_queue(held.led_by(np.dtype(np.int32)))
        return Bucket(queue, batch_size, request.min_after_dequeue or 0)

    def _to_components(self, many: bool, index: int) -> ToComponents:
        to_components, length = super()._to_components(many, index), self._length

        def led_by_length(example: Any) -> Sequence[Any]:
            given = length(example)
            found = given if type(given) is int else integer(given, "what input_length returns")
            return found, *to_components(example)

        return led_by_length

    def _put_of(self, many: bool) -> Callable[[Sequence[Any]], None]:
        def put(components: Sequence[Any]) -> None:
            batch = self._bucket_of(components).put(components)
            if batch is not None:
                self.queue.enqueue((batch,))

        return put

    def _bucket_of(self, components: Sequence[Any]) -> Bucket:
        return self._buckets[bisect.bisect_right(self._boundaries, components[0])]

    def close_op(self) -> None:
        """Make batches of what the buckets hold at the end of the input."""
        try:
            for bucket in self._buckets:
                bucket.queue.close()
                take = (
                    bucket.queue.dequeue_up_to if self.request.allow_smaller_final_batch else bucket.queue.dequeue_many
                )
                try:
                    while True:
                        self._flushed(bucket, take(bucket.batch_size))
                except OutOfRangeError:
                    pass
        finally:
            self.queue.close()

    def _flushed(self, bucket: Bucket, batch: Any) -> None:
        self.queue.enqueue((batch,))

    def _make_outlet(self) -> Outlet:
        return Outlet(None, None, self.queue.dequeue)

    def left_over(self) -> tuple[int, int]:
        each = [bucket.queue.stats() for bucket in self._buckets]
        return sum(stats.size for stats in each), sum(stats.enqueued for stats in each)

    def take(self) -> Any:
        lengths, *rows = self.outlet.draw()
        assert self.layout is not None
        return lengths, self.layout.rebuild(rows if len(rows) > 1 else rows[0])
