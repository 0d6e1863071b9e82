"""decode_raw: reinterpret record bytes as number arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.dtypes import as_bytes, items, numpy_dtype, truth
from pipeline.errors import invalid

_UINT8 = np.dtype(np.uint8)
_NAMES = {"float16": "half", "float32": "float", "float64": "double"}
_SAME_NAME = {"uint8", "uint16", "int8", "int16", "int32", "int64", "complex64", "complex128", "bool", "bfloat16"}


def decode_raw(input_bytes: Any, out_dtype: Any, little_endian: bool = True) -> Any:
    r"""Reinterpret bytes as an array.

    Args:
        input_bytes: A record as bytes or str, or records with equal length in a list or array.
        out_dtype: float16, float32, float64, (u)int8, (u)int16, int32, int64, complex64, complex128, bool, or
            ml_dtypes.bfloat16.
        little_endian: True if your numbers are little-endian.

    Returns:
        A 1-D array, or a 2-D array for many records. It is a read-only view if nothing has to change.

    Raises:
        InvalidArgumentError: The length does not fit the dtype, lengths differ, or the dtype is not supported.
        TypeError: A record is neither bytes nor str.

    Examples:
        >>> pipeline.decode_raw([b"\x01\x00\x02\x00", b"\x03\x00\x04\x00"], np.int16).tolist()
        [[1, 2], [3, 4]]
    """
    if input_bytes.__class__ is bytes and (out_dtype is _UINT8 or out_dtype is np.uint8):
        return np.frombuffer(input_bytes, np.uint8)
    dtype = numpy_dtype(out_dtype, "decode_raw: out_dtype")
    name = _NAMES.get(dtype.name) or (dtype.name if dtype.name in _SAME_NAME else None)
    if name is None:
        known = ", ".join(sorted([*_NAMES, *_SAME_NAME]))
        raise invalid(f"decode_raw does not support out_dtype {dtype}; it supports {known}")
    native, little_endian = dtype.newbyteorder("="), truth(little_endian, "decode_raw: little_endian")
    if isinstance(input_bytes, np.ndarray) and input_bytes.ndim == 0:
        input_bytes = input_bytes.item()
    shape: tuple[int, ...]
    if isinstance(input_bytes, (bytes, bytearray, memoryview, str)):
        data, size, shape = _bytes(input_bytes, 0), None, ()
    else:
        array = isinstance(input_bytes, np.ndarray)
        given = input_bytes.ravel().tolist() if array else items(input_bytes, "decode_raw: input_bytes", "records")
        records = [_bytes(record, i) for i, record in enumerate(given)]
        data, size = b"".join(records), len(records[0]) if records else 0
        shape = input_bytes.shape if array else (len(records),)
        for i, record in enumerate(records):
            if len(record) != size:
                text = "DecodeRaw requires input strings to all be the same size, but element"
                raise invalid(f"{text} {i} has size {size} != {len(record)}")
    size = len(data) if size is None else size
    if size % dtype.itemsize:
        text = f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.itemsize}, the size of {name}"
        raise invalid(text)
    return _numbers(data, native, little_endian).reshape(*shape, size // dtype.itemsize)


def _numbers(data: bytes, dtype: np.dtype[Any], little_endian: bool) -> np.ndarray[Any, Any]:
    if dtype == np.bool_:
        flags: np.ndarray[Any, Any] = np.frombuffer(data, np.uint8) != 0  # bytes in a bool array must be 0 or 1
        return flags
    stored = dtype.newbyteorder("<" if little_endian else ">")
    if stored == dtype or dtype.itemsize == 1:
        return np.frombuffer(data, dtype)
    if dtype.kind == "V":  # bfloat16: NumPy cannot change the byte order of custom dtypes
        little = np.dtype(np.uint16).newbyteorder("<" if little_endian else ">")
        return np.frombuffer(data, little).astype(np.uint16).view(dtype)
    return np.frombuffer(data, stored).astype(dtype)


def _bytes(record: Any, index: int) -> bytes:
    return record if type(record) is bytes else as_bytes(record, f"decode_raw: record {index}")
