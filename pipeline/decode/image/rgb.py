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

    Animations and files of several pages give their first image, 16-bit images their upper eight bits. Transparency is
    dropped.

    Args:
        contents: The file as bytes.
        max_pixels: Limit for the pixels. Larger images are rejected before memory is allocated.

    Raises:
        InvalidArgumentError: The bytes are not such an image or are damaged, the image is too large, or its pixels are
            not colours of 8 or 16 bits.
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
    """Return a grey image of more than 8 bits as RGB."""
    bits, white_is_zero = 16, False
    if kind == "TIFF":
        bits, white_is_zero = image.tag_v2[_BITS][0], image.tag_v2.get(_PHOTOMETRIC) == 0
    gray = (np.asarray(image) >> (bits - 8)).astype(np.uint8)
    return np.repeat((255 - gray if white_is_zero else gray)[:, :, None], 3, axis=2)


def _check_pieces(image: Any) -> None:
    """Reject a TIFF image with signed pixels or missing strips or tiles, which Pillow would fill with black."""
    tags = image.tag_v2
    width, height = tags[_WIDTH], tags[_LENGTH]  # image.size is the size after turning
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
    if contents.startswith(b"BM"):  # decode_bmp returns palette indices
        return "BMP"
    return "TIFF" if contents.startswith(_TIFF) else "PPM" if contents.startswith(_PPM) else ""


def _opened(kind: str, file: io.BytesIO) -> Any:
    """Return an image opened by Pillow. Plugins are imported on first use, because they load large libraries."""
    pillow()
    plugin = {"BMP": "Bmp", "WebP": "WebP", "TIFF": "Tiff", "PPM": "Ppm"}[kind]
    return getattr(importlib.import_module(f"PIL.{plugin}ImagePlugin"), f"{plugin}ImageFile")(file)


def _webp_size(data: bytes) -> tuple[int, int]:
    """Return the size in a WebP file's header; Pillow allocates memory for it as soon as it opens the file."""
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
