"""batch and shuffle_batch: threads call a source for examples, a queue collects them, a loop takes batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.batches import Batches
from pipeline.coordinator import Coordinator
from pipeline.examples import Layout
from pipeline.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue


def batch(
    tensors: Callable[[], Any],
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of the examples that threads get from a source, in the order in which they come.

    Args:
        tensors: The source: a callable without arguments that returns one example, and raises OutOfRangeError or
            StopIteration at the end of the input. An example is an array, number, bytes or object, or a list, tuple or
            dict of them. With several threads it is called by several at once.
        batch_size: Examples in a batch.
        num_threads: Threads that call the source. With more than one the order of the examples may vary.
        capacity: Capacity of the queue, in examples.
        enqueue_many: The source returns a block of examples each time: arrays whose first dimension counts them.
        shapes: Shape of each component of an example (of a dict: in the order of its sorted keys); None takes those of
            the first example.
        dynamic_pad: Let the shapes of examples differ; a batch is padded to the largest of its own with zeros or b"".
            The shapes then may have None dimensions; without shapes every dimension may vary.
        allow_smaller_final_batch: Give the last examples as a smaller batch instead of leaving them out.
        shared_name: Shared name of the queue.
        name: Name of the queue, `batch` by default.
        coord: The Coordinator of the threads; None gives the loop its own.

    Returns:
        An iterator over the batches that is a context manager too. A dict of examples gives dicts, a list or tuple of
        two and more gives lists, a single component comes bare.

    Raises:
        TypeError: The source is not callable, or batch_size not an integer.
        ValueError: A number is out of range.
    """

    def make_queue(layout: Layout) -> QueueBase:
        named = {"shared_name": shared_name, "name": name or "batch"}
        if dynamic_pad:
            return PaddingFIFOQueue(capacity, layout.dtypes, layout.padded_shapes(shapes), **named)
        return FIFOQueue(capacity, layout.dtypes, layout.fixed_shapes(shapes), **named)

    return Batches(tensors, make_queue, batch_size, num_threads, enqueue_many, allow_smaller_final_batch, coord)


def shuffle_batch(
    tensors: Callable[[], Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of examples drawn at random from a pool that threads keep filled; see `batch` for the other
    arguments.

    Args:
        capacity: Capacity of the pool, in examples.
        min_after_dequeue: Examples that stay in the pool after a batch was drawn: more shuffle better, and take more
            memory and a longer start. Must be less than `capacity`.
        seed: Seed of the draws. With one thread it fixes the draws, but not how full the pool is at each of them.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`.
    """
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")

    def make_queue(layout: Layout) -> QueueBase:
        named = {"shared_name": shared_name, "name": name or "shuffle_batch"}
        shapes_ = layout.fixed_shapes(shapes)
        return RandomShuffleQueue(capacity, min_after_dequeue, layout.dtypes, shapes_, seed=seed, **named)

    return Batches(tensors, make_queue, batch_size, num_threads, enqueue_many, allow_smaller_final_batch, coord)
