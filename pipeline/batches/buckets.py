"""bucket_by_sequence_length: batch examples with similar lengths, with little padding."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.batches.recipe import ahead, examples_of, run, source_of
from pipeline.batches.request import checked
from pipeline.datasets.iterator import DatasetIterator
from pipeline.dtypes import integer
from pipeline.keywords import tells_keywords
from pipeline.runners.coordinator import Coordinator
from pipeline.stages.bucket import Bucket
from pipeline.stages.collate import bare
from pipeline.stages.functions import CallSettings, Map


@tells_keywords
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
    shared_name: str | None = None,
    name: str | None = None,
    deterministic: bool | None = None,
    on_error: str = "raise",
    max_errors: int | None = None,
    coord: Coordinator | None = None,
) -> DatasetIterator[Any]:
    """Batch examples with similar lengths, as `dataset(tensors).bucket(...)` does.

    The boundaries [10, 20] make three buckets: lengths below 10, from 10 to 19, and from 20 up. As soon as a bucket has
    enough examples, they become a batch. For the arguments that are not listed here, see `batch`.

    Args:
        input_length: Called with each example, returns its length.
        tensors: Source of examples, as for `batch`.
        batch_size: Examples per batch; or a list with one number per bucket, larger for short examples.
        bucket_boundaries: Increasing positive integers.
        capacity: Maximum number of finished batches waiting.
        dynamic_pad: Pad each batch to its own largest example; False if all examples have one shape.
        allow_smaller_final_batch: Also return each bucket's last examples, as a smaller batch.

    Returns:
        An iterator over pairs: an int32 array with the lengths of a batch's examples, and the batch.

    Raises:
        ValueError: There are no boundaries, or they do not increase; or a number is out of range.
        TypeError: `input_length` is not callable, or a number is not an integer; when a batch is taken, so is a length.

    Examples:
        >>> lines = [[1], [1, 2, 3], [2], [4, 5]]
        >>> with pipeline.bucket_by_sequence_length(len, map(np.array, lines), 2, [2]) as batches:
        ...     for lengths, numbers in batches:
        ...         print(lengths.tolist(), numbers.tolist())
        [1, 1] [[1], [2]]
        [3, 2] [[1, 2, 3], [4, 5, 0]]

    Source: `tf.contrib.training.bucket_by_sequence_length` of TensorFlow 1.
    """
    if not callable(input_length):
        raise TypeError(f"input_length must be a callable that returns the length of an example, not {input_length!r}")
    boundaries = _boundaries(bucket_boundaries)
    sizes = _sizes(batch_size, len(boundaries) + 1)
    request = checked(
        batch_size=1,
        num_threads=num_threads,
        capacity=capacity,
        enqueue_many=False,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name or "bucket",
        deterministic=deterministic,
        on_error=on_error,
        max_errors=max_errors,
        coord=coord,
    )
    source = source_of(tensors, request)
    calls = CallSettings(on_error=on_error, max_errors=max_errors)
    pairs = Map(examples_of([source], request), _Measured(input_length), calls)
    pad = 0 if dynamic_pad else None
    made = Bucket(pairs, boundaries, sizes, _first, pad, False, not allow_smaller_final_batch)
    return run(ahead(made, [source], request, request.capacity), request)


class _Measured:
    """Puts each example's length before it."""

    def __init__(self, measure: Callable[[Any], int]) -> None:
        self._measure = measure

    def __call__(self, example: Any) -> tuple[np.int32, Any]:
        length = self._measure(example)
        try:
            number = operator.index(length)
        except TypeError:
            raise TypeError(f"input_length must return an integer, got {length!r:.80}") from None
        return np.int32(number), bare(tuple(example) if type(example) is list else example)


def _first(pair: tuple[np.int32, Any]) -> int:
    return int(pair[0])


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
