"""tf.train.batch and its seven relatives: TensorFlow's signatures.

Each passes its arguments, which are all its `locals()`, on to `batches` as BatchArguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.compat.input.batch_graph import BatchArguments, batches


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
    """Make batches of examples, in the order in which the threads of a queue runner evaluate them.

    Args:
        tensors: One example, or many with `enqueue_many`: a list, tuple or dict of tensors, sparse ones included.
        batch_size: Examples in a batch, an int or an int32 scalar.
        num_threads: Threads that evaluate `tensors`; with several the order is random.
        capacity: Capacity of the queue, in examples.
        enqueue_many: The first dimension of each tensor counts examples.
        shapes: Shapes of the components of one example; None infers them.
        dynamic_pad: Pad the dimensions that are None to the largest example of each batch.
        allow_smaller_final_batch: Return what is left at the end as a smaller batch instead of dropping it.
        shared_name: Shared name of the queue.
        name: Name of the scope and of the dequeue op.

    Returns:
        The batches: a dict for a dict, a list for two or more tensors, a tensor for one. At the end of the input,
        evaluating them raises OutOfRangeError.

    Raises:
        ValueError: There are no tensors; a shape cannot be inferred.
    """
    return batches(BatchArguments("batch", **locals()))


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
    """Make batches of the examples to keep; see `batch` for the other arguments.

    Args:
        keep_input: A bool, evaluated with each example; with `enqueue_many` also a vector of one bool for each.

    Raises:
        ValueError: The rank of `keep_input` is unknown or another.
    """
    return batches(BatchArguments("batch", **locals()))


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
    """Make batches of examples of several sources, each evaluated by a thread of its own; see `batch`.

    Args:
        tensors_list: A list of lists, tuples or dicts of tensors, of the same dtypes and shapes.

    Raises:
        ValueError: The list is empty; keys or shapes differ.
        TypeError: Dtypes differ.
    """
    return batches(BatchArguments("batch_join", **locals()))


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
    """Make batches of the examples to keep of several sources; see `batch_join` and `maybe_batch`."""
    return batches(BatchArguments("batch_join", **locals()))


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
    """Make batches of examples drawn at random from a pool; see `batch` for the other arguments.

    Args:
        capacity: Capacity of the pool, above `min_after_dequeue`.
        min_after_dequeue: Examples that stay in the pool after a batch.
        seed: Seed of the draws.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`.
    """
    return batches(BatchArguments("shuffle_batch", **locals()))


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
    """Make shuffled batches of the examples to keep; see `shuffle_batch` and `maybe_batch`."""
    return batches(BatchArguments("shuffle_batch", **locals()))


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
    """Make batches of examples of several sources, drawn at random from a pool; see `shuffle_batch`, `batch_join`.

    If `capacity` is not above `min_after_dequeue`, the first use of the queue raises InvalidArgumentError.
    """
    return batches(BatchArguments("shuffle_batch_join", **locals()))


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
    """Make shuffled batches of the examples to keep of several sources; see `shuffle_batch_join`."""
    return batches(BatchArguments("shuffle_batch_join", **locals()))
