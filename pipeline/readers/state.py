"""A reader's state as bytes: TensorFlow's protocol buffer message."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pipeline.decode import wire
from pipeline.errors import invalid


@dataclass
class ReaderState:
    """A reader's progress, with the fields of TensorFlow's message in their order.

    Attributes:
        work_started, work_finished: Number of work items that the reader started and finished.
        num_records_produced: Number of records that it returned.
        current_work: The current work item.
    """

    work_started: int = 0
    work_finished: int = 0
    num_records_produced: int = 0
    current_work: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the message; encoded here, since readers work without protobuf."""
        numbers = (self.work_started, self.work_finished, self.num_records_produced)
        found = [bytes((i << 3,)) + wire.pack_varint(each) for i, each in enumerate(numbers, 1) if each]
        return b"".join(found) + (wire.pack_field(4, self.current_work) if self.current_work else b"")

    @classmethod
    def from_bytes(cls, data: bytes) -> ReaderState:
        """Return the state in a message; unknown fields are skipped.

        Raises:
            WireError: The bytes are not a message.
        """
        state, names = cls(), [each.name for each in fields(cls)]
        for number, kind, begin, end in wire.fields(data, 0, len(data)):
            if number <= 3 and kind == wire.VARINT:
                setattr(state, names[number - 1], wire.signed(wire.varint(data, begin, end)[0]))
            elif number == 4 and kind == wire.LEN:
                state.current_work = data[begin:end]
        return state

    def __str__(self) -> str:
        shown = {**vars(self), "current_work": f'"{escaped(self.current_work)}"' if self.current_work else ""}
        return ", ".join(f"{name}: {value}" for name, value in shown.items() if value)


_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def escaped(value: bytes) -> str:
    """Return bytes as protocol buffer text between quotes: unprintable ones in octal, as in C."""
    return "".join(_ESCAPES.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in value)


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
        state = ReaderState.from_bytes(message)
    except wire.WireError as error:
        raise invalid(f"Could not parse state for {reader}: {escaped(message)}") from error
    if min(state.work_started, state.work_finished, state.num_records_produced) < 0:
        raise invalid(f"Unexpected negative value when restoring in {reader}: {state}")
    if state.work_started > state.work_finished:
        raise invalid(f"Inconsistent work started vs. finished when restoring in {reader}: {state}")
    return state
