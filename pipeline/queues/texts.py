"""The texts of the queues' errors: TensorFlow's first line, which people search for, then what helps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline._queue import CALLS, STATUSES
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    invalid,
)
from pipeline.explain.ends import EndOfInput, with_end
from pipeline.explain.waits import Watchdog, WatchedQueue
from pipeline.queues.components import Component

_CALLS = {number: name for name, number in CALLS.items()}
_STATUSES = {number: name for name, number in STATUSES.items()}


def failure(queue: WatchedQueue, watchdog: Watchdog, status: int, call: int, requested: int, current: int) -> OpError:
    """The error of a call that the engine did not serve.

    A closed queue's errors say why it was closed; the exception that was to blame, if any, is the `__cause__`.
    For an enqueue, `requested` is the number of its elements and `current` how many of them are stored, which the
    error tells as `stored`.
    """
    name, method, outcome = queue.name, _CALLS[call], _STATUSES[status]
    # A padding queue's calls on single elements are those of the FIFO queue, and say so, as they do in TensorFlow.
    kind = "FIFOQueue" if queue.kind == "PaddingFIFOQueue" and method in ("enqueue", "dequeue") else queue.kind
    error: OpError
    if outcome in ("closed", "already_closed", "cancelled", "exhausted"):
        why, blame, end = watchdog.why_closed(queue)
        if outcome == "closed":
            error = CancelledError(None, None, f"{kind} '{name}' is closed.{why}" + _stored(requested, current))
        elif outcome == "already_closed":
            error = CancelledError(None, None, f"Queue '{name}' is already closed.{why}")
        elif outcome == "cancelled":
            text = f"Enqueue operation was cancelled{why}" + _stored(requested, current)
            error = CancelledError(None, None, text)
        else:
            first = f"{kind} '{name}' is closed and has insufficient elements"
            error = OutOfRangeError(None, None, f"{first} (requested {requested}, current size {current}){why}")
            if end != EndOfInput():
                with_end(error, end)
        error.__cause__ = blame
    else:
        stats = queue.stats()
        error = DeadlineExceededError(
            None,
            None,
            f"Timed out waiting for notification\n{method} on {queue.kind} '{name}', "
            f"which now holds {stats.size} of {stats.capacity} elements" + _stored(requested, current),
        )
    if method == "enqueue":
        error.stored = current
    return error


def _stored(requested: int, current: int) -> str:
    return f"\n{current} of the {requested} elements of this call were stored and stay" if requested > 1 else ""


def signature_mismatch(values: Sequence[Any], components: Sequence[Component]) -> InvalidArgumentError:
    """Too few values for the components."""
    have = ",".join(str(getattr(value, "dtype", type(value).__name__)) for value in values)
    want = ",".join(str(each.dtype) for each in components)
    return invalid(f"Signature mismatch, have: {have}-> expected: {want}->")


def count(n: Any, call: int) -> int:
    """The n of dequeue_many and dequeue_up_to, or the error that says why it cannot be one."""
    if n is None:
        raise ValueError("n must be an integer, got None")
    if isinstance(n, np.ndarray) and n.dtype.kind in "iu" and n.size == 1 and n.ndim <= 1:
        n = n.reshape(())[()]
    if isinstance(n, np.ndarray):
        raise invalid(f"n must be a scalar integer, got an array of {n.dtype} with shape {n.shape}")
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"n must be an integer, got {type(n).__name__} {n!r:.80}") from None
    if number < 0:
        operation = "DequeueManyOp" if _CALLS[call] == "dequeue_many" else "DequeueUpToOp"
        raise invalid(f"{operation} requested {number} < 0 elements")
    if number > 2**31 - 1:
        raise invalid(f"n must be less than 2**31, got {number}")
    return number


def no_shapes(kind: str) -> InvalidArgumentError:
    """Batches need shapes."""
    what = "DequeueMany requires" if kind == "PriorityQueue" else "DequeueMany and DequeueUpTo require"
    return invalid(f"{kind}'s {what} the components to have specified shapes.")


def wrong_out(where: str, out: Any, shape: tuple[int | None, ...], component: Component) -> ValueError:
    """An output array that cannot be written to as it is."""
    if not isinstance(out, np.ndarray):
        got = type(out).__name__
    else:
        flags = [
            text
            for text, fits in (("not C-contiguous", out.flags.c_contiguous), ("read-only", out.flags.writeable))
            if not fits
        ]
        got = ", ".join([f"{out.dtype}{list(out.shape)}", *flags])
    return ValueError(f"{where}: out must be a writable C-contiguous array {component.dtype}{list(shape)}, got {got}")
