"""How many batches a loop gives, or why nobody knows before its end."""

from __future__ import annotations

from typing import Any

from pipeline.batches.iterables import length
from pipeline.batches.request import Request
from pipeline.batches.source import is_iterable
from pipeline.queues.base import QueueBase
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import Source, as_length


def number_of_batches(request: Request, *, keeps_all: bool, skips: bool, buckets: bool) -> int:
    """How many batches one time through the sources gives.

    Args:
        request: What the batch function was asked for.
        keeps_all: `keep_input` leaves out nothing.
        skips: `on_error` may leave something out.
        buckets: The examples go into buckets.

    Raises:
        TypeError: That follows from the examples, or there is no end; it says which.
    """
    reasons = {
        "as 'keep_input' may leave examples out": not keeps_all,
        "as on_error='skip' may leave examples out": skips,
        "as their lengths decide which bucket each example goes into": buckets,
    }
    for reason, holds in reasons.items():
        if holds:
            raise _unknown(request, reason)
    total = sum(_number_of_examples(each, request) for each in request.sources)
    index, count = request.shard or (0, 1)
    whole, left = divmod(total, request.batch_size * count)
    has_share = index * left // count < (index + 1) * left // count
    batches = whole + (request.allow_smaller_final_batch and has_share)
    return as_length(batches, f"{request.name}: the number of batches")


def _number_of_examples(source: Any, request: Request) -> int:
    """How many examples a source has in all; it is not read for that."""
    name = op_name(source)
    if isinstance(source, QueueBase):
        raise _unknown(request, f"as {name} is a queue")
    if request.enqueue_many:
        raise _unknown(request, f"as the blocks of {name} may have any number of examples")
    found: int | None
    if (total := getattr(source, "_total", None)) is not None:
        found = total() if source._no_state() is None else None
    elif isinstance(source, Source):
        found = source.total
        if source.order.num_epochs is None:
            raise _unknown(request, f"as {name} has num_epochs=None, no end")
    else:
        found = length(source) if is_iterable(source) and hasattr(type(source), "__len__") else None
    if found is None:
        raise _unknown(request, f"as the number of examples of {name} is not known")
    return found


def _unknown(request: Request, reason: str) -> TypeError:
    return TypeError(f"{request.name}: how many batches there are is known only at the end of its source, {reason}")
