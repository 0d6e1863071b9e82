"""Decoders for WebDataset files by extension: WebDataset's table, without pickles."""

from __future__ import annotations

import functools
import gzip
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pipeline.decode.image.rgb import rgb_image
from pipeline.files.encoding import MARK
from pipeline.files.limits import MAX_RECORD_BYTES, too_long
from pipeline.sources.extras import needs
from pipeline.sources.list_values import marked

_PIECE = 1 << 20  # bytes decompressed at once
_NPY = np.lib.format.MAGIC_PREFIX
_DECIMAL = re.compile(rb"\s*[+-]?[0-9]+\s*")


@functools.lru_cache(256)
def _layout(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype from an .npy file's header."""
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(head[8:]))
    return shape, fortran, dtype


def _array(data: bytes) -> Any:
    """As `np.load`, but parses equal headers once: parsing takes three quarters of a small array's time."""
    end = 10 + int.from_bytes(data[8:10], "little")
    if data[:8] != _NPY + b"\x01\x00" or len(data) < end:
        return _other_array(data)
    shape, fortran, dtype = _layout(data[:end])
    _check_claim(shape, dtype, len(data))
    if dtype.hasobject:
        return np.load(io.BytesIO(data), allow_pickle=False)
    return np.ndarray(shape, dtype, data, end, order="F" if fortran else "C").copy(order="K")


def _other_array(data: bytes) -> Any:
    """Return an array in a later format version; its header may be longer."""
    file = io.BytesIO(data)
    if data[:7] in (_NPY + b"\2", _NPY + b"\3"):
        file.seek(8)
        # The third version differs only in the encoding of field names.
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        _check_claim(shape, dtype, len(data))
        file.seek(0)
    return np.load(file, allow_pickle=False)


def _check_claim(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> None:
    """Raise ValueError if the file is too small for such an array: NumPy would allocate it first."""
    count = math.prod(shape)
    if count * max(1, dtype.itemsize) > size or min(shape, default=0) < 0:
        raise ValueError(
            f"its head claims an array of shape {list(shape)} and dtype {dtype}, and it has {size:,} bytes"
        )


def _arrays(data: bytes, limit: int = MAX_RECORD_BYTES) -> dict[str, Any]:
    """As `np.load` for an .npz file; ResourceExhaustedError if it exceeds the limit."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(each.file_size for each in archive.infolist()) > limit:
            raise too_long("its arrays have", limit)
        for each in archive.infolist():
            if each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others expand without a limit
                raise ValueError(f"{each.filename!r} is compressed by method {each.compress_type} of zip")
        contents = {each.filename: archive.read(each) for each in archive.infolist()}
    return {
        name.removesuffix(".npy"): _array(content) if content.startswith(_NPY) else content
        for name, content in contents.items()
    }


def _text(data: bytes) -> str:
    return data.removeprefix(MARK).decode()


def _integer(data: bytes) -> int:
    """A decimal integer. Python alone would read b"1_0" too, as 10."""
    if not _DECIMAL.fullmatch(data):
        raise ValueError(f"{data!r:.80} is not an integer")
    return int(data)


def _cbor(data: bytes) -> Any:
    loads = needs("cbor2", "webdataset: decoding 'cbor'").loads
    if _MAY_REFER.search(data) and _refers(data):
        raise ValueError(
            "it has shared references (CBOR tag 29), by which a few bytes stand for any number of values: write it "
            "without value sharing, or pass decoders={'cbor': cbor2.loads} if you trust the shards"
        )
    return loads(data)


_REFERENCE = 29  # the tag
# Its head, with a number in 1, 2, 4 or 8 bytes; other bytes may look like it.
_MAY_REFER = re.compile(rb"\xd8\x1d|\xd9\0\x1d|\xda\0{3}\x1d|\xdb\0{7}\x1d")
_TEXTS, _TAG = (2, 3), 6  # major types


def _refers(data: bytes) -> bool:
    """Return True if CBOR has a reference. A loop suffices: items in arrays, maps and tags follow their heads."""
    at = 0
    while at < len(data):
        major, number = data[at] >> 5, data[at] & 31
        at += 1
        if 24 <= number < 28:
            size = 1 << (number - 24)
            number = int.from_bytes(data[at : at + size], "big")
            at += size
        elif number == 31:  # without a fixed length: pieces follow
            continue
        if major == _TAG and number == _REFERENCE:
            return True
        if major in _TEXTS:
            at += number
    return False


def _msgpack(data: bytes) -> Any:
    msgpack = needs("msgpack", "webdataset: decoding 'mp' and 'msg'")
    whole = msgpack.Unpacker(max_buffer_size=len(data))
    whole.feed(data)
    try:
        whole.skip()  # it makes nothing, but `unpackb` allocates all items claimed by a head
    except msgpack.OutOfData:
        raise ValueError("it ends too early, or claims more items than it has") from None
    except msgpack.StackError:
        raise ValueError("it is nested too deeply") from None
    except msgpack.FormatError:
        raise ValueError("it is not MessagePack") from None
    return msgpack.unpackb(data)


def _marked(decoder: Callable[[bytes], Any], data: bytes) -> Any:
    return marked(decoder(data))


DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "bmp", "webp", "tif", "tiff"), rgb_image),
    **dict.fromkeys(("ppm", "pgm", "pbm", "pnm"), rgb_image),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), _integer),
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    **dict.fromkeys(("json", "jsn"), functools.partial(_marked, json.loads)),
    "npy": _array,
    "npz": _arrays,
    "cbor": functools.partial(_marked, _cbor),
    **dict.fromkeys(("mp", "msg"), functools.partial(_marked, _msgpack)),
}


def decoders(limit: int) -> dict[str, Callable[[bytes], Any]]:
    """Return the decoders for a size limit per record."""
    return {**DECODERS, "npz": functools.partial(_arrays, limit=limit)}


def unpacked(data: bytes, limit: int) -> bytes:
    """Decompress gzip data; ResourceExhaustedError if the result exceeds the limit."""
    pieces, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_long("decompressed it has", limit)
    return b"".join(pieces)
