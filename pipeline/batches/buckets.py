"""bucket_by_sequence_length: batches of examples of similar length, so that little is padding."""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.batches.feed import Feed, Plan
from pipeline.batches.keep_input import Keep
from pipeline.batches.layout import Components
from pipeline.batches.loop import Batches
from pipeline.batches.options import Pool, seed_of, start
from pipeline.errors import OutOfRangeError, invalid
from pipeline.on_error import Skips
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_partial_shapes, parse_shapes
from pipeline.queues.kinds import FIFOQueue
from pipeline.threads.coordinator import Coordinator


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
    keep_input: Any = True,
    min_after_dequeue: int = 0,
    seed: int | None = None,
    shared_name: str | None = None,
    name: str | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of examples of similar length; see `batch` for the arguments that are not explained here.

    The boundaries [10, 20] make three buckets: lengths below 10, from 10 to 19, and from 20 up. Whenever a bucket has
    enough examples for a batch, one is made of them.

    Args:
        input_length: Called with each example, as the source gave it, returns its length; several threads call it.
        tensors: The source of examples, as for `batch`.
        batch_size: Examples in a batch; or a list with a number for each bucket, which may be larger for short ones.
        bucket_boundaries: Increasing positive integers.
        capacity: How many finished batches may wait for the loop. A bucket holds no more than one batch and the
            minimum beside them.
        dynamic_pad: Pad each batch to the largest of its own; False is for examples of one shape.
        allow_smaller_final_batch: Give the last examples of each bucket as a smaller batch too.
        keep_input: A bool, or a callable that is asked about each example; see `maybe_batch`.
        min_after_dequeue: Examples that stay in a bucket when a batch was made of it. From 1 on, the examples of a
            batch are drawn at random from its bucket; 0 keeps their order.
        seed: Seed of the draws. With one thread it fixes the batches and their order.
        name: Name of the queues, `bucket` by default.

    Returns:
        An iterator and context manager, as that of `batch`, over pairs: the lengths of the examples of a batch, an
        int32 array, and the batch.

    Raises:
        ValueError: No boundaries, or not increasing; a number is out of range.
        TypeError: `input_length` is not callable, or a number is not an integer.
    """
    if not callable(input_length):
        raise TypeError(f"input_length must be a callable that returns the length of an example, not {input_length!r}")
    boundaries = _boundaries(bucket_boundaries)
    sizes = _sizes(batch_size, len(boundaries) + 1)
    minimum = operator.index(min_after_dequeue)
    if minimum < 0:
        raise invalid(f"min_after_dequeue {minimum} must be >= 0")
    first = seed_of(seed) if minimum else None
    named = name or "bucket"
    pools = [
        # Buckets of one seed would draw alike.
        Pool(
            -1, minimum or None, None if first is None else first + i, shapes, dynamic_pad, shared_name, f"{named}_{i}"
        )
        for i in range(len(sizes))
    ]
    plan = Plan(
        sources=[tensors],
        num_threads=num_threads,
        joined=False,
        batch_size=1,
        rows=1,
        many=False,
        single=True,
        smaller=bool(allow_smaller_final_batch),
        make_queue=lambda _: FIFOQueue(capacity, [object], [()], shared_name=shared_name, name=named),
        keep=Keep(keep_input, False),
        skips=Skips(on_error, max_errors),
        name=named,
    ).checked()
    return start(plan, coord, functools.partial(_BucketFeed, input_length, boundaries, sizes, pools))


class _Bucket:
    """The examples of one range of lengths."""

    def __init__(self, queue: QueueBase, batch_size: int, minimum: int) -> None:
        self.queue = queue
        self.batch_size = batch_size
        self._needed = minimum + batch_size
        self._count = 0  # of the examples that belong to no batch yet
        self._lock = threading.Lock()  # guards the count

    def put(self, values: Sequence[Any]) -> Any:
        """Put an example in; return a batch if there are enough for one now, else None."""
        self.queue.enqueue(values)
        with self._lock:
            self._count += 1
            if self._count < self._needed:
                return None
            self._count -= self.batch_size
        return self.queue.dequeue_many(self.batch_size)


class _BucketFeed(Feed):
    """Puts examples into buckets; the loop takes whole batches from the queue."""

    def __init__(
        self,
        input_length: Callable[[Any], int],
        boundaries: Sequence[int],
        sizes: Sequence[int],
        pools: Sequence[Pool],
        plan: Plan,
        coord: Coordinator,
    ) -> None:
        super().__init__(plan, coord)
        self._length = input_length
        self._boundaries = boundaries
        self._sizes = sizes
        self._pools = pools
        self._buckets: list[_Bucket] = []

    def _make_queue(self) -> QueueBase:
        queue = super()._make_queue()
        assert self.layout is not None
        layout = self.layout.led_by(np.dtype(np.int32))
        self._buckets = [
            _Bucket(pool._replace(shapes=self._shapes(pool)).queue(layout), size, pool.minimum or 0)
            for pool, size in zip(self._pools, self._sizes, strict=True)
        ]
        self.close_op = self._flush
        return queue

    def _shapes(self, pool: Pool) -> list[Any] | None:
        """The shapes that were given, after that of the length."""
        assert self.layout is not None
        parse = parse_partial_shapes if pool.pad else parse_shapes
        return None if pool.shapes is None else [(), *parse(pool.shapes, len(self.layout.dtypes))]

    def _components(self, many: bool, index: int) -> Components:
        components, length = super()._components(many, index), self._length
        return lambda example: (operator.index(length(example)), *components(example))

    def _put(self, many: bool) -> Callable[[Sequence[Any]], None]:
        boundaries, buckets, ready = self._boundaries, self._buckets, self.queue

        def put(values: Sequence[Any]) -> None:
            rows = buckets[bisect.bisect_right(boundaries, values[0])].put(values)
            if rows is not None:
                ready.enqueue((rows,))

        return put

    def _flush(self) -> None:
        """At the end of the input: what is left in the buckets."""
        try:
            for bucket in self._buckets:
                bucket.queue.close()
                take = bucket.queue.dequeue_up_to if self.plan.smaller else bucket.queue.dequeue_many
                try:
                    while True:
                        self.queue.enqueue((take(bucket.batch_size),))
                except OutOfRangeError:
                    pass
        finally:
            self.queue.close()

    def take(self) -> Any:
        lengths, *rows = self.queue.dequeue()
        assert self.layout is not None
        return lengths, self.layout.rebuild(rows if len(rows) > 1 else rows[0])


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
        [operator.index(size) for size in given]
        if isinstance(given, (list, tuple))
        else [operator.index(given)] * count
    )
    if len(sizes) != count:
        raise ValueError(f"If batch_size is a list it must have an element for each of the {count} buckets: {sizes}")
    if min(sizes) < 1:
        raise ValueError(f"batch_size must be >= 1, got {min(sizes)}")
    return sizes
