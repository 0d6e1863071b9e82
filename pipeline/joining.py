"""batch_join and shuffle_batch_join, and their maybe_ forms: several sources, one thread each, one queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.batches import Batches
from pipeline.coordinator import Coordinator
from pipeline.loops import Options, Pool, check_joined_minimum, loop, seed_of


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
