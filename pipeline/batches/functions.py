"""batch and shuffle_batch, and their maybe_ forms: threads take examples from one source, a loop takes batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.batches.loop import Batches
from pipeline.batches.options import Options, Pool, check_joined_minimum, check_minimum, loop, seed_of
from pipeline.threads.coordinator import Coordinator


def batch(
    tensors: Any,
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
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of the examples that threads get from a source, in the order in which they come.

    An example is an array, number, bytes or object, or a list, tuple or dict of them. The source of examples is one of

    - a callable without arguments that returns one example, and raises OutOfRangeError or StopIteration at the end of
      the input; with several threads it is called by several at once
    - an iterable, such as a generator: read under a lock, once
    - a queue, such as that of a producer: its elements are the examples
    - anything with a method `block(n)` that returns a block of 1 to n examples: arrays whose first dimension counts
      them. Such rows move in blocks, with no Python for each of them; so do those of a queue with shapes, and what the
      workers of an executor make by `map_ahead`.

    Args:
        tensors: The source.
        batch_size: Examples in a batch.
        num_threads: Threads that read the source. With more than one the order of the examples may vary; small ones of
            an iterator keep theirs, as one thread reads it and the others wait.
        capacity: Capacity of the queue, in examples.
        enqueue_many: What the source gives each time is a block of examples: arrays whose first dimension counts them.
        shapes: Shape of each component of an example (of a dict: in the order of its sorted keys); None takes those of
            the first example.
        dynamic_pad: Let the shapes of examples differ; a batch is padded to the largest of its own with zeros or b"".
            The shapes then may have None dimensions; without shapes every dimension may vary.
        allow_smaller_final_batch: Give the last examples as a smaller batch instead of leaving them out.
        shared_name: Shared name of the queue.
        name: Name of the queue, `batch` by default.
        on_error: "raise" ends the loop with the first error of a thread. "skip" leaves out the example (or block) that
            a callable failed to give, or that does not fit; `num_errors` and `errors` of the result tell. What an
            iterator raises ends it, and is raised always.
        max_errors: With "skip", how many errors are tolerated; the next one is raised. None is without limit.
        coord: The Coordinator of the threads; None gives the loop its own.

    Returns:
        An iterator over the batches that is a context manager too. A dict of examples gives dicts, a list or tuple of
        two and more gives lists, a single component comes bare.

    Raises:
        TypeError: This is no source, or batch_size not an integer.
        ValueError: A number is out of range.
    """
    pool = Pool(capacity, None, None, shapes, dynamic_pad, shared_name, name or "batch")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, True, on_error, max_errors, coord)
    return loop([tensors], num_threads, pool, options)


def maybe_batch(
    tensors: Any,
    keep_input: Any,
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
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of those examples that are to be kept; see `batch` for the other arguments.

    Args:
        keep_input: A callable that is asked about each example, as the source gave it, and returns a bool; with
            `enqueue_many` about each block, and may return one bool for each of its rows. Several threads call it.
            Or the answer itself: True keeps all; False keeps none, does not read the source, and waits until the loop
            is closed; with `enqueue_many`, an array of bools says which rows of every block are kept.

    Raises:
        ValueError: `keep_input` has more than one dimension, or has one without `enqueue_many`.
        TypeError: `keep_input` is neither callable nor made of bools.
    """
    pool = Pool(capacity, None, None, shapes, dynamic_pad, shared_name, name or "batch")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, keep_input, on_error, max_errors, coord)
    return loop([tensors], num_threads, pool, options)


def shuffle_batch(
    tensors: Any,
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
    dynamic_pad: bool = False,
    on_error: str = "raise",
    max_errors: int | None = None,
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
    check_minimum(capacity, min_after_dequeue)
    seed = seed_of(seed)
    pool = Pool(capacity, min_after_dequeue, seed, shapes, dynamic_pad, shared_name, name or "shuffle_batch")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, True, on_error, max_errors, coord)
    return loop([tensors], num_threads, pool, options)


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make shuffled batches of those examples that are to be kept.

    The arguments are those of `shuffle_batch`, and `keep_input` is that of `maybe_batch`.
    """
    check_minimum(capacity, min_after_dequeue)
    seed = seed_of(seed)
    pool = Pool(capacity, min_after_dequeue, seed, shapes, dynamic_pad, shared_name, name or "shuffle_batch")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, keep_input, on_error, max_errors, coord)
    return loop([tensors], num_threads, pool, options)


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of the examples of several sources, each of which has a thread of its own.

    The examples of one source stay in order; those of different sources mix as they come. The input ends when the last
    source has ended. The first source that has an example decides the container, dtypes and shapes: the examples of
    the others must have the same keys, or as many components (what they have beyond them is dropped), of the same
    dtypes. See `batch` for the other arguments and the result.

    Args:
        tensors_list: The sources, a list or tuple of what `batch` takes as one.
        name: Name of the queue, `batch_join` by default.

    Raises:
        ValueError: There is no source.
        TypeError: It is no list, or something in it is no source.
    """
    pool = Pool(capacity, None, None, shapes, dynamic_pad, shared_name, name or "batch_join")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, True, on_error, max_errors, coord)
    return loop(_sources(tensors_list), None, pool, options)


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of those examples of several sources that are to be kept.

    The arguments are those of `batch_join`, and `keep_input` is that of `maybe_batch`.
    """
    pool = Pool(capacity, None, None, shapes, dynamic_pad, shared_name, name or "batch_join")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, keep_input, on_error, max_errors, coord)
    return loop(_sources(tensors_list), None, pool, options)


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make batches of examples drawn at random from a pool that several sources fill, each with a thread of its own.

    See `batch_join` for the sources, and `shuffle_batch` for the pool.

    Raises:
        InvalidArgumentError: `capacity` is not above `min_after_dequeue`. A ValueError too.
    """
    check_joined_minimum(capacity, min_after_dequeue)
    sources, seed = _sources(tensors_list), seed_of(seed)
    pool = Pool(capacity, min_after_dequeue, seed, shapes, dynamic_pad, shared_name, name or "shuffle_batch_join")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, True, on_error, max_errors, coord)
    return loop(sources, None, pool, options)


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> Batches:
    """Make shuffled batches of those examples of several sources that are to be kept.

    The arguments are those of `shuffle_batch_join`, and `keep_input` is that of `maybe_batch`.
    """
    check_joined_minimum(capacity, min_after_dequeue)
    sources, seed = _sources(tensors_list), seed_of(seed)
    pool = Pool(capacity, min_after_dequeue, seed, shapes, dynamic_pad, shared_name, name or "shuffle_batch_join")
    options = Options(batch_size, enqueue_many, allow_smaller_final_batch, keep_input, on_error, max_errors, coord)
    return loop(sources, None, pool, options)


def _sources(given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"tensors_list must be a list of sources, one for each thread, not {given!r:.80}")
    if not given:
        raise ValueError("Expected at least one set of tensors: tensors_list is empty")
    return list(given)
