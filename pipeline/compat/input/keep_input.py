"""keep_input: chooses which examples the maybe_ functions enqueue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.sorting import dynamic_partition
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.control.flow import no_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value

# Seconds an op takes to enqueue nothing. Its queue runner repeats it, and checks for a stop in between.
_PAUSE = 0.05


def as_keep_input(keep_input: Any, enqueue_many: bool) -> Tensor:
    """Convert `keep_input` to a tensor: a bool scalar, or a vector with one bool per example.

    Raises:
        ValueError: The rank is unknown, above 1, or 1 for single examples.
    """
    tensor = convert_to_tensor(keep_input)
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return tensor


def if_kept(keep_input: Tensor, kept: Callable[[], Any], dropped: Callable[[], Any]) -> Any:
    """Make one branch's ops if the scalar is a constant, else both branches and a condition."""
    known = constant_value(keep_input)
    if known is None:
        return cond(keep_input, kept, dropped)
    return kept() if known else dropped()


def enqueue_kept(
    enqueue: Callable[[Sequence[Tensor]], Operation], tensors: Sequence[Tensor], keep_input: Tensor
) -> Operation | Tensor:
    """Make the op that enqueues the tensors `keep_input` selects."""
    if keep_input.shape.ndims == 1:
        which = cast(keep_input, dtypes.int32)
        return enqueue([dynamic_partition(tensor, which, 2)[1] for tensor in tensors])
    nothing = no_op if constant_value(keep_input) is None else _nothing
    return if_kept(keep_input, lambda: enqueue(tensors), nothing)  # type: ignore[no-any-return]


def _nothing() -> Operation:
    """Return a NoOp with a delay, so that the runner's thread does not spin."""
    return node("NoOp", [], [], lambda run: time.sleep(_PAUSE), blocking=True)
