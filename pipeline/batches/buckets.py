"""bucket_by_sequence_length: batches of examples of similar length, so that little of them is padding."""

from __future__ import annotations

import bisect
import itertools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.batches.determinism import is_deterministic
from pipeline.batches.feed import Feed
from pipeline.batches.layout import ToComponents
from pipeline.batches.loop import Batches
from pipeline.batches.options import BatchOptions, takes_options
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.request import Request, check_not_negative, seed_of
from pipeline.dtypes import integer
from pipeline.errors import OutOfRangeError
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_partial_shapes, parse_shapes
from pipeline.queues.kinds import FIFOQueue

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes_options
def bucket_by_sequence_length(
    input_length: Callable[[Any], int],
    tensors: Any,
    batch_size: int | Sequence[int],
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    dynamic_pad: bool = True,
    allow_smaller_final_batch: bool = False,
    *,
    shapes: Sequence[Any] | None = None,
    min_after_dequeue: int = 0,
    seed: int | None = None,
    shared_name: str | None = None,
    name: str | None = None,
    **options: Unpack[BatchOptions],
) -> Batches[Any]:
    """Make batches of examples of similar length; see `batch` for the arguments that are not listed here.

    The boundaries [10, 20] make three buckets: lengths below 10, from 10 to 19, and from 20 up. As soon as a bucket
    has enough examples, they become a batch.

    Args:
        input_length: Called with each example, as the source gave it, returns its length; several threads call it.
        tensors: The source of examples, as for `batch`.
        batch_size: Examples in a batch; or a list with a number for each bucket, which may be larger for short ones.
        bucket_boundaries: Increasing positive integers.
        capacity: How many finished batches may wait for the loop. A bucket holds at most one batch and
            `min_after_dequeue` examples beside them.
        dynamic_pad: Pad each batch to its own largest example; False is for examples of one shape.
        allow_smaller_final_batch: Return the last examples of each bucket as a smaller batch too.
        min_after_dequeue: Examples that stay in a bucket after a batch is made of it. From 1 on, the examples of a
            batch are drawn at random from their bucket; 0 keeps their order.
        seed: Seed of the draws. With one thread it fixes the batches and their order.
        name: Name of the queues, `bucket` by default.

    Returns:
        An iterator and context manager, like that of `batch`, over pairs: the lengths of the examples of a batch, an
        int32 array, and the batch.

    Raises:
        ValueError: There are no boundaries, or they do not increase; a number is out of range.
        TypeError: `input_length` is not callable, or a number is not an integer.
    """
    if not callable(input_length):
        raise TypeError(f"input_length must be a callable that returns the length of an example, not {input_length!r}")
    boundaries = _boundaries(bucket_boundaries)
    sizes = _sizes(batch_size, len(boundaries) + 1)
    min_after_dequeue = integer(min_after_dequeue, "min_after_dequeue")
    check_not_negative(min_after_dequeue)
    request = Request(
        sources=[tensors],
        num_threads=num_threads,
        batch_size=1,
        capacity=capacity,
        min_after_dequeue=min_after_dequeue or None,
        seed=seed_of(seed) if min_after_dequeue else None,
        seeded=seed is not None,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "bucket",
        **options,
    )
    feed = _OrderedBucketFeed if is_deterministic(request) else _BucketFeed
    return Batches(feed(request, input_length, boundaries, sizes))


class _Bucket:
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


class _BucketFeed(Feed):
    """Puts examples into buckets; the loop takes whole batches from the queue."""

    one_by_one = True

    def __init__(
        self, request: Request, input_length: Callable[[Any], int], boundaries: Sequence[int], sizes: Sequence[int]
    ) -> None:
        super().__init__(request)
        self._length = input_length
        self._boundaries = boundaries
        self._sizes = sizes
        self._buckets: list[_Bucket] = []

    def _make_queue(self) -> QueueBase:
        """Make the queue of finished batches, and the buckets."""
        request = self.request
        queue = FIFOQueue(request.capacity, [object], [()], shared_name=request.shared_name, name=request.name)
        self._buckets = [self._bucket(i, size) for i, size in enumerate(self._sizes)]
        self.close_op = self._flush
        return queue

    def _bucket(self, number: int, batch_size: int) -> _Bucket:
        request, layout = self.request, self.layout
        assert layout is not None
        parse = parse_partial_shapes if request.dynamic_pad else parse_shapes
        # Buckets of one seed would draw alike.
        shapes = None if request.shapes is None else [(), *parse(request.shapes, len(layout.dtypes)), *self.more_shapes]
        own = request.reseeded(number)._replace(capacity=-1, shapes=shapes, name=f"{request.name}_{number}")
        queue = own.make_queue(self._layout_of_queue(layout).led_by(np.dtype(np.int32)))
        return _Bucket(queue, batch_size, request.min_after_dequeue or 0)

    def _to_components(self, many: bool, index: int) -> ToComponents:
        to_components, length = super()._to_components(many, index), self._length
        return lambda example: (operator.index(length(example)), *to_components(example))

    def _put_of(self, many: bool) -> Callable[[Sequence[Any]], None]:
        boundaries, buckets, ready = self._boundaries, self._buckets, self.queue

        def put(components: Sequence[Any]) -> None:
            batch = buckets[bisect.bisect_right(boundaries, components[0])].put(components)
            if batch is not None:
                ready.enqueue((batch,))

        return put

    def _flush(self) -> None:
        """Make batches of what the buckets hold at the end of the input."""
        try:
            for bucket in self._buckets:
                bucket.queue.close()
                take = (
                    bucket.queue.dequeue_up_to if self.request.allow_smaller_final_batch else bucket.queue.dequeue_many
                )
                try:
                    while True:
                        self.queue.enqueue((take(bucket.batch_size),))
                except OutOfRangeError:
                    pass
        finally:
            self.queue.close()

    def left_over(self) -> tuple[int, int]:
        each = [bucket.queue.stats() for bucket in self._buckets]
        return sum(stats.size for stats in each), sum(stats.enqueued for stats in each)

    def take(self) -> Any:
        lengths, *rows = self.queue.dequeue()
        assert self.layout is not None
        return lengths, self.layout.rebuild(rows if len(rows) > 1 else rows[0])


class _OrderedBucketFeed(_BucketFeed, OrderedFeed):
    """The same in the order of tickets: whoever stores an example takes the batch that it completes."""

    kind = "bucket_by_sequence_length"
    held_back = None

    def take(self) -> Any:
        with self._delivering:
            lengths, *rows, numbers = self.queue.dequeue()
            self._count(numbers, len(numbers))
        assert self.layout is not None
        return lengths, self.layout.rebuild(rows if len(rows) > 1 else rows[0])

    def _close_at_end(self) -> None:
        self._flush()

    def no_state(self) -> str | None:
        return "examples wait in buckets"


def _boundaries(given: Any) -> list[int]:
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {given!r}")
    if len(given) == 0:
        raise ValueError("bucket_boundaries must not be empty")
    boundaries = []
    for boundary in given:
        try:
            boundaries.append(operator.index(boundary))
        except TypeError:
            raise TypeError(f"bucket boundaries must be integers, but saw: {boundary!r}") from None
    if boundaries[0] < 1 or any(low >= high for low, high in itertools.pairwise(boundaries)):
        raise ValueError(f"Buckets must be sequential and increasing, from 1 up, but saw: {boundaries}")
    return boundaries


def _sizes(given: Any, count: int) -> list[int]:
    sizes = (
        [integer(size, "batch_size") for size in given]
        if isinstance(given, (list, tuple))
        else [integer(given, "batch_size")] * count
    )
    if len(sizes) != count:
        raise ValueError(f"If batch_size is a list it must have an element for each of the {count} buckets: {sizes}")
    if min(sizes) < 1:
        raise ValueError(f"batch_size must be >= 1, got {min(sizes)}")
    return sizes
