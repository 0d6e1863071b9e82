"""The state of a reader as bytes: a protocol buffer message of four fields, as TensorFlow's readers write it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)  # the wire types


class ReaderState(NamedTuple):
    """How far a reader is. The fields' numbers in the message are 1 to 4, in this order."""

    work_started: int = 0
    work_finished: int = 0
    num_records_produced: int = 0
    current_work: bytes = b""


def encode(state: ReaderState) -> bytes:
    """Return the message; fields that are zero or empty are left out."""
    parts = []
    for number, value in enumerate(state[:3], 1):
        if value:
            parts.append(_varint(number << 3 | _VARINT) + _varint(value))
    if state.current_work:
        parts.append(_varint(4 << 3 | _BYTES) + _varint(len(state.current_work)) + state.current_work)
    return b"".join(parts)


def decode(message: bytes) -> ReaderState:
    """Return the state; fields that are not known are passed over, and of a field that comes twice the last one counts.

    Raises:
        ValueError: This is not such a message.
    """
    numbers = {1: 0, 2: 0, 3: 0}
    work = b""
    for number, kind, value in _fields(message):
        if kind == _VARINT and isinstance(value, int) and number in numbers:
            numbers[number] = value - (1 << 64) if value >> 63 else value
        elif kind == _BYTES and isinstance(value, bytes) and number == 4:
            work = value
    return ReaderState(numbers[1], numbers[2], numbers[3], work)


def escaped(message: bytes) -> str:
    """The bytes in printable form: what is not is written as in C, in octal."""
    special = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return "".join(special.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in message)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes | None]]:
    """Number, wire type and value of each field outside of groups."""
    position = 0
    groups: list[int] = []
    while position < len(message):
        tag, position = _read_varint(message, position)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError(f"field number {number}")
        value: int | bytes | None = None
        if kind == _VARINT:
            value, position = _read_varint(message, position)
        elif kind == _BYTES:
            size, position = _read_varint(message, position)
            value, position = _read_bytes(message, position, size)
        elif kind in (_FIXED64, _FIXED32):
            value, position = _read_bytes(message, position, 8 if kind == _FIXED64 else 4)
        elif kind == _GROUP:
            groups.append(number)
        elif kind != _END_GROUP or not groups or groups.pop() != number:
            raise ValueError(f"wire type {kind} of field {number}")
        if not groups:
            yield number, kind, value
    if groups:
        raise ValueError("a group without an end")


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if position + place >= len(message):
            break
        byte = message[position + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, position + place + 1
    raise ValueError("a number without an end")


def _read_bytes(message: bytes, position: int, size: int) -> tuple[bytes, int]:
    if size > len(message) - position:
        raise ValueError("a field that is longer than the message")
    return message[position : position + size], position + size
