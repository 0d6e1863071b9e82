"""tf.train.batch and its seven variants, with TensorFlow's signatures.

Each passes all its arguments, its `locals()`, to `batches` as BatchArguments.
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
    """Batch examples in the order in which queue runner threads evaluate them.

    Args:
        tensors: One example, or many with `enqueue_many`: a list, tuple or dict of tensors, including sparse ones.
        batch_size: Examples per batch, an int or an int32 scalar.
        num_threads: Threads that evaluate `tensors`; with several the order is random.
        capacity: Queue capacity, in examples.
        enqueue_many: Each tensor's first dimension counts examples.
        shapes: Component shapes for one example; None infers them.
        dynamic_pad: Pad dimensions that are None to the largest example in each batch.
        allow_smaller_final_batch: Return the last examples as a smaller batch instead of dropping them.
        shared_name: The queue's shared name.
        name: Name for the scope and the dequeue op.

    Returns:
        The batches: a dict for a dict, a list for two or more tensors, a tensor for one. At the end of input,
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
    """Batch the examples to keep; see `batch` for the other arguments.

    Args:
        keep_input: A bool, evaluated with each example; with `enqueue_many` also a bool vector, one per example.

    Raises:
        ValueError: The rank of `keep_input` is unknown or not one of these.
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
    """Batch examples from several sources, each evaluated by its own thread; see `batch`.

    Args:
        tensors_list: One list, tuple or dict of tensors per source, with equal dtypes and shapes.

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
    """Batch the examples to keep from several sources; see `batch_join` and `maybe_batch`."""
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
    """Batch examples drawn at random from a buffer; see `batch` for the other arguments.

    Args:
        capacity: Buffer capacity, above `min_after_dequeue`.
        min_after_dequeue: Examples left in the buffer after a batch.
        seed: Random seed.

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
    """Batch the examples to keep in random order; see `shuffle_batch` and `maybe_batch`."""
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
    """Batch examples from several sources, drawn at random from a buffer; see `shuffle_batch`, `batch_join`.

    If `capacity` is not above `min_after_dequeue`, the queue's first use raises InvalidArgumentError.
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
    """Batch the examples to keep from several sources in random order; see `shuffle_batch_join`."""
    return batches(BatchArguments("shuffle_batch_join", **locals()))
