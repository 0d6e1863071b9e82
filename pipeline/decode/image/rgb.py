"""rgb_image: an image of any usual format as RGB, including WebP, TIFF and PPM, unlike TensorFlow."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.decode import MAX_PIXELS, decode_image
from pipeline.decode.image.pillow import check_size, damage, pillow, pixels
from pipeline.errors import invalid

# The ends of the names of files that it reads.
EXTENSIONS = (
    *(".jpg", ".jpeg", ".png", ".gif", ".bmp"),
    *(".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm"),
)

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
# Tags of TIFF.
_WIDTH, _LENGTH = 256, 257
_BITS, _PHOTOMETRIC, _STRIP_OFFSETS, _SAMPLES, _ROWS_PER_STRIP, _PLANAR = 258, 262, 273, 277, 278, 284
_TILE_WIDTH, _TILE_LENGTH, _TILE_OFFSETS, _SAMPLE_FORMAT = 322, 323, 324, 339

_PPM = (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")


def rgb_image(contents: bytes, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode a JPEG, PNG, GIF, BMP, WebP, TIFF or PPM image to uint8[height, width, 3].

    Of animations and files of several pages it is the first image, of 16 bits the upper eight; transparency is dropped.

    Args:
        contents: The file as bytes.
        max_pixels: An image with more pixels is refused before memory is allocated for it.

    Raises:
        InvalidArgumentError: The bytes are no such image or are damaged, it is too large, or has pixels that are not
            colours of 8 or 16 bits.
        ImportError: Pillow is not installed (extra `image`).
    """
    kind = _kind(contents)
    if not kind:
        return np.asarray(decode_image(contents, channels=3, expand_animations=False, max_pixels=max_pixels))
    with damage(f"Invalid {kind} data, size {len(contents)}"):
        if kind == "WebP":
            check_size(_webp_size(contents), 1, max_pixels)
        image = _opened(kind, io.BytesIO(contents))
        check_size(image.size, 1, max_pixels)
        if kind == "TIFF":
            _check_pieces(image)
        if image.mode.startswith("I;16") or (image.mode == "I" and kind == "PPM"):
            return _upper_bits(image, kind)
        if image.mode in ("I", "F"):
            raise invalid(f"the pixels of the {kind} image are numbers of 32 bits: decode it with your own function")
        return pixels(image, "RGB")


def _upper_bits(image: Any, kind: str) -> NDArray[np.uint8]:
    """Return a gray image of more than 8 bits as RGB."""
    bits, white_is_zero = 16, False
    if kind == "TIFF":
        bits, white_is_zero = image.tag_v2[_BITS][0], image.tag_v2.get(_PHOTOMETRIC) == 0
    gray = (np.asarray(image) >> (bits - 8)).astype(np.uint8)
    return np.repeat((255 - gray if white_is_zero else gray)[:, :, None], 3, axis=2)


def _check_pieces(image: Any) -> None:
    """Refuse a TIFF image with signed pixels, or without all of its strips or tiles: Pillow makes black ones."""
    tags = image.tag_v2
    width, height = tags[_WIDTH], tags[_LENGTH]  # image.size is that of the turned image
    if 2 in tags.get(_SAMPLE_FORMAT, ()):
        raise invalid("the pixels of the TIFF image are signed: decode it with your own function")
    if _TILE_OFFSETS in tags:
        across, down = tags.get(_TILE_WIDTH, width), tags.get(_TILE_LENGTH, height)
        wanted, have = -(-width // max(1, across)) * -(-height // max(1, down)), len(tags[_TILE_OFFSETS])
    else:
        rows = min(tags.get(_ROWS_PER_STRIP, height), height)
        wanted, have = -(-height // max(1, rows)), len(tags.get(_STRIP_OFFSETS, ()))
    if tags.get(_PLANAR) == 2:
        wanted *= tags.get(_SAMPLES, 1)
    if have < wanted:
        raise invalid(f"the TIFF image has {have:,} of its {wanted:,} strips or tiles")


def _kind(contents: bytes) -> str:
    if contents[:4] == b"RIFF" and contents[8:12] == b"WEBP":
        return "WebP"
    if contents.startswith(b"BM"):  # decode_bmp gives indices of palettes
        return "BMP"
    return "TIFF" if contents.startswith(_TIFF) else "PPM" if contents.startswith(_PPM) else ""


def _opened(kind: str, file: io.BytesIO) -> Any:
    """The image, by Pillow, whose plugins are imported only where there are such images: they load large libraries."""
    pillow()
    plugin = {"BMP": "Bmp", "WebP": "WebP", "TIFF": "Tiff", "PPM": "Ppm"}[kind]
    return getattr(importlib.import_module(f"PIL.{plugin}ImagePlugin"), f"{plugin}ImageFile")(file)


def _webp_size(data: bytes) -> tuple[int, int]:
    """The size that a WebP file claims: Pillow allocates memory for it when it opens one."""
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
