"""Pillow, imported on first use: its errors as ours, its images as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import OpError, invalid


def pillow() -> Any:
    """Return the package PIL with the plugins for our formats.

    Raises:
        ImportError: Pillow is not installed.
    """
    try:
        import PIL
        import PIL.BmpImagePlugin
        import PIL.GifImagePlugin
        import PIL.Image
        import PIL.JpegImagePlugin
        import PIL.PngImagePlugin
    except ImportError as error:
        raise ImportError("decoding and encoding images needs Pillow: pip install pillow") from error
    return PIL


@contextmanager
def damage(message: str) -> Iterator[None]:
    """Turn any error of Pillow into InvalidArgumentError; Pillow has no error class for damaged images."""
    try:
        yield
    except (OpError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise invalid(f"{message}\n{type(error).__name__}: {error}") from error


def pixels(image: Any, mode: str) -> NDArray[np.uint8]:
    """Return an image, converted to a mode, as uint8[height, width, channels]."""
    array = np.array(image if image.mode == mode else image.convert(mode), np.uint8)
    return array if array.ndim == 3 else array[:, :, None]


def check_size(size: tuple[int, int], frames: int, limit: int) -> None:
    """Check the size of an image before memory is allocated for it.

    Raises:
        InvalidArgumentError: It is empty, or larger than the limit.
    """
    width, height = size
    if width < 1 or height < 1:
        raise invalid(f"the image has {width} x {height} pixels")
    if width * height * frames > limit:
        shown = f"{width} x {height} pixels" + (f" in {frames} frames" if frames > 1 else "")
        raise invalid(f"the image has {shown}, more than the limit of {limit:,}; max_pixels= sets another limit")
