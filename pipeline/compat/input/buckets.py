"""Buckets of tf.contrib.training: batches of examples of one kind, such as of similar length.

A queue for each bucket holds examples; a queue over them holds finished batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

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
from pipeline.compat.ops.math.comparing import equal, less, less_equal
from pipeline.compat.ops.math.logic import logical_and
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
    """Make batches of examples of one bucket each; see `batch` for the arguments that are not explained here.

    Args:
        which_bucket: The number of the example's bucket, an int32 scalar.
        batch_size: Examples in a batch; or a list with a number for each bucket.
        num_buckets: How many buckets there are.
        capacity: How many finished batches may wait, and how many examples in a bucket.
        bucket_capacities: How many examples may wait in each bucket, if that differs.
        keep_input: A bool scalar; False drops the example.

    Returns:
        The number of the bucket and the batch.

    Raises:
        ValueError: A list does not have a number for each bucket; a shape cannot be inferred.
    """
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    for numbers, what in ((sizes, "batch_size"), (capacities, "bucket_capacities")):
        if len(numbers) != num_buckets:
            raise ValueError(f"If {what} is a list it must have num_buckets elements")
    given = in_order(tensors)
    with name_scope(name, "bucket", given):
        components = as_components(given)
        if not components:
            raise ValueError("Expected at least one tensor in bucket().")
        keep = as_keep_input(keep_input, False)
        (dense,), sparse = stored([components], False, keep)
        sizes = [_static(size) for size in sizes]
        types = common_dtypes([dense])
        shapes = common_shapes([dense], False) if shapes is None else shapes
        which = convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(
                capacity=capacities[i],
                dtypes=types,
                shapes=shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        alike = not allow_smaller_final_batch and all(isinstance(size, int) and size == sizes[0] for size in sizes)
        rows = vector(sizes[0] if alike else None)
        top = PaddingFIFOQueue(
            capacity=capacity,
            dtypes=[dtypes.int32, *types],
            shapes=[scalar_shape(), *(rows.concatenate(shape) for shape in queues[0].shapes)],
            shared_name=shared_name,
            name="top_queue",
        )

        def enqueue(parts: Sequence[Any]) -> Operation:
            ops = [cond(equal(which, i), lambda q=q: q.enqueue(parts), no_op) for i, q in enumerate(queues)]
            return group(*ops, name="group_enqueues")

        enqueue_ops = [enqueue_kept(enqueue, dense, keep)] * num_threads
        finished = [
            top.enqueue([constant(i), *_taken(queue, size, i, allow_smaller_final_batch)], f"enqueue_from_bucket_{i}")
            for i, (queue, size) in enumerate(zip(queues, sizes, strict=True))
        ]
        _run(queues[0], finished, [top])
        _run(top, enqueue_ops, queues)
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", cast(queue.size(), dtypes.float32))
        summarize_fraction(f"bucket/{top.name}/fraction_of_{capacity}_full", top, capacity)
        number, *parts = top.dequeue(name="dequeue_top")
        return number, like(tensors, restored(parts if len(parts) > 1 else parts[0], sparse))


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
    """Make batches of examples of similar length; see `bucket` for the arguments that are not explained here.

    Args:
        input_length: The length of the example, an int32 scalar.
        bucket_boundaries: Increasing integers: [10, 20] makes buckets for lengths below 10, from 10 to 19, from 20 up.

    Returns:
        The lengths, an int32 vector, and the batch: a list for a list, also of one.

    Raises:
        TypeError: The boundaries are no list or tuple of integers.
        ValueError: There are none, or they do not increase.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in itertools.pairwise(bucket_boundaries):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}")
    given = in_order(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *given]) as scope:
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        limits = np.iinfo(np.int32)
        lows, highs = [int(limits.min), *bucket_boundaries], [*bucket_boundaries, int(limits.max)]
        within = logical_and(less_equal(lows, length), less(length, highs))
        _, (lengths, *parts) = bucket(
            [length, *given],
            cast(reduce_min(where(within)), dtypes.int32),
            batch_size,
            len(lows),
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [scalar_shape(), *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
            scope,
        )
        return lengths, like(tensors, parts[0] if isinstance(tensors, dict) and len(parts) == 1 else parts)


def _static(batch_size: Any) -> Any:
    """The size as an int if it is known now."""
    tensor = convert_to_tensor(batch_size, dtype=dtypes.int32, name="batch_size")
    known = get_static_value(tensor)
    return tensor if known is None else int(known)


def _taken(queue: Any, batch_size: Any, number: int, smaller: bool) -> list[Any]:
    """The components of a batch of one bucket."""
    dequeue = queue.dequeue_up_to if smaller else queue.dequeue_many
    parts = dequeue(batch_size, name=f"read_bucket_{number}")
    return parts if isinstance(parts, list) else [parts]


def _run(queue: Any, enqueue_ops: Sequence[Any], closed: Sequence[Any]) -> None:
    """Add a queue runner that closes other queues at the end."""
    close = group(*(each.close() for each in closed))
    cancel = group(*(each.close(cancel_pending_enqueues=True) for each in closed))
    add_queue_runner(QueueRunner(queue, enqueue_ops, close, cancel, _CLOSED))
