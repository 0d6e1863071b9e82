"""PNG images to arrays and back with all 16 bits of a colour, of which Pillow by itself keeps only 8."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.pillow import check_size, damage, pillow, pixels
from pipeline.errors import invalid

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_END = b"IEND\xae\x42\x60\x82"
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def png_array(data: bytes, channels: int, max_pixels: int) -> NDArray[Any]:
    """Return the pixels of a PNG image, as uint16 if it has 16 bits, else uint8; `channels` 0 means those of the image.

    Raises:
        InvalidArgumentError: The data is damaged or too large.
    """
    with damage(f"Invalid PNG data, size {len(data)}"):
        if data[12:16] != b"IHDR" or len(data) < 33:
            raise invalid(f"Invalid PNG data, size {len(data)}\nit does not begin with an IHDR chunk")
        width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
        check_size((width, height), 1, max_pixels)
        if data.rfind(_END) < 0:
            raise invalid(f"Invalid PNG data, size {len(data)}\nit is cut off: it has no IEND chunk")
        if bits == 16:
            return _deep(data, (width, height), colour, interlaced, channels)
        image = pillow().PngImagePlugin.PngImageFile(io.BytesIO(data))
        image.load()
        if colour == _PALETTE:
            own = 4 if "transparency" in image.info else 3
        else:
            own = {_GRAY: 1, _RGB: 3, _GRAY_ALPHA: 2, _RGB_ALPHA: 4}[colour]
        if channels == 4:
            return pixels(image, "RGBA")
        array = pixels(image, _MODES[own])
        return array if channels in (0, own) else _with_channels(array, channels)


def _deep(data: bytes, size: tuple[int, int], colour: int, interlaced: int, channels: int) -> NDArray[np.uint16]:
    """Decode 16 bits: Pillow undoes compression, filters and interlacing, taking the bytes of a pixel for channels."""
    chunks = list(_chunks(data))
    packed = b"".join(body for name, body in chunks if name == b"IDAT")

    def unpack(mode: str, raw: str) -> NDArray[np.uint8]:
        return np.array(pillow().Image.frombytes(mode, size, packed, "zip", raw, interlaced), np.uint8)

    array: NDArray[np.uint16]
    if colour in (_GRAY, _GRAY_ALPHA):  # a pixel of two or four bytes
        mode = "LA" if colour == _GRAY else "RGBA"
        array = unpack(mode, mode).view(">u2").astype(np.uint16)
    elif colour in (_RGB, _RGB_ALPHA):  # once the high bytes, once the low bytes
        mode = "RGB" if colour == _RGB else "RGBA"
        array = unpack(mode, mode + ";16B").astype(np.uint16) * np.uint16(256) + unpack(mode, mode + ";16L")
    else:
        raise invalid(f"a PNG image of colour type {colour} cannot have 16 bits")
    wanted = channels or array.shape[2]
    if wanted == 4 and colour in (_GRAY, _RGB):
        clear = next((body for name, body in chunks if name == b"tRNS"), None)  # the colour that is transparent
        alpha = np.full(array.shape[:2], 65535, np.uint16)
        if clear is not None:
            alpha[(array == np.frombuffer(clear, ">u2", array.shape[2])).all(axis=2)] = 0
        return np.concatenate((_with_channels(array, 3), alpha[:, :, None]), axis=2)
    return array if wanted == array.shape[2] else _with_channels(array, wanted)


def _with_channels(array: NDArray[Any], channels: int) -> NDArray[Any]:
    """Convert 1 to 4 channels to 1 or 3 (dropping alpha), or 2 to 4 (keeping it)."""
    own = array.shape[2]
    if channels == 1:
        return _gray(array) if own > 2 else array[:, :, :1].copy()
    if channels == 4:
        return array[:, :, [0, 0, 0, 1]]
    return array[:, :, [0, 0, 0]] if own < 3 else array[:, :, :3].copy()


def _gray(array: NDArray[Any]) -> NDArray[Any]:
    """Return luminance as libpng computes it: 8 bits are truncated, 16 bits are rounded."""
    red, green, blue = (array[:, :, i].astype(np.uint32) for i in range(3))
    rounding = 16384 if array.dtype == np.uint16 else 0
    gray = ((9797 * red + 19234 * green + 3737 * blue + rounding) >> 15).astype(array.dtype)
    same = (red == green) & (green == blue)
    return np.where(same, array[:, :, 0], gray)[:, :, None]


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if len(body) != size or data[at + 8 + size : at + 12 + size] != struct.pack(">I", zlib.crc32(name + body)):
            raise invalid(f"Invalid PNG data, size {len(data)}\nthe {name!r} chunk at byte {at} is damaged")
        yield name, body
        if name == b"IEND":
            return
        at += 12 + size


def png_bytes(array: NDArray[Any], compression: int) -> bytes:
    """Return an array [height, width, 1 to 4 channels] of uint8 or uint16 as PNG."""
    height, width, channels = array.shape
    if array.dtype == np.uint8:
        file = io.BytesIO()
        shown = array[:, :, 0] if channels == 1 else array
        pillow().Image.fromarray(np.ascontiguousarray(shown)).save(file, "PNG", compress_level=compression)
        return file.getvalue()
    rows = np.ascontiguousarray(array, ">u2").view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 0] = 2  # each row is stored as its difference from the row above
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    colour = {1: _GRAY, 2: _GRAY_ALPHA, 3: _RGB, 4: _RGB_ALPHA}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    packed = zlib.compress(filtered.tobytes(), compression)
    chunks = [(b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
