"""A reader's state as bytes: TensorFlow's protocol buffer message."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.errors import InvalidArgumentError, invalid
from pipeline.proto.fields import Scalar
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BYTES, INT64
from pipeline.proto.text import escaped


class ReaderState(Message):
    """A reader's progress: work items started and finished, records, and the current work item."""

    work_started = Scalar(1, INT64)
    work_finished = Scalar(2, INT64)
    num_records_produced = Scalar(3, INT64)
    current_work = Scalar(4, BYTES)


def one_text(state: Any) -> bytes:
    """Return a state as bytes, also from an array with one entry; TypeError or ValueError if it is something else."""
    if isinstance(state, (list, tuple, np.ndarray)):
        if np.ndim(state):
            raise ValueError(f"state must be a scalar, got shape {np.shape(state)}")
        state = np.asarray(state).item()
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise TypeError(f"state must be bytes, got {type(state).__name__}")
    return bytes(state)


def checked_state(message: bytes, reader: str) -> ReaderState:
    """Return a reader's restorable state; `reader` names it in errors.

    Raises:
        InvalidArgumentError: It is not a state, or was saved within a work item.
    """
    try:
        state = ReaderState.FromString(message)
    except InvalidArgumentError as error:
        raise invalid(f"Could not parse state for {reader}: {escaped(message)}") from error
    shown = ", ".join(str(state).splitlines())
    if min(state.work_started, state.work_finished, state.num_records_produced) < 0:
        raise invalid(f"Unexpected negative value when restoring in {reader}: {shown}")
    if state.work_started > state.work_finished:
        raise invalid(f"Inconsistent work started vs. finished when restoring in {reader}: {shown}")
    return state
