"""batch, shuffle_batch, batch_join and shuffle_batch_join: TensorFlow's functions, built on datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.batches.recipe import PoolOptions, batches_of
from pipeline.batches.request import (
    batch_capacity,
    check_joined_min_after_dequeue,
    check_min_after_dequeue,
    checked,
    pool_capacity,
)
from pipeline.datasets.iterator import DatasetIterator
from pipeline.keywords import tells_keywords
from pipeline.runners.coordinator import Coordinator


@tells_keywords
def batch(
    tensors: Any,
    batch_size: int,
    num_threads: int = 1,
    capacity: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    deterministic: bool | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> DatasetIterator[Any]:
    """Batch examples read from a source by threads: `dataset(tensors).batch(batch_size).prefetch()`.

    An example is an array, number, string or object, or a list, tuple or dict of them. Batches have the same structure,
    except that a list or tuple with a single component loses its container.

    Args:
        tensors: The source: anything `dataset` takes, including a dataset. A function without arguments returns one
            example per call, and raises OutOfRangeError or StopIteration at the end.
        batch_size: Examples per batch, at least 1.
        num_threads: Threads that read the source. Several threads call a function at once, so its examples arrive in
            any order; for other sources one thread is enough and keeps the order. 0: the calling thread reads.
        capacity: How many examples may wait, or -1 for any number; None holds four batches, at least 32 examples.
        enqueue_many: The source returns many examples at a time: arrays whose first dimension counts them.
        shapes: One shape per component (for a dict, in sorted key order); None takes the first example's.
        dynamic_pad: Accept examples with different shapes, and pad each batch to its largest with zeros or b"". The
            shapes may then have None dimensions.
        allow_smaller_final_batch: Return the last examples as a smaller batch. By default they are dropped; the
            iterator's `num_dropped` counts them.
        shared_name: Ignored; part of TensorFlow's signature.
        name: Name of the iterator in reports.
        deterministic: True: one thread at a time calls a function, and several sources take turns, so the order depends
            only on the input and the seeds. None: as in `set_deterministic`, else False. Iterators have states, unless
            the source is a function, an iterator or a queue, or several threads mix sources.
        on_error: "raise", or "skip" to leave out examples that do not fit or cannot be made; the iterator's
            `num_errors` and `errors` count and list them. With `enqueue_many`, a failing block is left out whole.
        max_errors: With "skip", how many errors to tolerate; None for any number.
        coord: Your Coordinator: the iterator ends when it stops, and reports errors to it.

    Returns:
        An iterator over the batches; use it in a `with` statement, which ends its threads.

    Raises:
        TypeError: `tensors` is not a source, or an argument has a wrong type.
        ValueError: A number is out of range.

    Thread safety: several threads may take batches; each goes to one thread.

    Examples:
        >>> with pipeline.batch(range(7), batch_size=3, allow_smaller_final_batch=True) as batches:
        ...     for numbers in batches:
        ...         print(numbers)
        [0 1 2]
        [3 4 5]
        [6]

    Source: `tf.train.batch` of TensorFlow 1.

    See Also:
        `Dataset.batch`, the step of a dataset; `shuffle_batch`; `batch_join`, for several sources.
    """
    request = checked(
        batch_size=batch_size,
        num_threads=num_threads,
        capacity=batch_capacity(capacity, batch_size),
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name or "batch",
        deterministic=deterministic,
        on_error=on_error,
        max_errors=max_errors,
        coord=coord,
    )
    return batches_of([tensors], request)


@tells_keywords
def shuffle_batch(
    tensors: Any,
    batch_size: int,
    capacity: int | None = None,
    min_after_dequeue: int = 1000,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    deterministic: bool | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> DatasetIterator[Any]:
    """Batch examples drawn at random: `dataset(tensors).shuffle(buffer_size).batch(batch_size)`.

    The buffer holds `min_after_dequeue + batch_size` examples. With `deterministic=True` it holds
    `min_after_dequeue + 1`, so that the order does not depend on the batch size. For the arguments that are not listed
    here, see `batch`.

    Args:
        capacity: How many examples may wait, including those in the buffer; None for
            `min_after_dequeue + (num_threads + 3) * batch_size`.
        min_after_dequeue: Examples left in the buffer after each draw. A larger number shuffles better, but takes more
            memory and delays the first batch. Must be less than `capacity`.
        seed: Seed for the draws. It fixes the batches, unless several threads call a function.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`.

    Examples:
        >>> with pipeline.shuffle_batch(
        ...     np.arange(8), 4, capacity=20, min_after_dequeue=10, seed=1, deterministic=True
        ... ) as batches:
        ...     [numbers.tolist() for numbers in batches]
        [[7, 3, 6, 2], [1, 4, 0, 5]]

    Source: `tf.train.shuffle_batch` of TensorFlow 1.
    """
    capacity = pool_capacity(capacity, min_after_dequeue, num_threads, batch_size)
    kept = check_min_after_dequeue(capacity, min_after_dequeue)
    request = checked(
        batch_size=batch_size,
        num_threads=num_threads,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name or "shuffle_batch",
        deterministic=deterministic,
        on_error=on_error,
        max_errors=max_errors,
        coord=coord,
    )
    return batches_of([tensors], request, PoolOptions(kept, seed))


@tells_keywords
def batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    num_threads: int | None = None,
    deterministic: bool | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> DatasetIterator[Any]:
    """Batch examples from several sources, with one thread per source.

    Each source's examples stay in order. Different sources mix in order of arrival; with `deterministic=True` or
    `num_threads=0` the sources take turns, as in `interleave`: one block or example each, or 16 rows from a table. The
    input ends when the last source ends.

    For the result and the arguments that are not listed here, see `batch`.

    Args:
        tensors_list: The sources, a list or tuple of sources for `batch`.
        num_threads: None: one thread per source. 0: the calling thread reads them.

    Raises:
        ValueError: There is no source.
        TypeError: `tensors_list` is not a list, or an item is not a source.

    Examples:
        >>> with pipeline.batch_join([range(3), range(10, 13)], 6, deterministic=True) as batches:
        ...     print(next(batches))
        [ 0 10  1 11  2 12]

    Source: `tf.train.batch_join` of TensorFlow 1.
    """
    sources = _sources(tensors_list)
    request = checked(
        batch_size=batch_size,
        num_threads=num_threads,
        capacity=batch_capacity(capacity, batch_size),
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name or "batch_join",
        deterministic=deterministic,
        on_error=on_error,
        max_errors=max_errors,
        coord=coord,
        joined=True,
    )
    return batches_of(sources, request)


@tells_keywords
def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int | None = None,
    min_after_dequeue: int = 1000,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    num_threads: int | None = None,
    deterministic: bool | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> DatasetIterator[Any]:
    """Batch examples drawn at random from a buffer filled by several sources, with one thread per source.

    For the sources and `num_threads` see `batch_join`, for the buffer `shuffle_batch`, and for the rest `batch`.

    Raises:
        InvalidArgumentError: `capacity` is not above `min_after_dequeue`. Also a ValueError.

    Examples:
        >>> parts = [range(4), range(10, 14)]
        >>> with pipeline.shuffle_batch_join(
        ...     parts, 8, min_after_dequeue=10, seed=1, deterministic=True
        ... ) as batches:
        ...     print(sorted(next(batches).tolist()))
        [0, 1, 2, 3, 10, 11, 12, 13]

    Source: `tf.train.shuffle_batch_join` of TensorFlow 1.
    """
    sources = _sources(tensors_list)
    capacity = pool_capacity(capacity, min_after_dequeue, len(sources), batch_size)
    kept = check_joined_min_after_dequeue(capacity, min_after_dequeue)
    request = checked(
        batch_size=batch_size,
        num_threads=num_threads,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name or "shuffle_batch_join",
        deterministic=deterministic,
        on_error=on_error,
        max_errors=max_errors,
        coord=coord,
        joined=True,
    )
    return batches_of(sources, request, PoolOptions(kept, seed))


def _sources(given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"tensors_list must be a list of sources, one for each thread, not {given!r:.80}")
    if not given:
        raise ValueError("Expected at least one set of tensors: tensors_list is empty")
    return list(given)
