"""upright_image: an image as RGB, turned upright by its EXIF orientation."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.decode import MAX_PIXELS
from pipeline.decode.image.pillow import pillow
from pipeline.decode.image.rgb import rgb_image

_ORIENTATION = 274  # the tag of EXIF

_Image = NDArray[np.uint8]
_TURNS: dict[int, Callable[[_Image], _Image]] = {
    2: lambda image: image[:, ::-1],
    3: lambda image: image[::-1, ::-1],
    4: lambda image: image[::-1],
    5: lambda image: image.transpose(1, 0, 2),
    6: lambda image: np.rot90(image, -1),
    7: lambda image: image[::-1, ::-1].transpose(1, 0, 2),
    8: lambda image: np.rot90(image),
}


def upright_image(contents: bytes, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode an image as `rgb_image` does, and turn or mirror it by its EXIF orientation.

    Images without an orientation, or with damaged EXIF data, are not turned.

    Args:
        contents, max_pixels: As for `rgb_image`.

    Raises:
        InvalidArgumentError, ImportError: As `rgb_image`.
    """
    image = rgb_image(contents, max_pixels)
    turn = _TURNS.get(orientation(contents))
    return image if turn is None else np.ascontiguousarray(turn(image))


def orientation(contents: bytes) -> int:
    """Return an image's EXIF orientation; 1 without one, and for TIFF, which Pillow turns itself."""
    plugins, kind = pillow(), ""
    if contents.startswith(b"\xff\xd8") and b"Exif\0\0" in contents:
        kind = "Jpeg"
    elif contents.startswith(b"\x89PNG") and b"eXIf" in contents:
        kind = "Png"
    elif contents[8:12] == b"WEBP" and b"EXIF" in contents:
        kind = "WebP"
    if kind:
        file_class = getattr(getattr(plugins, f"{kind}ImagePlugin"), f"{kind}ImageFile")
        with contextlib.suppress(Exception):  # Pillow has no class of errors for damage
            return int(file_class(io.BytesIO(contents)).getexif().get(_ORIENTATION, 1))
    return 1
