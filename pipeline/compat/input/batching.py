"""The batch functions: a queue of examples, a queue runner that fills it, and the dequeue op that gives batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.compat.input.batch_graph import Pool, ShufflePool, batches, batches_of_several


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of examples, in the order in which threads of a queue runner evaluate them.

    Args:
        tensors: One example, or with `enqueue_many` many: a list, tuple or dict of tensors, sparse ones too.
        batch_size: Examples in a batch, an int or an int32 scalar.
        num_threads: Threads that evaluate `tensors`; several make the order a matter of chance.
        capacity: Capacity of the queue, in examples.
        enqueue_many: The first dimension of each tensor counts examples.
        shapes: Shapes of the parts of one example; None infers them.
        dynamic_pad: Pad the parts of a batch to the largest one, in dimensions that are None.
        allow_smaller_final_batch: Give what is left at the end as a smaller batch; else it is dropped.
        shared_name: Shared name of the queue.
        name: Name of the scope and of the dequeue op.

    Returns:
        The batches: a dict for a dict, a list for two and more tensors, a tensor for one. At the end of the input they
        are an OutOfRangeError.

    Raises:
        ValueError: There are no tensors; a shape cannot be inferred.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of the examples that are to be kept; see `batch` for the other arguments.

    Args:
        keep_input: A bool, evaluated with each example; with `enqueue_many` also a vector of one bool for each.

    Raises:
        ValueError: The rank of `keep_input` is unknown or not one of these.
    """
    pool = Pool(capacity, shapes, shared_name, dynamic_pad)
    return batches(
        tensors, keep_input, batch_size, num_threads, pool, enqueue_many, allow_smaller_final_batch, name, "batch"
    )


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of examples of several sources, each of them evaluated by a thread of its own; see `batch`.

    Args:
        tensors_list: A list of lists, tuples or dicts of tensors, alike in dtypes and shapes.

    Raises:
        ValueError: The list is empty; keys or shapes differ.
        TypeError: Dtypes differ.
    """
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of those examples of several sources that are to be kept; see `batch_join` and `maybe_batch`."""
    pool = Pool(capacity, shapes, shared_name, dynamic_pad)
    return batches_of_several(
        tensors_list, keep_input, batch_size, pool, enqueue_many, allow_smaller_final_batch, name, "batch_join"
    )


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of examples drawn at random from a queue; see `batch` for the other arguments.

    Args:
        capacity: Capacity of the queue, above `min_after_dequeue`.
        min_after_dequeue: Examples that stay in the queue after a batch.
        seed: Seed of the draws.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make shuffled batches of the examples that are to be kept; see `shuffle_batch` and `maybe_batch`."""
    pool = ShufflePool(capacity, shapes, shared_name, min_after_dequeue, seed, checked=True)
    return batches(
        tensors,
        keep_input,
        batch_size,
        num_threads,
        pool,
        enqueue_many,
        allow_smaller_final_batch,
        name,
        "shuffle_batch",
    )


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of examples of several sources, drawn at random from a queue; see `shuffle_batch`, `batch_join`.

    A capacity that is not above `min_after_dequeue` is an InvalidArgumentError when the queue is first used.
    """
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make shuffled batches of those examples of several sources that are to be kept; see `shuffle_batch_join`."""
    pool = ShufflePool(capacity, shapes, shared_name, min_after_dequeue, seed, checked=False)
    return batches_of_several(
        tensors_list, keep_input, batch_size, pool, enqueue_many, allow_smaller_final_batch, name, "shuffle_batch_join"
    )
