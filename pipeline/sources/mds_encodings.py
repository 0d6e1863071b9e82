"""Encodings in MDS, Mosaic Streaming's format: decoders for column bytes. Pickles are not read."""

from __future__ import annotations

import functools
import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.rgb import rgb_image
from pipeline.dtypes import native
from pipeline.nest import ListValue
from pipeline.sources.list_values import marked

Decoder = Callable[[bytes], Any]

_SCALARS = (
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64"),
)

# An array's first byte, if its dtype is not fixed.
_DTYPES = {
    **{8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 18: "float16", 32: "uint32", 33: "int32", 34: "float32"},
    **{64: "uint64", 65: "int64", 66: "float64"},
}

# Pillow modes: the dtype, and values per pixel.
_MODES = {
    **{"L": ("u1", 1), "LA": ("u1", 2), "RGB": ("u1", 3), "RGBA": ("u1", 4), "CMYK": ("u1", 4), "YCbCr": ("u1", 3)},
    **{"HSV": ("u1", 3), "LAB": ("u1", 3), "I;16": ("<u2", 1), "I": ("<i4", 1), "F": ("<f4", 1)},
}
_PIL = struct.Struct("<3I")  # width, height, length of the mode


def decoder_of(encoding: str) -> Decoder | None:
    """Return the decoder for a column's bytes; None if the encoding is unknown.

    Raises:
        ValueError: The encoding's details are malformed.
    """
    name, _, details = encoding.partition(":")
    if name == "ndarray":
        return _of_array(details)
    return _DECODERS.get(name)


def _scalar(dtype: np.dtype[Any], data: bytes) -> Any:
    if len(data) != dtype.itemsize:
        raise ValueError(f"it has {len(data):,} bytes instead of {dtype.itemsize}")
    return np.frombuffer(data, dtype)[0]


def _of_array(details: str) -> Decoder:
    """Return an array decoder for details: "", or a dtype, or "int32:3,4" with a shape too."""
    name, _, sides = details.partition(":")
    if name and name not in _SCALARS:
        raise ValueError(f"{name!r} is not a dtype of arrays")
    dtype = np.dtype(name).newbyteorder("<") if name else None
    shape = tuple(map(int, sides.split(","))) if sides else None
    return functools.partial(_array, dtype, shape)


def _array(dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None, data: bytes) -> NDArray[Any]:
    at = 0
    if dtype is None:
        if data[:1] and data[0] not in _DTYPES:
            raise ValueError(f"its dtype is {data[0]}, which is not known")
        dtype, at = np.dtype(_DTYPES[data[0]]).newbyteorder("<"), 1
    if shape is None:
        rank, size = data[at] >> 2, 1 << (data[at] & 3)
        begin, at = at + 1, at + 1 + rank * size
        shape = tuple(np.frombuffer(data[begin:at], f"<u{size}", rank).tolist())
    if math.prod(shape) * dtype.itemsize != len(data) - at:
        raise ValueError(f"it should be {dtype} of shape {list(shape)}, and has {len(data) - at:,} bytes")
    return native(np.frombuffer(data, dtype, offset=at)).reshape(shape).copy()


def _pil(data: bytes) -> NDArray[Any]:
    width, height, size = _PIL.unpack_from(data)
    mode, at = data[_PIL.size : _PIL.size + size].decode("ascii"), _PIL.size + size
    if mode not in _MODES:
        raise ValueError(f"its mode is {mode!r}: pass a decoder of your own")
    dtype, depth = _MODES[mode]
    shape = (height, width) if depth == 1 else (height, width, depth)
    if math.prod(shape) * np.dtype(dtype).itemsize != len(data) - at:
        raise ValueError(f"it should be {mode} of {width:,} x {height:,} pixels, and has {len(data) - at:,} bytes")
    return native(np.frombuffer(data, dtype, offset=at)).reshape(shape).copy()


def _list(decoder: Decoder, begin: int, data: bytes) -> ListValue:
    """Return a list's contents, with its count, sizes and items starting at `begin`."""
    count = int.from_bytes(data[begin : begin + 4], "little")
    at = begin + 4 * (count + 1)
    if len(data) < at:
        raise ValueError(f"it has {len(data):,} bytes, fewer than the sizes of {count:,} items")
    found = ListValue()
    for size in np.frombuffer(data, "<u4", count, begin + 4).tolist():
        found.append(decoder(data[at : at + size]))
        at += size
    if at != len(data):
        raise ValueError(f"it has {len(data):,} bytes, and by the sizes of its items {at:,}")
    return found


def _json(data: bytes) -> Any:
    return marked(json.loads(data.decode()))


def _number(kind: Callable[[str], Any], data: bytes) -> Any:
    return kind(data.decode("ascii"))


_IMAGES: dict[str, Decoder] = {"pil": _pil, "jpeg": rgb_image, "png": rgb_image}

_DECODERS: dict[str, Decoder] = {
    "bytes": bytes,
    "str": bytes.decode,
    "int": functools.partial(_scalar, np.dtype("<i8")),
    **{name: functools.partial(_scalar, np.dtype(name).newbyteorder("<")) for name in _SCALARS},
    "str_int": functools.partial(_number, int),
    "str_float": functools.partial(_number, float),
    "str_decimal": bytes.decode,  # arrays hold no decimals, and a float would round them
    **_IMAGES,
    # The first four bytes in lists have no meaning yet.
    **{f"list[{name}]": functools.partial(_list, each, 4) for name, each in _IMAGES.items()},
    **dict.fromkeys(("jpeg_array", "jpegarray"), functools.partial(_list, rgb_image, 0)),
    "json": _json,
}
