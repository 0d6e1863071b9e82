"""Picture: an image to cut one box from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._crops import resized_of_jpeg
from pipeline.decode.image.jpeg import Frame, decodes_fast, jpeg_array, jpeg_frame
from pipeline.decode.image.rgb import rgb_image
from pipeline.decode.image.upright import orientation, upright_image
from pipeline.errors import invalid
from pipeline.images.boxes import Corners, Form, resize_box
from pipeline.images.checks import images_of
from pipeline.libjpeg import libjpeg


class Picture:
    """An image to cut one box from. A JPEG file is decoded only when the box is known.

    Attributes:
        height, width: Size in pixels.
        channels: 3 for files; as in the array otherwise.
        largest: Value of white: 255 for files.

    Raises:
        InvalidArgumentError: A file is damaged, unknown or too large, or an array has other axes or no pixels.
        TypeError: An array holds no numbers, or integers without a known maximum.
        ImportError: A file needs Pillow, which is not installed.
    """

    def __init__(self, data: Any, who: str, max_pixels: int, exif: bool) -> None:
        self._max_pixels, self.largest = max_pixels, 255.0
        self._file = bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None
        turned = exif and self._file is not None and orientation(self._file) != 1
        self._frame: Frame | None = jpeg_frame(self._file, max_pixels) if self._file and not turned else None
        if self._frame:
            self.height, self.width, self.channels = *self._frame[:2], 3
        else:
            if self._file is None:
                self._array, self.largest = _picture(data, who)
            else:
                self._array = (upright_image if turned else rgb_image)(self._file, max_pixels)
            self.height, self.width, self.channels = self._array.shape

    def cut(self, box: Corners, only: bool, shrink: bool, flip: bool, out: NDArray[Any], form: Form) -> None:
        """Write one box, resized, to `out`.

        Args:
            box: Top, left, bottom and right, in pixels.
            only: True if nothing outside the box counts; its corners are then integers.
            shrink: True if a JPEG file may be shrunk during decoding.
            flip: Mirror left and right.
            out: The result, laid out according to `form`.
            form: How to write it.
        """
        height, width = out.shape[1:] if form.channels_first else out.shape[:2]
        ratio = ratio_for(box[2] - box[0], box[3] - box[1], height, width) if shrink and self._frame else 1
        rows, columns = -(-self.height // ratio), -(-self.width // ratio)
        shrunk = (box[0] / ratio, box[1] / ratio, min(box[2] / ratio, rows), min(box[3] / ratio, columns))
        top, bottom = _counted(shrunk[0], shrunk[2], height, rows, only)
        left, right = _counted(shrunk[1], shrunk[3], width, columns, only)
        part = (top, left, bottom, right)
        if self._file and self._frame:
            fast = decodes_fast()
            if libjpeg() and resized_of_jpeg(self._file, self._frame, shrunk, ratio, fast, flip, out, *form, part):
                return
            pixels = jpeg_array(self._file, 3, self._max_pixels, ratio)[top:bottom, left:right]
        else:
            pixels = self._array[top:bottom, left:right]
        moved = (shrunk[0] - top, shrunk[1] - left, shrunk[2] - top, shrunk[3] - left)
        resize_box(pixels, moved, out, form, flip=flip)


def _picture(data: Any, who: str) -> tuple[NDArray[Any], float]:
    """Return an array as an image [height, width, channels] in uint8 or float32, and its value of white."""
    batch, single = images_of(data, who)
    if not single or not batch.size:
        raise invalid(f"{who}: expected the bytes of a file or [height, width, channels], got shape {np.shape(data)}")
    image: NDArray[Any] = batch[0]
    if image.dtype == np.uint8:
        return image, 255.0
    if image.dtype.kind != "f" and image.dtype != np.uint16:
        raise TypeError(f"{who}: an image must hold uint8, uint16, or floats of 0 to 1, not {image.dtype}")
    return image.astype(np.float32, copy=False), 1.0 if image.dtype.kind == "f" else 65535.0


def ratio_for(tall: float, wide: float, height: int, width: int) -> int:
    """Return the factor by which to shrink a JPEG file so that a box keeps as many pixels as its result."""
    ratio = 1
    while ratio < 8 and tall // (2 * ratio) >= height and wide // (2 * ratio) >= width:
        ratio *= 2
    return ratio


def _counted(start: float, end: float, results: int, size: int, only: bool) -> tuple[int, int]:
    """Return the pixel range along an axis that contributes to a box, with the filter's reach unless `only`."""
    more = 0 if only else math.ceil(max(1.0, (end - start) / results)) + 1
    return max(math.floor(start) - more, 0), min(math.ceil(end) + more, size)
