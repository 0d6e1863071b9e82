"""GIF images to arrays. As in TensorFlow, all frames are drawn on one canvas and none is disposed of."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.pillow import check_size, damage, pillow
from pipeline.errors import InvalidArgumentError, invalid

_EXTENSION, _IMAGE = 0x21, 0x2C
_CONTROL = 0xF9  # the extension with the transparent colour


class _Frame(NamedTuple):
    """One frame as stored in the file.

    Attributes:
        box: Its left and top edges, width and height.
        colours: Its palette, three bytes per colour; None without one.
        clear: The transparent palette index; None without one.
        interlaced: True if its rows are interlaced.
        bits: Length of the first codes of the compressed pixels.
        packed: The compressed pixels, in blocks.
    """

    box: tuple[int, int, int, int]
    colours: bytes | None
    clear: int | None
    interlaced: bool
    bits: int
    packed: memoryview


def gif_array(data: bytes, max_pixels: int, first: bool) -> NDArray[np.uint8]:
    """Return the frames of a GIF as uint8[frames, height, width, 3], large enough for the widest and the highest.

    Args:
        data: The file.
        max_pixels: Limit for the pixels of all frames together.
        first: True if only the first frame is wanted.

    Raises:
        InvalidArgumentError: The data is damaged or too large.
        ImportError: Pillow is not installed.
    """
    pillow()
    frames = _frames(data, first)
    width, height = (max(frame.box[i] for frame in frames) for i in (2, 3))
    count = 1 if first else len(frames)
    check_size((width, height), count, max_pixels)
    array = np.empty((count, height, width, 3), np.uint8)
    canvas = pillow().Image.new("RGB", (width, height))
    for i, (frame, shown) in enumerate(zip(frames, array, strict=False)):
        with damage(f"Invalid GIF data (size {len(data)})"):
            _draw(frame, canvas, i, data)
        shown[:] = np.asarray(canvas)
    return array


def _draw(frame: _Frame, canvas: Any, number: int, data: bytes) -> None:
    """Draw the opaque pixels of a frame on an image of Pillow, clipped to its size."""
    left, top, width, height = frame.box
    if frame.colours is None:
        raise _damaged(data, f"missing color map for frame {number}")
    arguments = (frame.bits, frame.interlaced, -1)
    image = pillow().Image.frombytes("P", (width, height), bytes(frame.packed), "gif", *arguments)
    drawn = [index != frame.clear for index in range(256)]
    colours = len(frame.colours) // 3
    if colours < 1 << frame.bits:  # otherwise every index has a colour
        wide, high = canvas.size
        used = image.crop((0, 0, max(0, min(width, wide - left)), max(0, min(height, high - top)))).getcolors() or ()
        most = max((index for _, index in used if drawn[index]), default=0)
        if most >= colours:
            raise _damaged(data, f"found color index {most} outside of color map range {colours} in frame {number}")
    mask = None if frame.clear is None else image.point([255 * each for each in drawn], "L")
    image.putpalette(frame.colours)
    canvas.paste(image.convert("RGB"), (left, top), mask)


def _frames(data: bytes, first: bool) -> list[_Frame]:
    """Return all frames. As in TensorFlow, everything after the first byte that does not begin a block is ignored.

    If only the first frame is wanted, the file may be cut off after it.
    """
    frames: list[_Frame] = []
    clear: int | None = None
    controlled = False  # whether the next frame has a control block: only the first counts
    try:
        everywhere, at = _palette(data, 13, data[10])
        while at < len(data):
            kind, at = data[at], at + 1
            if kind == _EXTENSION:
                label, begin = data[at], at + 1
                at = _end_of_blocks(data, begin)
                if label == _CONTROL and not controlled and data[begin]:
                    controlled = True
                    if data[begin] == 4 and data[begin + 1] & 1:
                        clear = data[begin + 4]
            elif kind == _IMAGE:
                box = struct.unpack_from("<HHHH", data, at)
                flags = data[at + 8]
                colours, at = _palette(data, at + 9, flags)
                bits, begin = data[at], at + 1
                at = _end_of_blocks(data, begin)
                if not box[2] or not box[3] or bits > 8:
                    raise _damaged(
                        data, f"frame {len(frames)} has {box[2]} x {box[3]} pixels, and codes of {bits} bits"
                    )
                packed = memoryview(data)[begin:at]
                frames.append(_Frame(box, colours or everywhere, clear, bool(flags & 64), bits, packed))
                clear, controlled = None, False
            else:
                break
    except (IndexError, struct.error):
        if not (first and frames):
            raise _damaged(data, f"it is cut off in frame {len(frames)}") from None
    if not frames:
        raise _damaged(data, "it has no frames")
    return frames


def _palette(data: bytes, at: int, flags: int) -> tuple[bytes | None, int]:
    """Return the palette at an offset, if the flags announce one, and the offset after it."""
    if not flags & 128:
        return None, at
    end = at + (6 << (flags & 7))
    if end > len(data):
        raise IndexError
    return data[at:end], end


def _end_of_blocks(data: bytes, at: int) -> int:
    """Return the offset after a series of blocks, which an empty one ends; IndexError if none does."""
    while size := data[at]:
        at += 1 + size
    return at + 1


def _damaged(data: bytes, why: Any) -> InvalidArgumentError:
    return invalid(f"Invalid GIF data (size {len(data)})\n{why}")
