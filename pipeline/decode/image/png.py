"""PNG images to arrays and back with all 16 bits of a colour; Pillow alone keeps 8."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.pillow import damage, pillow, pixels
from pipeline.decode.image.png_chunks import (
    GRAY,
    GRAY_ALPHA,
    PALETTE,
    RGB,
    RGB_ALPHA,
    SIGNATURE,
    PngFile,
    read_chunks,
)
from pipeline.decode.image.png_gray import gray

_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_MODES = {GRAY: "L", RGB: "RGB", PALETTE: "P", GRAY_ALPHA: "LA", RGB_ALPHA: "RGBA"}


def png_array(data: bytes, channels: int, max_pixels: int, eight: bool = False) -> NDArray[Any]:
    """Return the pixels of a PNG image, as uint16 if it has 16 bits, else uint8.

    Args:
        data: The file.
        channels: Number of channels; 0 for those of the image.
        max_pixels: Limit for the pixels.
        eight: True if the caller uses only the upper 8 of 16 bits; grey is then computed from fewer bits.

    Raises:
        InvalidArgumentError: The data is damaged or too large.
    """
    file = read_chunks(data, max_pixels)
    with damage(f"Invalid PNG data, size {len(data)}"):
        file = file._replace(packed=_complete(file))
        array = _deep(file) if file.bits == 16 else _plain(file)
    own = array.shape[2]
    wanted = channels or own
    if wanted == 1 and own > 2:
        return gray(array[:, :, :3], file, eight)
    if wanted == 4 and own in (1, 3):
        return np.concatenate((_with_channels(array, 3), _alpha(file, array)), axis=2)
    return array if wanted == own else _with_channels(array, wanted)


def _complete(file: PngFile) -> bytes:
    """Return the pixels as an uncompressed zlib stream. Missing rows are an error; Pillow would fill them with 0."""
    engine = zlib.decompressobj()
    expected = _filtered_size(file)
    rows = engine.decompress(file.packed, expected)
    if len(rows) < expected:
        raise ValueError(f"the pixels end after {len(rows):,} of {expected:,} bytes")
    if not engine.eof and not engine.decompress(engine.unconsumed_tail, 1) and not engine.eof:
        raise ValueError("the compressed pixels have no end")
    return zlib.compress(rows, 0)


def _filtered_size(file: PngFile) -> int:
    """Return the bytes of all rows, each with its filter byte."""
    width, height = file.size
    samples = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}[file.colour]
    size = 0
    for left, top, across, down in _PASSES if file.interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and rows > 0:
            size += rows * (1 + (columns * samples * file.bits + 7) // 8)
    return size


def _unpack(file: PngFile, mode: str, raw: str) -> Any:
    """Undo compression, filters and interlacing by Pillow; `raw` is its name for the layout of a pixel's bytes."""
    return pillow().Image.frombytes(mode, file.size, file.packed, "zip", raw, file.interlaced)


def _plain(file: PngFile) -> NDArray[np.uint8]:
    """Decode samples of at most 8 bits. A palette with transparency gives four channels."""
    if file.bits == 8 and file.colour != PALETTE:
        return pixels(_unpack(file, _MODES[file.colour], _MODES[file.colour]), _MODES[file.colour])
    image = _unpack(file, "P", "P" if file.bits == 8 else f"P;{file.bits}")
    if file.colour == GRAY:
        return np.array(image, np.uint8)[:, :, None] * np.uint8(255 // ((1 << file.bits) - 1))
    colours = np.zeros((256, 4), np.uint8)  # an index beyond the palette is black, as in libpng
    given = np.frombuffer(file.palette, np.uint8).reshape(-1, 3)
    colours[: len(given), :3] = given
    if file.clear is None:
        image.putpalette(colours[:, :3].tobytes())
        return pixels(image, "RGB")
    colours[:, 3] = 255
    colours[: len(file.clear), 3] = np.frombuffer(file.clear, np.uint8)
    image.putpalette(colours.tobytes(), "RGBA")
    return pixels(image, "RGBA")


def _deep(file: PngFile) -> NDArray[np.uint16]:
    """Decode 16-bit samples. Pillow keeps only 8 bits, so the two bytes of a sample are passed as two channels."""
    if file.colour in (GRAY, GRAY_ALPHA):  # a pixel of two or four bytes
        mode = "LA" if file.colour == GRAY else "RGBA"
        return np.array(_unpack(file, mode, mode), np.uint8).view(">u2").astype(np.uint16)
    mode = _MODES[file.colour]  # once the high bytes, once the low bytes
    high, low = (np.array(_unpack(file, mode, f"{mode};16{end}"), np.uint8) for end in "BL")
    return high.astype(np.uint16) * np.uint16(256) + low


def _alpha(file: PngFile, array: NDArray[Any]) -> NDArray[Any]:
    """Return an alpha channel for an image without one: 0 for pixels of the transparent colour."""
    most = np.iinfo(array.dtype).max
    if file.clear is None or file.colour == PALETTE:
        return np.full((*array.shape[:2], 1), most, array.dtype)
    clear = np.frombuffer(file.clear, ">u2") & ((1 << file.bits) - 1)
    if file.bits < 8:
        clear = clear * (255 // ((1 << file.bits) - 1))
    return np.where((array == clear).all(axis=2, keepdims=True), 0, most).astype(array.dtype)


def _with_channels(array: NDArray[Any], channels: int) -> NDArray[Any]:
    """Convert 1 or 2 channels to 1, 1 to 4 channels to 3 (dropping alpha), or 2 to 4 (keeping it)."""
    own = array.shape[2]
    if channels == 1:
        return array[:, :, :1].copy()
    if channels == 4:
        return array[:, :, [0, 0, 0, 1]]
    return array[:, :, [0, 0, 0]] if own < 3 else array[:, :, :3].copy()


def png_bytes(array: NDArray[Any], compression: int) -> bytes:
    """Return an array [height, width, 1 to 4 channels] of uint8 or uint16 as PNG."""
    height, width, channels = array.shape
    if array.dtype == np.uint8:
        file = io.BytesIO()
        shown = array[:, :, 0] if channels == 1 else array
        pillow().Image.fromarray(np.ascontiguousarray(shown)).save(file, "PNG", compress_level=compression)
        return file.getvalue()
    rows = np.ascontiguousarray(array, ">u2").view(np.uint8).reshape(height, -1)
    colour = {1: GRAY, 2: GRAY_ALPHA, 3: RGB, 4: RGB_ALPHA}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    engine = zlib.compressobj(compression, strategy=zlib.Z_FILTERED)
    packed = engine.compress(_filtered(rows, 2 * channels).tobytes()) + engine.flush()
    chunks = [(b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def _filtered(rows: NDArray[np.uint8], pixel: int) -> NDArray[np.uint8]:
    """Filter each row by the filter that leaves the smallest numbers, as libpng does, and put its number first.

    Args:
        rows: The bytes of each row.
        pixel: Bytes of a pixel.
    """
    up, left, corner = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    up[1:], left[:, pixel:], corner[1:, pixel:] = rows[:-1], rows[:, :-pixel], rows[:-1, :-pixel]
    average = ((up.astype(np.uint16) + left) >> 1).astype(np.uint8)
    from_left, from_up = (each.astype(np.int16) - corner for each in (up, left))  # both are part of the guess
    to_left, to_up, to_corner = abs(from_left), abs(from_up), abs(from_left + from_up)
    paeth = np.where(to_up <= to_corner, up, corner)
    paeth = np.where((to_left <= to_up) & (to_left <= to_corner), left, paeth)
    best = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
    least = np.full(len(rows), np.iinfo(np.int64).max)
    for number, guess in enumerate((np.zeros_like(rows), left, up, average, paeth)):
        rest = rows - guess
        cost = np.minimum(rest, np.uint8(0) - rest).sum(1, dtype=np.int64)
        better = cost < least
        least[better] = cost[better]
        best[better, 0], best[better, 1:] = number, rest[better]
    return best
