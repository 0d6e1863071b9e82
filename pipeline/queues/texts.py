"""Errors raised by queue calls: TensorFlow's searchable first line, then the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline._queue import CALLS, STATUSES
from pipeline.diagnostics.ends import EndOfInput, with_end
from pipeline.diagnostics.wording import count
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    invalid,
)
from pipeline.queues.components import Component
from pipeline.queues.waits import Watchdog, WatchedQueue

CALL_NAMES = {number: name for name, number in CALLS.items()}
_ENQUEUES = ("enqueue", "enqueue_many")
_SHOWN = 8  # values with types in an error
_STATUS_NAMES = {number: name for name, number in STATUSES.items()}


def failure(queue: WatchedQueue, watchdog: Watchdog, status: int, call: int, requested: int, current: int) -> OpError:
    """Make the error for an unserved call.

    A closed queue's errors contain the reason for closing; a failed thread's exception is their `__cause__`.

    Args:
        queue: The queue.
        watchdog: Provides the reason for closing.
        status, call: The engine's codes for outcome and method.
        requested: The call's element count.
        current: The queue's size; for an enqueue, how many elements are stored: the error's `stored`.
    """
    method, outcome = CALL_NAMES[call], _STATUS_NAMES[status]
    if outcome in ("closed", "already_closed", "cancelled", "exhausted"):
        error = _closed(queue, watchdog, method, outcome, requested, current)
    else:
        error = DeadlineExceededError(None, None, _timed_out(queue, watchdog, method, requested, current))
    if method in _ENQUEUES:
        error.stored = current
    return error


def _closed(
    queue: WatchedQueue, watchdog: Watchdog, method: str, outcome: str, requested: int, current: int
) -> OpError:
    name = queue.name
    # As in TensorFlow, single-element calls on a padding queue name FIFOQueue in errors, because they are its calls.
    kind = (
        "FIFOQueue"
        if queue._kind_name == "PaddingFIFOQueue" and (method in _ENQUEUES or method == "dequeue")
        else queue._kind_name
    )
    why, blame, end = watchdog.why_closed(queue)
    error: OpError
    if outcome == "closed":
        error = CancelledError(None, None, f"{kind} '{name}' is closed.{why}" + _stored(requested, current))
    elif outcome == "already_closed":
        error = CancelledError(None, None, f"Queue '{name}' is already closed.{why}")
    elif outcome == "cancelled":
        error = CancelledError(None, None, f"Enqueue operation was cancelled{why}" + _stored(requested, current))
    else:
        error = insufficient(kind, name, requested, current, why)
        if end != EndOfInput():
            with_end(error, end)
    error.__cause__ = blame
    return error


def insufficient(kind: str, name: str, requested: int, current: int, why: str) -> OutOfRangeError:
    """Make the error for a dequeue from a closed queue with too few elements; `why` starts with a line end."""
    first = f"{kind} '{name}' is closed and has insufficient elements"
    return OutOfRangeError(None, None, f"{first} (requested {requested}, current size {current}){why}")


def _timed_out(queue: WatchedQueue, watchdog: Watchdog, method: str, requested: int, current: int) -> str:
    stats, kept = queue.stats(), watchdog.min_after_dequeue
    text = (
        f"Timed out waiting for notification\n{method} on {queue._kind_name} '{queue.name}', "
        f"which now holds {stats.size} of {stats.capacity} elements"
    )
    if kept and method not in _ENQUEUES and not stats.closed:
        text += f" and keeps {kept} of them back until it is closed (min_after_dequeue)"
    return text + _stored(requested, current)


def _stored(requested: int, current: int) -> str:
    if requested <= 1:
        return ""
    return f"\n{current} of the {requested} elements of this call were stored and stay in the queue"


def signature_mismatch(
    queue: str, values: Sequence[Any], components: Sequence[Component], many: bool
) -> InvalidArgumentError:
    """Make the error for a call whose value count differs from the queue's component count."""
    have = ",".join(str(getattr(value, "dtype", type(value).__name__)) for value in values[:_SHOWN])
    more = ",..." if len(values) > _SHOWN else ""
    want = ",".join(str(each.dtype) for each in components)
    advice = f"Pass {len(components)} values, one for each component"
    if len(components) == 1 and many:
        advice = "For rows in a list write enqueue_many(([...],)), or pass an array"
    elif len(components) == 1:
        advice = (
            "For one element that is a list write enqueue(([...],)), or pass an array; for several elements "
            "enqueue_many(([...],))"
        )
    return invalid(
        f"Signature mismatch, have: {have}{more}-> expected: {want}->\n{queue} has "
        f"{count(len(components), 'component')}, and this call {count(len(values), 'value')}: a list or tuple holds "
        f"the components of an element. {advice}"
    )


def no_shapes(kind: str) -> InvalidArgumentError:
    """Make the error for a batch from a queue without shapes."""
    what = "DequeueMany requires" if kind == "PriorityQueue" else "DequeueMany and DequeueUpTo require"
    return invalid(f"{kind}'s {what} the components to have specified shapes.")


def wrong_out(where: str, out: Any, shape: tuple[int | None, ...], component: Component) -> ValueError:
    """Make the error for an unsuitable output array."""
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
