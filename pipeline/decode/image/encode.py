"""encode_png and encode_jpeg: arrays to images."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.pillow import pillow
from pipeline.decode.image.png import png_bytes
from pipeline.dtypes import at_least, integer, refuse_missing, truth
from pipeline.errors import invalid, show
from pipeline.foreign import numpy_of

_CHANNELS = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}


def encode_png(image: Any, compression: int = -1) -> bytes:
    """Encode an array as PNG, lossless. Thread safe.

    Args:
        image: uint8 or uint16 of shape [height, width, channels], with 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA)
            channels.
        compression: 0 (none) to 9 (smallest, slowest), or -1 for zlib's default.

    Returns:
        The file as bytes.

    Raises:
        InvalidArgumentError: The array or `compression` is invalid.
        ImportError: Pillow is not installed (extra `image`).

    Examples:
        >>> image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
        >>> data = pipeline.image.encode_png(image)
        >>> bool((pipeline.image.decode_png(data) == image).all())
        True
    """
    array = _image(image, (np.uint8, np.uint16))
    if array.shape[2] not in (1, 2, 3, 4):
        raise invalid(f"image must have 1, 2, 3, or 4 channels, got {array.shape[2]}")
    level = integer(compression, "encode_png: compression")
    if not -1 <= level <= 9:
        raise invalid(f"compression should be in [-1,9], got {level}")
    return png_bytes(array, level)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
) -> bytes:
    """Encode an array as JPEG. Thread safe.

    Args:
        image: uint8 of shape [height, width, channels], with 1 (grey) or 3 (RGB) channels.
        format: "grayscale" or "rgb" to require 1 or 3 channels; "" accepts either.
        quality: 0 to 100.
        progressive: Write a progressive JPEG, which viewers can show before it is loaded completely.
        optimize_size: Spend more time for a smaller file of the same quality.
        chroma_downsampling: Store colour at half the resolution of brightness.
        density_unit: The unit of the densities, "in" or "cm".
        x_density: Horizontal pixels per unit, stored in the file.
        y_density: Vertical pixels per unit, stored in the file.

    Returns:
        The file as bytes.

    Raises:
        InvalidArgumentError: An argument is invalid.
        ImportError: Pillow is not installed (extra `image`).

    Examples:
        >>> data = pipeline.image.encode_jpeg(np.full((8, 8, 3), 200, np.uint8), quality=90)
        >>> pipeline.image.decode_jpeg(data).shape
        (8, 8, 3)
    """
    array = _image(image, (np.uint8,))
    if not isinstance(format, str) or format not in _CHANNELS:
        raise invalid(f"format {format!r:.80} is not in the list of allowed values: '', 'grayscale', 'rgb'")
    if array.shape[2] not in (1, 3):
        raise invalid(f"image must have 1 or 3 channels, got {show(array.shape)}")
    if array.shape[2] not in _CHANNELS[format]:
        raise invalid(f"format {format} expects {_CHANNELS[format][0]} channels, got {show(array.shape)}")
    level = integer(quality, "encode_jpeg: quality")
    if not 0 <= level <= 100:
        raise invalid(f"quality must be in [0,100], got {level}")
    in_steps = truth(progressive, "encode_jpeg: progressive")
    small = truth(optimize_size, "encode_jpeg: optimize_size")
    halved = truth(chroma_downsampling, "encode_jpeg: chroma_downsampling")
    if density_unit not in ("in", "cm"):
        raise invalid(f"density_unit {density_unit!r} is not in the list of allowed values: 'in', 'cm'")
    if max(array.shape) > 65535:
        raise invalid(f"a JPEG has at most 65535 pixels in each direction, got {show(array.shape)}")
    scale = 1 if density_unit == "in" else 2.54
    densities = tuple(
        round(at_least(1, density, f"encode_jpeg: {name}", 65535) * scale)
        for name, density in (("x_density", x_density), ("y_density", y_density))
    )
    file = io.BytesIO()
    pillow().Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array).save(
        file,
        "JPEG",
        quality=max(1, level),  # to Pillow 0 means its default, to libjpeg it means 1
        progressive=in_steps,
        optimize=small,
        subsampling="4:2:0" if halved else "4:4:4",
        dpi=densities,
    )
    return file.getvalue()


def _image(image: Any, dtypes: tuple[type[Any], ...]) -> NDArray[Any]:
    refuse_missing(image, "image")
    array = numpy_of(image)
    if array.dtype not in dtypes:
        allowed = ", ".join(np.dtype(one).name for one in dtypes)
        raise invalid(f"image has dtype {array.dtype}, which is not in the list of allowed values: {allowed}")
    if array.ndim != 3:
        raise invalid(f"image must be 3-dimensional{show(array.shape)}")
    if array.size == 0:
        raise invalid(f"image has no pixels: its shape is {show(array.shape)}")
    return np.ascontiguousarray(array)
