"""The state of a reader as bytes: the protocol buffer message that TensorFlow's readers write."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.errors import invalid
from pipeline.proto.text import escaped
from pipeline.proto.wire import LEN, VARINT, fields, pack_field, pack_varint, signed, varint


class ReaderState(NamedTuple):
    """How far a reader is. The fields of the message have the numbers 1 to 4, in this order."""

    work_started: int = 0
    work_finished: int = 0
    num_records_produced: int = 0
    current_work: bytes = b""


def encode(state: ReaderState) -> bytes:
    """Return the message; fields that are zero or empty are left out."""
    numbers = [pack_varint(i << 3 | VARINT) + pack_varint(value) for i, value in enumerate(state[:3], 1) if value]
    return b"".join(numbers) + (pack_field(4, state.current_work) if state.current_work else b"")


def decode(message: bytes) -> ReaderState:
    """Return the state. Unknown fields are ignored; of a repeated field the last one counts.

    Raises:
        ValueError: The bytes are not such a message.
    """
    numbers = {1: 0, 2: 0, 3: 0}
    work_item = b""
    for number, kind, begin, end in fields(message, 0, len(message)):
        if kind == VARINT and number in numbers:
            numbers[number] = signed(varint(message, begin, end)[0])
        elif kind == LEN and number == 4:
            work_item = message[begin:end]
    return ReaderState(numbers[1], numbers[2], numbers[3], work_item)


def decode_checked(message: bytes, reader: str) -> ReaderState:
    """As `decode`, for a state that a reader can go back to; `reader` names it in errors.

    Raises:
        InvalidArgumentError: It is not a state, or one within a work item.
    """
    try:
        state = decode(message)
    except ValueError as error:
        raise invalid(f"Could not parse state for {reader}: {escaped(message)}") from error
    if min(state[:3]) < 0:
        raise invalid(f"Unexpected negative value when restoring in {reader}: {state}")
    if state.work_started > state.work_finished:
        raise invalid(f"Inconsistent work started vs. finished when restoring in {reader}: {state}")
    return state
