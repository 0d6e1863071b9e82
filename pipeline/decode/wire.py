"""The wire format of protocol buffers, for decoders that make no messages: varints, tags, fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARINT, FIXED64, LEN, FIXED32 = 0, 1, 2, 5
_SHORT = 16  # maximum values for which a loop is faster than NumPy
_SIGN = 1 << 63
_SHIFTS = np.arange(10, dtype=np.uint64) * np.uint64(7)
_STEPS = np.uint64(1) << _SHIFTS[1:]


class WireError(ValueError):
    """The bytes are not a message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the unsigned varint at `at`, and its end.

    Raises:
        WireError: It does not end before `end`, or has more than ten bytes.
    """
    if at + 1 < end and data[at] > 127 and data[at + 1] < 128:  # the usual case
        return data[at] & 127 | data[at + 1] << 7, at + 2
    value = shift = 0
    for i in range(at, min(end, at + 10)):
        byte = data[i]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, i + 1
        shift += 7
    raise WireError(f"the number at byte {at} has no end" if end < at + 10 else f"the number at byte {at} is too long")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Iterate over a message's fields between two offsets: (number, wire type, begin and end of the value).

    Raises:
        WireError: The bytes are not a message.
    """
    while at < end:
        begin = at
        tag, at = varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == LEN:
            size, at = varint(data, at, end)
            after = at + size
        elif kind == VARINT:
            _, after = varint(data, at, end)
        elif kind in (FIXED64, FIXED32):
            after = at + (8 if kind == FIXED64 else 4)
        elif kind == 3:
            after = at = _end_of_group(data, at, end, number)
        else:
            raise WireError(f"the field at byte {begin} has the unknown wire type {kind}")
        if not 0 < number < 1 << 29:
            raise WireError(f"the field at byte {begin} has the invalid number {number}")
        if after > end:
            raise WireError(f"the field at byte {begin} ends at byte {after}, its message ends at byte {end}")
        yield number, kind, at, after
        at = after


def _end_of_group(data: bytes, at: int, end: int, number: int) -> int:
    """Skip a group, a nested message from early protocol buffers, in a loop because groups may nest deeply."""
    begin, open_groups = at, [number]
    while open_groups:
        if at >= end:
            raise WireError(f"the group at byte {begin} has no end")
        tag, at = varint(data, at, end)
        kind = tag & 7
        if kind == 3:
            open_groups.append(tag >> 3)
        elif kind == 4:
            if open_groups.pop() != tag >> 3:
                raise WireError(f"the group at byte {begin} ends as another one")
        elif kind == LEN:
            size, at = varint(data, at, end)
            at += size
        elif kind == VARINT:
            _, at = varint(data, at, end)
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
        else:
            raise WireError(f"the group at byte {begin} has the unknown wire type {kind}")
    return at


def signed(value: int) -> int:
    """Return an int64 from its 64 bits."""
    return value - (1 << 64) if value & _SIGN else value


def unpack_varints(data: bytes, at: int, end: int) -> NDArray[np.int64]:
    """Return the int64 numbers between two offsets.

    Raises:
        WireError: The last one is cut off, or one has more than ten bytes.
    """
    if end - at <= _SHORT:
        values = []
        while at < end:
            if data[at] < 128:
                values.append(data[at])
                at += 1
            else:
                value, at = varint(data, at, end)
                values.append(signed(value))
        return np.array(values, np.int64)
    raw = np.frombuffer(data, np.uint8, end - at, at)
    last = raw < 128
    if last.all():
        return raw.astype(np.int64)
    if not last[-1]:
        raise WireError(f"the last number before byte {end} has no end")
    begins = np.concatenate(([0], np.flatnonzero(last)[:-1] + 1))
    sizes = np.diff(begins, append=len(raw))
    if sizes.max() > 10:
        raise WireError(f"the number at byte {at + int(begins[sizes.argmax()])} is too long")
    values_ = np.zeros(len(begins), np.uint64)
    for i in range(int(sizes.max())):
        has = sizes > i
        values_[has] |= (raw[begins[has] + i] & 127).astype(np.uint64) << _SHIFTS[i]
    return values_.view(np.int64)


def pack_varint(value: int) -> bytes:
    """Return a number of at most 64 bits as a varint; a negative one takes ten bytes."""
    if 0 <= value < 128:
        return bytes((value,))
    value &= 0xFFFF_FFFF_FFFF_FFFF
    packed = bytearray()
    while value > 127:
        packed.append(value & 127 | 128)
        value >>= 7
    packed.append(value)
    return bytes(packed)


def pack_varints(values: list[int]) -> bytes:
    """Return int64 numbers as consecutive varints."""
    if len(values) <= _SHORT:
        return b"".join(map(pack_varint, values))
    bits: NDArray[Any] = np.array(values, np.int64).view(np.uint64)
    groups = ((bits[:, None] >> _SHIFTS) & np.uint64(127)).astype(np.uint8)
    sizes = 1 + (bits[:, None] >= _STEPS).sum(axis=1)
    place = np.arange(10)
    groups[place < sizes[:, None] - 1] |= 128
    packed: bytes = groups[place < sizes[:, None]].tobytes()
    return packed


def pack_field(number: int, payload: bytes) -> bytes:
    """Return a bytes field: its tag, its length and the bytes."""
    if number < 16 and len(payload) < 128:  # the usual case
        return bytes((number << 3 | LEN, len(payload))) + payload
    return pack_varint(number << 3 | LEN) + pack_varint(len(payload)) + payload
