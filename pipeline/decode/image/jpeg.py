"""JPEG images to arrays, by simplejpeg if it is installed and supports the image, else by Pillow."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._crops import frame_of, region_of_jpeg
from pipeline.decode.image.pillow import check_size, damage, pillow, pixels
from pipeline.errors import invalid
from pipeline.libjpeg import libjpeg

_END = b"\xff\xd9"
_ERRORS = (ValueError, KeyError)  # simplejpeg's, for damaged or unsupported images
_SCAN, _ADOBE = 0xDA, 0xEE
_MOST_SCANS = 100  # progressive images have about ten; each costs a pass over all pixels
_SEQUENTIAL = (0xC0, 0xC1)  # markers of images with each component in a single scan
_SHORT = 4096  # files up to this many bytes are searched faster than parsed
_MARKER = re.compile(rb"\xff+([^\x00\xff])")


Frame = tuple[int, int, int, int]  # height, width, components and the largest horizontal sampling factor
Part = tuple[int, int, int, int]  # top, left, bottom and right, in pixels of the image as it is returned


def jpeg_frame(data: bytes, max_pixels: int) -> Frame | None:
    """Return the frame of a grey or colour JPEG image, parts of which may be decoded alone; None for other data.

    Raises:
        InvalidArgumentError: The image is too large, or has too many scans.
    """
    frame = _frame_within(data, max_pixels)
    if frame:
        _check_markers(data)
    return frame


def _frame_within(data: bytes, max_pixels: int) -> Frame | None:
    """Return `jpeg_frame` without looking at the number of scans."""
    frame = frame_of(data) if data.startswith(b"\xff\xd8\xff") else None
    if frame is None or frame[2] not in (1, 3):
        return None
    check_size((frame[1], frame[0]), 1, max_pixels)
    return frame


def jpeg_array(
    data: bytes,
    channels: int,
    max_pixels: int,
    ratio: int = 1,
    recover: bool = False,
    fancy_upscaling: bool = True,
    accurate: bool = False,
    part: Part | None = None,
) -> NDArray[np.uint8]:
    """Return the pixels of a JPEG image, or of a part of it; the other arguments are those of `decode_jpeg`.

    Raises:
        InvalidArgumentError: The data is damaged or too large.
        ImportError: Pillow is needed and not installed.
    """
    if channels == 4:
        raise invalid("JPEG does not support 4 channels")
    inverted = _check_markers(data)
    if part is not None:
        return _part(data, channels, max_pixels, ratio, recover, fancy_upscaling, accurate, part)
    data = data + _END if recover else data
    quick = _simplejpeg()
    if quick is not None:
        array = _quick(quick, data, channels, max_pixels, ratio, not fancy_upscaling, not accurate, inverted)
        if array is not None:
            return array
    with damage("jpeg::Uncompress failed. Invalid JPEG data or crop window."):
        image = pillow().JpegImagePlugin.JpegImageFile(io.BytesIO(data))
        check_size(image.size, 1, max_pixels)
        gray = channels == 1 or (channels == 0 and image.mode == "L")
        # Fractional sizes give exactly this ratio for any size.
        image.draft("L" if gray else "RGB", (image.width / ratio, image.height / ratio))
        if image.mode == "CMYK" and not gray:
            return _from_cmyk(255 - pixels(image, "CMYK"), inverted)  # Pillow inverts them
        return pixels(image, "L" if gray else "RGB")


def _part(
    data: bytes,
    channels: int,
    max_pixels: int,
    ratio: int,
    recover: bool,
    fancy_upscaling: bool,
    accurate: bool,
    part: Part,
) -> NDArray[np.uint8]:
    """Return a part of an image, decoded alone if possible; the arguments are those of `jpeg_array`."""
    top, left, bottom, right = part
    frame = _frame_within(data, max_pixels) if fancy_upscaling and not recover and libjpeg() else None
    if frame and not _of_several_ratios(frame[0], frame[1], ratio):
        check_part(part, -(-frame[0] // ratio), -(-frame[1] // ratio))
        gray = channels == 1 or (channels == 0 and frame[2] == 1)
        decoded = region_of_jpeg(data, frame, part, ratio, gray, decodes_fast() and not accurate)
        if decoded is not None:
            return decoded
    array = jpeg_array(data, channels, max_pixels, ratio, recover, fancy_upscaling, accurate)
    check_part(part, *array.shape[:2])
    return array[top:bottom, left:right].copy()


def check_part(part: Part, height: int, width: int) -> None:
    """Raise InvalidArgumentError unless a part lies inside an image of this size."""
    top, left, bottom, right = part
    if not (0 <= top < bottom <= height and 0 <= left < right <= width):
        wanted = f"{bottom - top} x {right - left} pixels from row {top} and column {left} on"
        raise invalid(
            f"jpeg::Uncompress failed. Invalid JPEG data or crop window: {wanted} are not inside an image of "
            f"{height} x {width} pixels"
        )


def _may_have_many_scans(data: bytes) -> bool:
    return data.count(bytes((0xFF, _SCAN))) > _MOST_SCANS


def _check_markers(data: bytes) -> bool:
    """Return whether CMYK is stored inverted, by an Adobe marker.

    Raises:
        InvalidArgumentError: The image has so many scans that it would take minutes to decode.
    """
    if len(data) < _SHORT and b"Adobe" not in data and not _may_have_many_scans(data):
        return False
    scans, inverted, at, components = 0, False, 2, 0
    while found := _MARKER.search(data, at):
        kind, at = found[1][0], found.end()
        if kind == 0xD9:
            break
        if kind == 1 or 0xD0 <= kind <= 0xD8:  # these have no size
            continue
        size = int.from_bytes(data[at : at + 2], "big")
        if kind in _SEQUENTIAL and at + 7 < len(data):
            components = data[at + 7]
        elif kind == _SCAN:
            scans += 1
            if scans == 1 and (data[at + 2 : at + 3] == bytes((components,)) or not _may_have_many_scans(data)):
                break  # the only scan of a sequential image with all components
        elif kind == _ADOBE and size >= 14 and data.startswith(b"Adobe", at + 2):
            inverted = inverted or not scans
        at += max(size, 2)
    if scans > _MOST_SCANS:
        raise invalid(f"the JPEG image has {scans:,} scans, more than the limit of {_MOST_SCANS}")
    return inverted


def decodes_fast() -> bool:
    """Return whether whole images are decoded by the fast method. Pillow has the accurate one only."""
    return _simplejpeg() is not None


@cache  # An import that fails searches all of sys.path again each time.
def _simplejpeg() -> Any:
    try:
        # Installed only with the extra `image`.
        import simplejpeg  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    return simplejpeg


def _quick(
    quick: Any,
    data: bytes,
    channels: int,
    max_pixels: int,
    ratio: int,
    plain_upscaling: bool,
    fast: bool,
    inverted: bool,
) -> NDArray[np.uint8] | None:
    """Decode by simplejpeg, which matches TensorFlow bit for bit. None for unsupported and damaged images."""
    try:
        height, width, colours, _ = quick.decode_jpeg_header(data, strict=False)
    except _ERRORS:
        return None
    check_size((width, height), 1, max_pixels)
    if _of_several_ratios(height, width, ratio):
        return None
    cmyk = colours in ("CMYK", "YCCK")
    if cmyk and channels == 1:
        return None
    gray = channels == 1 or (channels == 0 and colours.upper() == "GRAY")
    options = {
        "colorspace": "CMYK" if cmyk else "GRAY" if gray else "RGB",
        "fastdct": fast,
        "fastupsample": plain_upscaling,
        "min_height": -(-height // ratio) if ratio > 1 else 0,
        "min_width": -(-width // ratio) if ratio > 1 else 0,
    }
    try:
        array = quick.decode_jpeg(data, **options)
    except _ERRORS:
        if not data.endswith(_END):
            return None
        # Damaged images that are not cut off are decoded, as in TensorFlow. simplejpeg leaves rows that it cannot
        # decode uninitialised, so a second decoding over inverted bytes finds them.
        try:
            array = quick.decode_jpeg(data, strict=False, **options)
            again = quick.decode_jpeg(data, strict=False, buffer=~array, **options)
        except _ERRORS:
            return None
        if not np.array_equal(array, again):
            return None
    return _from_cmyk(array, inverted) if cmyk else array


def _of_several_ratios(height: int, width: int, ratio: int) -> bool:
    """Return whether several ratios give the same size: simplejpeg is given the size, so Pillow decodes these."""
    return ratio > 1 and max(height, width) < 8


def _from_cmyk(array: NDArray[np.uint8], inverted: bool) -> NDArray[np.uint8]:
    """Return CMYK as RGB, computed as TensorFlow does."""
    if not inverted:
        array = 255 - array
    black = array[:, :, 3:].astype(np.uint16)
    return (array[:, :, :3] * black // np.uint16(255)).astype(np.uint8)
