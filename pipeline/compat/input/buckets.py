"""Buckets from tf.contrib.training: batches of similar examples, such as sequences of similar length.

One queue per bucket holds examples; a queue above them holds finished batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import scalar as scalar_shape
from pipeline.compat.graph.shapes import vector
from pipeline.compat.graph.tensor import Operation
from pipeline.compat.input.batch_graph import in_order, like
from pipeline.compat.input.components import as_components, common_dtypes, common_shapes
from pipeline.compat.input.fullness import summarize_fraction
from pipeline.compat.input.keep_input import as_keep_input, enqueue_kept
from pipeline.compat.input.sparse import restored, stored
from pipeline.compat.ops.arrays.masking import where
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.control.flow import group, no_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import equal, less, less_equal, logical_and
from pipeline.compat.ops.math.reducing import reduce_min
from pipeline.compat.ops.summaries.summary import scalar
from pipeline.compat.queues.queues import FIFOQueue, PaddingFIFOQueue
from pipeline.compat.queues.runner import QueueRunner, add_queue_runner
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import get_static_value
from pipeline.errors import CancelledError, OutOfRangeError

_CLOSED = (OutOfRangeError, CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Make batches whose examples share a bucket; see `batch` for arguments not listed here.

    Args:
        which_bucket: The example's bucket index, an int32 scalar.
        batch_size: Examples per batch, or a list, one number per bucket.
        num_buckets: Number of buckets.
        capacity: Maximum number of finished batches, and of examples in a bucket.
        bucket_capacities: Maximum number of examples per bucket, if it differs.
        keep_input: A bool scalar; False drops the example.

    Returns:
        The bucket index and the batch.

    Raises:
        ValueError: A list's length is not `num_buckets`; a shape cannot be inferred.
    """
    sizes = _one_for_each(batch_size, num_buckets)
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({bucket_capacities}) must have exactly num_buckets ({num_buckets}) elements."
        )
    given = in_order(tensors)
    with name_scope(name, "bucket", given):
        components = as_components(given)
        if not components:
            raise ValueError("Expected at least one tensor in bucket().")
        keep = as_keep_input(keep_input, False)
        (dense,), sparse = stored([components], False, keep)
        sizes = [_static(size) for size in sizes]
        which = convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        options = _Options(
            capacity=capacity,
            capacities=capacities,
            sizes=sizes,
            shapes=common_shapes([dense], False) if shapes is None else shapes,
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            shared_name=shared_name,
        )
        buckets = _Buckets(options, common_dtypes([dense]))
        buckets.fill([enqueue_kept(lambda parts: buckets.enqueue(which, parts), dense, keep)] * num_threads)
        number, *parts = buckets.top.dequeue(name="dequeue_top")
        return number, like(tensors, restored(parts if len(parts) > 1 else parts[0], sparse))


class _Options(NamedTuple):
    """Queue options, under their parameter names; `capacities` and `sizes` are per bucket."""

    capacity: int
    capacities: Sequence[int]
    sizes: Sequence[Any]
    shapes: Any
    dynamic_pad: bool
    allow_smaller_final_batch: bool
    shared_name: str | None


class _Buckets:
    """One queue per bucket and, above them, the top queue with finished batches."""

    def __init__(self, options: _Options, types: Sequence[Any]) -> None:
        self._options = options
        shared_name, sizes = options.shared_name, options.sizes
        kind = PaddingFIFOQueue if options.dynamic_pad else FIFOQueue
        self.queues = [
            kind(
                capacity=capacity,
                dtypes=types,
                shapes=options.shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i, capacity in enumerate(options.capacities)
        ]
        one_size = all(isinstance(size, int) and size == sizes[0] for size in sizes)
        rows = vector(sizes[0] if one_size and not options.allow_smaller_final_batch else None)
        self.top = PaddingFIFOQueue(
            capacity=options.capacity,
            dtypes=[dtypes.int32, *types],
            shapes=[scalar_shape(), *(rows.concatenate(shape) for shape in self.queues[0].shapes)],
            shared_name=shared_name,
            name="top_queue",
        )

    def enqueue(self, which: Any, tensors: Sequence[Any]) -> Operation:
        """Put an example into the bucket with index `which`."""
        ops = [cond(equal(which, i), lambda i=i: self._put(i, tensors), no_op) for i in range(len(self.queues))]
        return group(*ops, name="group_enqueues")

    def _put(self, number: int, tensors: Sequence[Any]) -> Any:
        return self.queues[number].enqueue(tensors)

    def fill(self, enqueue_ops: Sequence[Any]) -> None:
        """Add the example queue runner, the runner that moves finished batches to the top queue, and summaries."""
        finished = [self._finished(i) for i in range(len(self.queues))]
        _add_runner(self.queues[0], finished, [self.top])
        _add_runner(self.top, enqueue_ops, self.queues)
        for queue in self.queues:
            scalar(f"bucket/{queue.name}/size", cast(queue.size(), dtypes.float32))
        capacity = self._options.capacity
        summarize_fraction(f"bucket/{self.top.name}/fraction_of_{capacity}_full", self.top, capacity)

    def _finished(self, number: int) -> Operation:
        """Move a batch from a bucket to the top queue."""
        return self.top.enqueue([constant(number), *self._taken(number)], f"enqueue_from_bucket_{number}")

    def _taken(self, number: int) -> list[Any]:
        """Return the components of one bucket's batch."""
        queue, size = self.queues[number], self._options.sizes[number]
        dequeue = queue.dequeue_up_to if self._options.allow_smaller_final_batch else queue.dequeue_many
        parts = dequeue(size, name=f"read_bucket_{number}")
        return parts if isinstance(parts, list) else [parts]


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batch examples with similar lengths; see `bucket` for arguments not listed here.

    Args:
        input_length: The example's length, an int32 scalar.
        bucket_boundaries: Increasing integers: [10, 20] makes buckets for lengths below 10, from 10 to 19, from 20 up.

    Returns:
        The lengths, an int32 vector, and the batch: a list for a list, even with a single tensor.

    Raises:
        TypeError: `bucket_boundaries` is not a list or tuple of integers.
        ValueError: There are no boundaries, or they do not increase.
    """
    _check_boundaries(bucket_boundaries)
    given = in_order(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *given]) as scope:
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        limits = np.iinfo(np.int32)
        lows, highs = [int(limits.min), *bucket_boundaries], [*bucket_boundaries, int(limits.max)]
        within = logical_and(less_equal(lows, length), less(length, highs))
        _, (lengths, *parts) = bucket(
            [length, *given],
            which_bucket=cast(reduce_min(where(within)), dtypes.int32),
            batch_size=batch_size,
            num_buckets=len(lows),
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [scalar_shape(), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
            name=scope,
        )
        return lengths, like(tensors, parts[0] if isinstance(tensors, dict) and len(parts) == 1 else parts)


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in itertools.pairwise(boundaries):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}")


def _one_for_each(given: Any, num_buckets: int) -> list[Any]:
    """Return the batch size per bucket, from a list or one size for all."""
    numbers = list(given) if isinstance(given, (list, tuple)) else [given] * num_buckets
    if len(numbers) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    return numbers


def _static(batch_size: Any) -> Any:
    """Return the size as an int if it is known already."""
    tensor = convert_to_tensor(batch_size, dtype=dtypes.int32, name="batch_size")
    known = get_static_value(tensor)
    return tensor if known is None else int(known)


def _add_runner(queue: Any, enqueue_ops: Sequence[Any], closed: Sequence[Any]) -> None:
    """Add a queue runner that closes other queues at the end of its input."""
    close = group(*(each.close() for each in closed))
    cancel = group(*(each.close(cancel_pending_enqueues=True) for each in closed))
    add_queue_runner(QueueRunner(queue, enqueue_ops, close, cancel, _CLOSED))
