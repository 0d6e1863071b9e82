"""bucket_by_sequence_length: batches of examples of similar length, so that little of them is padding."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.batches.bucket_feed import BucketFeed
from pipeline.batches.determinism import is_deterministic
from pipeline.batches.loop import Batches
from pipeline.batches.options import BatchOptions, takes_options
from pipeline.batches.ordered_buckets import OrderedBucketFeed
from pipeline.batches.request import Request, check_not_negative, seed_of
from pipeline.dtypes import integer

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
        input_length: Called with each example, as the source gave it or `function` made it, returns its length; several
            threads call it.
        tensors: The source of examples, as for `batch`.
        batch_size: Examples in a batch; or a list with a number for each bucket, which may be larger for short ones.
        bucket_boundaries: Increasing positive integers.
        capacity: How many finished batches may wait for the loop. A bucket holds at most one batch and
            `min_after_dequeue` examples beside them.
        dynamic_pad: Pad each batch to its own largest example, unless `ragged="row_splits"` joins its rows; False is
            for examples of one shape.
        allow_smaller_final_batch: Return the last examples of each bucket as a smaller batch too.
        min_after_dequeue: Examples that stay in a bucket after a batch is made of it. From 1 on, the examples of a
            batch are drawn at random from their bucket; 0 keeps their order.
        seed: Seed of the draws. With one thread, or in a deterministic loop, it fixes the batches and their order.
        name: Name of the queues, `bucket` by default.

    Returns:
        An iterator and context manager, like that of `batch`, over pairs: the lengths of the examples of a batch, an
        int32 array, and the batch.

    Raises:
        ValueError: There are no boundaries, or they do not increase; a number is out of range; or there is a `shard`:
            share out the input instead, as by `string_input_producer(..., shard=(host, hosts))`.
        TypeError: `input_length` is not callable, or a number is not an integer; when a batch is taken, so is a length.

    Examples:
        >>> lines = [[1], [1, 2, 3], [2], [4, 5]]
        >>> with pipeline.bucket_by_sequence_length(len, map(np.array, lines), 2, [2], dynamic_pad=True) as batches:
        ...     for lengths, numbers in batches:
        ...         print(lengths.tolist(), numbers.tolist())
        [1, 1] [[1], [2]]
        [3, 2] [[1, 2, 3], [4, 5, 0]]
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
        seed=seed_of(seed) if min_after_dequeue or seed is not None else None,
        seeded=seed is not None,
        shapes=shapes,
        dynamic_pad=dynamic_pad and options.get("ragged") != "row_splits",  # rows that are to be joined as they are
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "bucket",
        **options,
    )
    return Batches(_feed_of(request)(request, input_length, boundaries, sizes))


def _feed_of(request: Request) -> type[BucketFeed]:
    if request.shard is not None:
        raise ValueError(
            "bucket_by_sequence_length takes no shard: the last batches of its buckets cannot be shared out evenly. "
            "Share out the input, as by string_input_producer(..., shard=(host, hosts))"
        )
    return OrderedBucketFeed if is_deterministic(request) else BucketFeed


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
            raise TypeError(f"bucket_boundaries must be integers, but saw: {boundary!r}") from None
    if boundaries[0] < 1 or any(low >= high for low, high in itertools.pairwise(boundaries)):
        raise ValueError(f"bucket_boundaries must be increasing, from 1 up, but saw: {boundaries}")
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
