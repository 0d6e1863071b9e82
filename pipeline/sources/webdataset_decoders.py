"""What webdataset makes of the bytes of a file, by the extension of its name; WebDataset's table, without pickles."""

from __future__ import annotations

import functools
import gzip
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pipeline.decode.image.rgb import rgb_image
from pipeline.files.limits import MAX_RECORD_BYTES, too_long
from pipeline.sources.extras import needs

_PIECE = 1 << 20  # bytes decompressed at once
_NPY = np.lib.format.MAGIC_PREFIX


@functools.lru_cache(256)
def _layout(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What the head of an .npy file says: shape, whether the first index runs fastest, and dtype."""
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(head[8:]))
    return shape, fortran, dtype


def _array(data: bytes) -> Any:
    """As `np.load`, which reads the same head again for each sample: three quarters of the time of a small array."""
    end = 10 + int.from_bytes(data[8:10], "little")
    if data[:8] != _NPY + b"\x01\x00" or len(data) < end:
        return _other_array(data)
    shape, fortran, dtype = _layout(data[:end])
    _check_claim(shape, dtype, len(data))
    if dtype.hasobject:
        return np.load(io.BytesIO(data), allow_pickle=False)
    return np.ndarray(shape, dtype, data, end, order="F" if fortran else "C").copy(order="K")


def _other_array(data: bytes) -> Any:
    """An array of a later version of the format, whose head may be longer."""
    file = io.BytesIO(data)
    if data[:7] in (_NPY + b"\2", _NPY + b"\3"):
        file.seek(8)
        # The third version differs only in how the names of fields are encoded.
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        _check_claim(shape, dtype, len(data))
        file.seek(0)
    return np.load(file, allow_pickle=False)


def _check_claim(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> None:
    """Raise ValueError if a file of this size cannot hold such an array: NumPy would allocate it first."""
    count = math.prod(shape)
    if count * max(1, dtype.itemsize) > size or min(shape, default=0) < 0:
        raise ValueError(
            f"its head claims an array of shape {list(shape)} and dtype {dtype}, and it has {size:,} bytes"
        )


def _arrays(data: bytes, limit: int = MAX_RECORD_BYTES) -> dict[str, Any]:
    """As `np.load` of an .npz file; ResourceExhaustedError if it holds more bytes than the limit."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(each.file_size for each in archive.infolist()) > limit:
            raise too_long("its arrays have", limit)
        contents = {each.filename: archive.read(each) for each in archive.infolist()}
    return {
        name.removesuffix(".npy"): _array(content) if content.startswith(_NPY) else content
        for name, content in contents.items()
    }


def _cbor(data: bytes) -> Any:
    return needs("cbor2", "webdataset: decoding 'cbor'", "webdataset").loads(data)


def _msgpack(data: bytes) -> Any:
    return needs("msgpack", "webdataset: decoding 'mp' and 'msg'", "webdataset").unpackb(data)


DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "bmp", "webp", "tif", "tiff"), rgb_image),
    **dict.fromkeys(("ppm", "pgm", "pbm", "pnm"), rgb_image),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), int),
    **dict.fromkeys(("json", "jsn"), json.loads),
    "npy": _array,
    "npz": _arrays,
    "cbor": _cbor,
    **dict.fromkeys(("mp", "msg"), _msgpack),
}


def decoders(limit: int) -> dict[str, Callable[[bytes], Any]]:
    """The decoders, where a record may have so many bytes."""
    return {**DECODERS, "npz": functools.partial(_arrays, limit=limit)}


def unpacked(data: bytes, limit: int) -> bytes:
    """Return what gzip made of something; ResourceExhaustedError if that has more bytes than the limit."""
    pieces, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_long("decompressed it has", limit)
    return b"".join(pieces)
