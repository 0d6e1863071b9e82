"""The chunks of a PNG file, read and checked; no pixels are decoded."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.decode.image.pillow import check_size
from pipeline.errors import InvalidArgumentError, invalid

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
_BITS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16), RGB_ALPHA: (8, 16)}
_BEFORE_PALETTE = (b"gAMA", b"sRGB", b"cHRM", b"iCCP", b"sBIT")  # gamma and colour space


class PngFile(NamedTuple):
    """The parts of a PNG file that matter for decoding.

    Attributes:
        size: Width and height.
        bits: Bits per sample, or per palette index.
        colour: The colour type.
        interlaced: 0 or 1.
        palette: The colours, three bytes each.
        clear: The transparency chunk; None without a valid one.
        light: The chunks about gamma and colour space, in file order.
        packed: The compressed pixels.
    """

    size: tuple[int, int]
    bits: int
    colour: int
    interlaced: int
    palette: bytes
    clear: bytes | None
    light: list[tuple[bytes, bytes]]
    packed: bytes


def read_chunks(data: bytes, max_pixels: int) -> PngFile:
    """Read the chunks as libpng does: damaged critical chunks are an error, damaged ancillary chunks are ignored.

    Raises:
        InvalidArgumentError: A critical chunk is damaged, missing, unknown, or not where it must be; or the image is
            empty or larger than `max_pixels`.
    """
    walk = _chunks(data)
    width, height, bits, colour, interlaced = _header(data, walk, max_pixels)
    palette: bytes | None = None
    clear: bytes | None = None
    light: list[tuple[bytes, bytes]] = []
    packed: list[memoryview] = []
    last = b""
    for name, at, body in walk:
        if name == b"IHDR" or (name == b"PLTE" and palette is not None):
            raise _damaged(data, f"it has a second {name.decode()} chunk, at byte {at}")
        if name == b"PLTE" and not packed:
            palette = _palette(data, body, bits, colour, at)
        elif name == b"IDAT":
            if colour == PALETTE and palette is None:
                raise _damaged(data, "it has no palette")
            if not packed or last == b"IDAT":  # pixels after other chunks are not part of the image
                packed.append(body)
        elif name == b"tRNS" and not packed and clear is None:
            clear = _clear(body, colour, palette)
        elif name in _BEFORE_PALETTE and not packed and palette is None:
            light.append((name, bytes(body)))
        last = name
    if last != b"IEND":
        raise _damaged(data, "it is cut off: it has no IEND chunk")
    if not packed:
        raise _damaged(data, "it has no IDAT chunk, and so no pixels")
    joined = b"".join(packed)
    return PngFile((width, height), bits, colour, interlaced, palette or b"", clear, light, joined)


def _header(
    data: bytes, walk: Iterator[tuple[bytes, int, memoryview]], max_pixels: int
) -> tuple[int, int, int, int, int]:
    """Return width, height, bits, colour type and interlacing, from the first chunk."""
    name, _, header = next(walk, (b"", 0, memoryview(b"")))
    if name != b"IHDR" or len(header) != 13:
        raise _damaged(data, "it does not begin with an IHDR chunk of 13 bytes")
    width, height, bits, colour, compression, filters, interlaced = struct.unpack(">IIBBBBB", header)
    check_size((width, height), 1, max_pixels)
    if bits not in _BITS.get(colour, ()) or compression or filters or interlaced > 1:
        values = f"{bits} bits, colour type {colour}, compression {compression}, filter {filters}"
        raise _damaged(data, f"its header is invalid: {values}, interlacing {interlaced}")
    return width, height, bits, colour, interlaced


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, memoryview]]:
    """Yield the name, offset and body of each chunk up to IEND. Ignored chunks have no name."""
    at, view = len(SIGNATURE), memoryview(data)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], view[at + 8 : at + 8 + size]
        if not name.isalpha() or size >= 1 << 31:
            raise _damaged(data, f"there is no chunk at byte {at}, where one must begin")
        if len(data) - at < 12 + size:
            raise _damaged(data, f"it is cut off in the {name.decode()} chunk at byte {at}: it has no IEND chunk")
        critical = not name[0] & 32
        known = critical or name == b"tRNS" or name in _BEFORE_PALETTE
        whole = not known or data[at + 8 + size : at + 12 + size] == struct.pack(
            ">I", zlib.crc32(body, zlib.crc32(name))
        )
        if critical and not whole:
            raise _damaged(data, f"the {name.decode()} chunk at byte {at} is damaged: its checksum is wrong")
        if critical and name not in (b"IHDR", b"PLTE", b"IDAT", b"IEND"):
            raise _damaged(data, f"it needs the {name.decode()} chunk at byte {at}, which is unknown")
        yield (name if known and whole else b""), at, body
        if name == b"IEND":
            return
        at += 12 + size


def _palette(data: bytes, body: memoryview, bits: int, colour: int, at: int) -> bytes:
    """Return a palette; b"" if the image does not need it and it is unusable."""
    if colour in (GRAY, GRAY_ALPHA):
        return b""
    if len(body) % 3 or not 0 < len(body) <= 768:
        if colour == PALETTE or not body:
            raise _damaged(data, f"the palette at byte {at} has {len(body)} bytes: not three for each of 256 colours")
        return b""
    return bytes(body[: 3 << bits])


def _clear(body: memoryview, colour: int, palette: bytes | None) -> bytes | None:
    """Return the transparency chunk, or None if it does not fit the image."""
    if colour == PALETTE:
        fits = palette is not None and 0 < len(body) <= len(palette) // 3
    else:
        fits = len(body) == {GRAY: 2, RGB: 6}.get(colour)
    return bytes(body) if fits else None


def _damaged(data: bytes, why: str) -> InvalidArgumentError:
    return invalid(f"Invalid PNG data, size {len(data)}\n{why}")
