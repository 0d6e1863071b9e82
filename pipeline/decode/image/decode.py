"""decode_image, decode_jpeg, decode_png, decode_gif and decode_bmp: images to arrays."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._crops import frame_of
from pipeline.decode.image.gif import gif_array
from pipeline.decode.image.jpeg import Part, check_part, jpeg_array
from pipeline.decode.image.pillow import check_size, damage, pillow, pixels
from pipeline.decode.image.png import png_array
from pipeline.decode.image.png_chunks import SIGNATURE
from pipeline.dtypes import integer, numpy_dtype, truth
from pipeline.errors import invalid

MAX_PIXELS = 1 << 27
DCT_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")

_MAGIC = [(b"\xff\xd8\xff", "JPEG"), (SIGNATURE, "PNG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"), (b"BM", "BMP")]
_OTHERS = [
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\0\0\x01\0", "an icon"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "PDF"),
    (b"<", "XML, SVG or HTML"),
    (b"\x89PNG", "PNG with changed line ends"),
]


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = np.uint8,
    expand_animations: bool = True,
    *,
    max_pixels: int = MAX_PIXELS,
) -> NDArray[Any]:
    """Decode a JPEG, PNG, GIF or BMP image.

    Thread safe; threads decode in parallel.

    Args:
        contents: The file as bytes.
        channels: 0 or None for those of the image, 1 for grey, 3 for RGB, 4 for RGBA (PNG and BMP only).
        dtype: uint8; uint16, with all 16 bits of a PNG and 256 times the uint8 of other formats; float32 or float64,
            from 0 to 1.
        expand_animations: True to return all frames of a GIF, False to return only the first.
        max_pixels: Limit for the pixels of all frames together. Larger images are rejected before memory is allocated.

    Returns:
        An array [height, width, channels]; for a GIF with `expand_animations`, [frames, height, width, 3].

    Raises:
        InvalidArgumentError: The bytes are not such an image or are damaged, it is too large, or an argument is
            invalid for it.
        TypeError: `contents` is not bytes.
        ImportError: Pillow is not installed (extra `image`).

    Examples:
        >>> data = pipeline.image.encode_png(np.zeros((2, 3, 3), np.uint8))
        >>> pipeline.image.decode_image(data, dtype="float32").shape
        (2, 3, 3)
    """
    kind = numpy_dtype(dtype, "decode_image: dtype")
    if kind not in (np.uint8, np.uint16, np.float32, np.float64):
        raise invalid(f"decode_image does not support dtype {kind}; it supports uint8, uint16, float32 and float64")
    data, found = _open(contents)
    wanted = _channels(0 if channels is None else channels)
    first = not truth(expand_animations, "decode_image: expand_animations")
    array = _DECODERS[found](data, wanted, _pixels(max_pixels), first, kind == np.uint8)
    array = array[0] if array.ndim == 4 and first else array
    return _as(array, kind, found)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = np.uint8, *, max_pixels: int = MAX_PIXELS
) -> NDArray[Any]:
    """Decode a PNG image; as in TensorFlow, also a JPEG or a GIF with one frame. Arguments as for `decode_image`.

    Raises:
        InvalidArgumentError: The bytes are not such an image, or an argument is out of range.
        TypeError: `contents` is not bytes.

    Examples:
        >>> data = pipeline.image.encode_png(np.full((2, 3, 1), 65535, np.uint16))
        >>> pipeline.image.decode_png(data, dtype="uint16").max()
        np.uint16(65535)
    """
    kind = numpy_dtype(dtype, "decode_png: dtype")
    if kind not in (np.uint8, np.uint16):
        raise invalid(f"Value for attr 'dtype' of {kind} is not in the list of allowed values: uint8, uint16")
    data, found = _open(contents)
    return _as(_still(data, found, _channels(channels), max_pixels, "DecodePng", kind == np.uint8), kind, found)


def decode_jpeg(  # noqa: PLR0913
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    try_recover_truncated: bool = False,
    *,
    fancy_upscaling: bool = True,
    dct_method: str = "",
    crop: Sequence[int] | None = None,
    min_size: Sequence[int] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> NDArray[Any]:
    """Decode a JPEG image; as in TensorFlow, also a PNG or a GIF with one frame. Errors as for `decode_image`.

    Thread safe; threads decode in parallel.

    Args:
        contents: The file as bytes.
        channels: 0, 1 or 3.
        ratio: 1, 2, 4 or 8: shrink a JPEG by this factor while decoding, which is faster than resizing it later.
        try_recover_truncated: Accept a truncated JPEG; the missing part is grey.
        fancy_upscaling: True to interpolate colours stored at half the resolution; False to repeat them, which needs
            simplejpeg.
        dct_method: "" or "INTEGER_FAST", TensorFlow's default, or "INTEGER_ACCURATE". Without simplejpeg (extra
            `image`) the accurate one is always used; values differ by a few units.
        crop: The part to return: first row, first column, height and width, in pixels of the image shrunk by `ratio`.
            Its pixels equal those of the whole image. If `show_config` lists a libjpeg, only this part is decoded.
        min_size: Minimum height and width: the JPEG is shrunk by the largest `ratio` that keeps both. Cannot be
            combined with `ratio` or `crop`.
        max_pixels: As for `decode_image`.

    Returns:
        An array uint8[height, width, channels].

    Raises:
        InvalidArgumentError: The bytes are not such an image, or an argument is out of range.
        TypeError: `contents` is not bytes.

    Examples:
        >>> data = pipeline.image.encode_jpeg(np.zeros((16, 32, 3), np.uint8))
        >>> pipeline.image.decode_jpeg(data, min_size=(8, 8)).shape
        (8, 16, 3)
        >>> pipeline.image.decode_jpeg(data, crop=(2, 3, 4, 5)).shape
        (4, 5, 3)

    See Also:
        random_resized_crop, center_crop_resize, decode_image
    """
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio!r:.80}")
    recover = truth(try_recover_truncated, "decode_jpeg: try_recover_truncated")
    fancy = truth(fancy_upscaling, "decode_jpeg: fancy_upscaling")
    if dct_method not in DCT_METHODS:
        raise invalid(f"dct_method must be one of {', '.join(map(repr, DCT_METHODS))}, got {dct_method!r}")
    if min_size is not None and (crop is not None or ratio != 1):
        raise invalid("decode_jpeg: min_size chooses the ratio for a whole image; ratio and crop go without it")
    part = None if crop is None else _part(crop)
    data, found = _open(contents)
    wanted = _channels(channels)
    most = _pixels(max_pixels)
    if found == "JPEG":
        if min_size is not None:
            ratio = _ratio(data, min_size)
        return jpeg_array(data, wanted, most, ratio, recover, fancy, dct_method == "INTEGER_ACCURATE", part)
    image = _as(_still(data, found, wanted, max_pixels, "DecodeJpeg"), np.dtype(np.uint8), found)
    if part is None:
        return image
    check_part(part, *image.shape[:2])
    return image[part[0] : part[2], part[1] : part[3]].copy()


def decode_gif(contents: Any, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode a GIF, or a JPEG or PNG as one frame, to uint8[frames, height, width, 3]. Errors as for `decode_image`.

    As in TensorFlow, each frame is drawn over the previous one, whatever disposal the file asks for, and the result is
    as wide as the widest frame and as high as the highest.

    Examples:
        >>> image = pipeline.image.encode_png(np.zeros((2, 3, 3), np.uint8))
        >>> pipeline.image.decode_gif(image).shape  # one frame
        (1, 2, 3, 3)
    """
    data, found = _open(contents)
    if found == "GIF":
        return _gif(data, 0, _pixels(max_pixels))
    return _as(_still(data, found, 3, max_pixels, "DecodeGif"), np.dtype(np.uint8), found)[None]


def decode_bmp(contents: Any, channels: int = 0, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode a BMP image to uint8[height, width, channels]; `channels` is 0, 3 or 4. Errors as for `decode_image`.

    As in TensorFlow, 8-bit images are grey. If such an image has a palette, the values are its indices.

    Raises:
        InvalidArgumentError: The bytes are not such an image, or an argument is out of range.
        TypeError: `contents` is not bytes.

    Examples:
        >>> import struct
        >>> header = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
        >>> pipeline.image.decode_bmp(header + bytes([255, 0, 0, 0])).tolist()  # blue comes first in the file
        [[[0, 0, 255]]]
    """
    data, found = _open(contents)
    if found != "BMP":
        use = f"Use `decode_{found.lower()}` or `decode_image` instead."
        raise invalid(f"Trying to decode {found} format using DecodeBmp op. {use}")
    return _bmp(data, _channels(channels), _pixels(max_pixels))


def _open(contents: Any) -> tuple[bytes, str]:
    """Return the bytes and the name of their format."""
    if isinstance(contents, np.ndarray) and contents.ndim == 0:
        contents = contents.item()
    if not isinstance(contents, (bytes, bytearray, memoryview)):
        raise TypeError(f"contents must be the bytes of one image, not {type(contents).__name__} {contents!r:.80}")
    data = bytes(contents)
    if not data:
        raise invalid("Input is empty.")
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return data, name
    named = next((name for magic, name in _OTHERS if data.lstrip()[:20].startswith(magic)), None)
    named = "WebP" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else named
    guess = f", which looks like {named}" if named else ""
    text = "Unknown image file format. One of JPEG, PNG, GIF, BMP required."
    raise invalid(f"{text}\ngot {len(data)} bytes that begin with {data[:16]!r}{guess}")


def _part(crop: Any) -> Part:
    """Return top, left, bottom and right of a crop."""
    if not isinstance(crop, (Sequence, np.ndarray)) or isinstance(crop, (str, bytes)) or len(crop) != 4:
        raise invalid(f"decode_jpeg: crop must be (first row, first column, height, width), not {crop!r:.80}")
    top, left, height, width = (integer(each, "decode_jpeg: crop") for each in crop)
    return top, left, top + height, left + width


def _ratio(data: bytes, min_size: Any) -> int:
    """Return the largest factor by which a JPEG may be shrunk and keep `min_size`."""
    if not isinstance(min_size, (Sequence, np.ndarray)) or isinstance(min_size, (str, bytes)) or len(min_size) != 2:
        raise invalid(f"decode_jpeg: min_size must be (height, width), not {min_size!r:.80}")
    height, width = (integer(each, "decode_jpeg: min_size") for each in min_size)
    if height < 1 or width < 1:
        raise invalid(f"decode_jpeg: min_size must be positive, not {(height, width)}")
    frame = frame_of(data)
    if frame is None:  # damaged: decoding reports it
        return 1
    fitting = (each for each in (8, 4, 2) if -(-frame[0] // each) >= height and -(-frame[1] // each) >= width)
    return next(fitting, 1)


def _channels(channels: int) -> int:
    if channels not in (0, 1, 3, 4):
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {channels!r:.80}")
    return int(channels)


def _pixels(most: Any) -> int:
    return integer(most, "max_pixels")


def _as(array: NDArray[Any], dtype: np.dtype[Any], found: str) -> NDArray[Any]:
    if array.dtype == dtype:
        return array
    if dtype.kind == "f":
        # As TensorFlow does: it multiplies, and treats every PNG as 16 bits deep.
        deep = array.dtype == np.uint16
        values = array.astype(dtype)
        if found == "PNG" and not deep:
            values *= dtype.type(257)
        values *= dtype.type(1 / (65535 if deep or found == "PNG" else 255))
        return values
    if dtype == np.uint8:
        return (array >> 8).astype(np.uint8)
    return array.astype(np.uint16) * np.uint16(257 if found == "PNG" else 256)


def _still(data: bytes, found: str, channels: int, max_pixels: int, op: str, eight: bool = True) -> NDArray[Any]:
    """Decode an image with one frame; `eight` is True if the caller uses only 8 bits of each value."""
    if found == "BMP":
        use = "Use `decode_bmp` or `decode_image` instead."
        raise invalid(f"Trying to decode BMP format using a wrong op. {use} Op used: {op}")
    array = _DECODERS[found](data, channels, _pixels(max_pixels), False, eight)
    if array.ndim == 4 and len(array) > 1:
        text = "animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image"
        raise invalid(f"Got {len(array)} frames, but {text}")
    return array.reshape(array.shape[-3:])


def _png(data: bytes, channels: int, max_pixels: int, first: bool = False, eight: bool = True) -> NDArray[Any]:
    return png_array(data, channels, max_pixels, eight)


def _jpeg(data: bytes, channels: int, max_pixels: int, first: bool = False, eight: bool = True) -> NDArray[np.uint8]:
    return jpeg_array(data, channels, max_pixels)


def _gif(data: bytes, channels: int, max_pixels: int, first: bool = False, eight: bool = True) -> NDArray[np.uint8]:
    if channels not in (0, 3):
        raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    return gif_array(data, max_pixels, first)


def _bmp(data: bytes, channels: int, max_pixels: int, first: bool = False, eight: bool = True) -> NDArray[np.uint8]:
    if channels == 1:
        raise invalid("`channels` must be 0, 3 or 4 for BMP, but got 1")
    with damage(f"Invalid BMP data, size {len(data)}"):
        image = pillow().BmpImagePlugin.BmpImageFile(io.BytesIO(data))
        check_size(image.size, 1, max_pixels)
        codec, _, offset, arguments = image.tile[0]
        if codec == "raw" and arguments[0] == "BGRX":  # TensorFlow reads the fourth byte of a pixel as alpha
            image = pillow().Image.frombytes("RGBA", image.size, data[offset:], "raw", "BGRA", *arguments[1:])
        if codec == "raw" and arguments[0] == "P":  # TensorFlow treats palette indices as grey
            image = pillow().Image.fromarray(np.array(image))
        own = {"1": 1, "L": 1, "RGBA": 4}.get(image.mode, 3)
        return pixels(image, {1: "L", 3: "RGB", 4: "RGBA"}[channels or own])


_DECODERS: dict[str, Callable[..., NDArray[Any]]] = {"JPEG": _jpeg, "PNG": _png, "GIF": _gif, "BMP": _bmp}
