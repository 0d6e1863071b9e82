"""Read the three list kinds in a tf.train.Feature as arrays, without messages and protobuf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.wire import FIXED32, LEN, VARINT, WireError, fields, signed, unpack_varints, varint

_FLOATS = np.dtype("<f4")
_PACKED = 0x0A  # tag for field 1 with a length: all numbers in a list, one after the other


class ListKind(NamedTuple):
    """One list kind.

    Attributes:
        number: Its field number in Feature.
        field: Its field name there.
        name: TensorFlow's name for its value type.
        dtype: The dtype for its values.
        read: Returns the list's values from data[at:end]: an array, or a list of bytes. Raises WireError.
    """

    number: int
    field: str
    name: str
    dtype: np.dtype[Any]
    read: Callable[[bytes, int, int], Any]


def _read_bytes(data: bytes, at: int, end: int) -> list[bytes]:
    if end - at > 1 and data[at] == _PACKED and at + 2 + data[at + 1] == end and data[at + 1] < 128:
        return [data[at + 2 : end]]  # the usual case, one short value
    return [data[begin:after] for number, kind, begin, after in fields(data, at, end) if number == 1 and kind == LEN]


def _read_floats(data: bytes, at: int, end: int) -> NDArray[np.float32]:
    if end - at > 1 and data[at] == _PACKED:
        size, begin = varint(data, at + 1, end)
        if begin + size == end and size % 4 == 0:  # the usual case, one packed field
            return np.frombuffer(data, _FLOATS, size // 4, begin).astype(np.float32)
    parts = []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN and (after - begin) % 4:
            raise WireError(f"the floats at byte {begin} take {after - begin} bytes, which is not a multiple of 4")
        if number == 1 and kind in (LEN, FIXED32):
            parts.append(data[begin:after])
    return np.frombuffer(b"".join(parts), _FLOATS).astype(np.float32)


def _read_ints(data: bytes, at: int, end: int) -> NDArray[np.int64]:
    if end - at > 1 and data[at] == _PACKED:
        size, begin = varint(data, at + 1, end)
        if begin + size == end:  # the usual case, one packed field
            return unpack_varints(data, begin, end)
    parts: list[Any] = []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN:
            parts.extend(unpack_varints(data, begin, after).tolist())
        elif number == 1 and kind == VARINT:
            parts.append(signed(varint(data, begin, after)[0]))
    return np.array(parts, np.int64)


LISTS = {
    1: ListKind(1, "bytes_list", "string", np.dtype(object), _read_bytes),
    2: ListKind(2, "float_list", "float", np.dtype(np.float32), _read_floats),
    3: ListKind(3, "int64_list", "int64", np.dtype(np.int64), _read_ints),
}
