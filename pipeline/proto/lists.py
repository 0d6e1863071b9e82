"""The three lists of tf.train.Feature on the wire: bytes, float32 and int64 values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.proto.wire import (
    FIXED32,
    LEN,
    VARINT,
    WireError,
    fields,
    pack_field,
    pack_varints,
    signed,
    unpack_varints,
    varint,
)

_FLOAT = np.dtype("<f4")
_PACKED = 0x0A  # the tag of field 1, with a length: all numbers of a list, one after the other


class ListKind(NamedTuple):
    """One kind of list.

    Attributes:
        number: Of its field in Feature.
        field: The name of that field.
        name: What TensorFlow calls the type of its values.
        dtype: Of an array of its values.
        check: The values as a list of what may be packed; TypeError or ValueError for one that does not fit.
        pack: The list message with these values as bytes.
        read: The values of the list message between two places: an array, or a list of bytes; WireError.
        text: A value as protocol buffers' text.
    """

    number: int
    field: str
    name: str
    dtype: np.dtype[Any]
    check: Callable[[Iterable[Any]], list[Any]]
    pack: Callable[[list[Any]], bytes]
    read: Callable[[bytes, int, int], Any]
    text: Callable[[Any], str]


def _check_bytes(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, (str, bytes)):
        raise TypeError(f"BytesList takes a list of bytes, not {values!r:.80}; put brackets around it")
    checked = list(values)
    for value in checked:
        if not isinstance(value, bytes):
            raise TypeError(f"BytesList takes bytes, not {type(value).__name__} {value!r:.80}")
    return [bytes(value) for value in checked]  # np.bytes_ is a bytes too


def _pack_bytes(values: list[Any]) -> bytes:
    return b"".join(pack_field(1, value) for value in values)


def _read_bytes(data: bytes, at: int, end: int) -> list[bytes]:
    if end - at > 1 and data[at] == _PACKED and at + 2 + data[at + 1] == end and data[at + 1] < 128:
        return [data[at + 2 : end]]  # the usual case, one short value
    return [data[begin:after] for number, kind, begin, after in fields(data, at, end) if number == 1 and kind == LEN]


def _check_floats(values: Iterable[Any]) -> list[Any]:
    array = np.asarray(values if isinstance(values, np.ndarray) else list(_sequence(values, "FloatList")))
    if array.ndim != 1 or (array.dtype.kind not in "biuf" and array.size):
        raise TypeError(f"FloatList takes a list of numbers, not one of {array.dtype} with shape {list(array.shape)}")
    with np.errstate(over="ignore"):
        checked: list[Any] = array.astype(np.float32).tolist()
    return checked


def _pack_floats(values: list[Any]) -> bytes:
    return pack_field(1, np.array(values, _FLOAT).tobytes()) if values else b""


def _read_floats(data: bytes, at: int, end: int) -> NDArray[np.float32]:
    if end - at > 1 and data[at] == _PACKED:
        size, begin = varint(data, at + 1, end)
        if begin + size == end and size % 4 == 0:  # the usual case, one packed field
            return np.frombuffer(data, _FLOAT, size // 4, begin).astype(np.float32)
    parts = []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN and (after - begin) % 4:
            raise WireError(f"the floats at byte {begin} take {after - begin} bytes, which is no multiple of 4")
        if number == 1 and kind in (LEN, FIXED32):
            parts.append(data[begin:after])
    return np.frombuffer(b"".join(parts), _FLOAT).astype(np.float32)


def _check_ints(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu" and values.dtype != np.uint64:
        listed: list[Any] = values.tolist()
        return listed
    checked = []
    for value in _sequence(values, "Int64List"):
        if isinstance(value, np.ndarray) or not hasattr(value, "__index__"):
            raise TypeError(f"Int64List takes integers, not {type(value).__name__} {value!r:.80}")
        checked.append(operator.index(value))
        if not -(1 << 63) <= checked[-1] < 1 << 63:
            raise ValueError(f"Value out of range: {checked[-1]} is no int64")
    return checked


def _pack_ints(values: list[Any]) -> bytes:
    return pack_field(1, pack_varints(values)) if values else b""


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


def _sequence(values: Any, name: str) -> Iterable[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} takes a list of numbers, not {type(values).__name__} {values!r:.80}")
    return values


_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def quoted(value: bytes) -> str:
    """Bytes as protocol buffers' text."""
    return '"' + "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value) + '"'


def _float_text(value: float) -> str:
    """A float32 with 6 digits, or with 9 where these do not give the same number back."""
    text = f"{value:.6g}"
    return text if np.float32(text) == np.float32(value) or value != value else f"{value:.9g}"


LISTS = {
    1: ListKind(1, "bytes_list", "string", np.dtype(object), _check_bytes, _pack_bytes, _read_bytes, quoted),
    2: ListKind(2, "float_list", "float", np.dtype(np.float32), _check_floats, _pack_floats, _read_floats, _float_text),
    3: ListKind(3, "int64_list", "int64", np.dtype(np.int64), _check_ints, _pack_ints, _read_ints, str),
}
