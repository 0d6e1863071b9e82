"""Use another library's libjpeg-turbo to decode part of a JPEG image.

simplejpeg and Pillow decode whole images. Pillow's wheels for Linux and macOS bundle a libjpeg-turbo that can do
more, and most systems have one too. A library must decode a small image correctly before it is used.
"""

from __future__ import annotations

import base64
import glob
import importlib.util
import os
import sys
from ctypes.util import find_library

import numpy as np

from pipeline._crops import frame_of, open_libjpeg, region_of_jpeg
from pipeline.locks import Lock

# A 52 x 40 image that is easy to get wrong: its colours have half the resolution, and change everywhere.
_TRIAL = base64.b64decode(
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQ
    YEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAoADQD
    ASIAAhEBAxEB/8QAGgAAAgMBAQAAAAAAAAAAAAAAAAQCAwUHAf/EACgQAAEDAwMDBAMBAAAAAAAAAAEAAgMRITEEElEiQWEycYGhE0KRsf/EABoB
    AQEAAgMAAAAAAAAAAAAAAAUEAwcAAQL/xAAqEQABAwIDBwQDAAAAAAAAAAABAAIDESEEEjFBUWGBkaHREyJC8HGSsf/aAAwDAQACEQMRAD8A53BH
    haMEOLKnTR4Wrpoa0sssUHqrueGi9ggxZaMGm8KMYbGQKVdwnIWyP709lyWHDsOWmY7gipYSVbFpgAC6g909FDGCAXD4uqoYGMpuICfgaP1YflQy
    sjFi0A7rk9qIuWAqbIYtufooTjI37R0N/iF4ELT8B+p8qEw3XLdJHhajB+Ngp6jhLaOPC0Io98x4FkvE8sgGXV1gtoT4epVulgtUp+EFxoyw57lV
    MYXODBgZ8lPRNp0Mz3PClkcGDK2wHUncPvZFzYdWwxMZYiruAtCFjqVJDG+FTDGGUDQC7/E9DGAeqrncI+RxbbT8fwnUngEZNh1OOOPb6XH4Qm2M
    dtu9rfFkLAMoFMvYeVCYLrmOjZRtSLAVT+lZsj3UwhCaa4iNpGxpP3otmTMFSnoGbGAj1HCfgZsADR1H6QhRye2zdlAOevNGSsCegjp0Mz3PCfgZ
    SzKAd3IQoH8OI5DztRczAnI4xt6Y6jmqEIWOMEtBr2HhQlgqv//Z
    """
)
_HEIGHT, _WIDTH = 40, 52
_PARTS = ((3, 5, 20, 30), (16, 16, 33, 32), (10, 32, 20, 33), (10, 20, 40, 52))

_lock = Lock()
_found: list[str] = []  # the chosen library, or "": searched only once


def libjpeg() -> str:
    """Name the library for partial JPEG decoding, for example "libjpeg.so.62 (ABI 62)"; "" if none. Thread safe."""
    if not _found:
        with _lock:
            if not _found:
                _found.append(search())
    return _found[0]


def search() -> str:
    """Find the first working library; return its description as in `libjpeg`."""
    for path in _candidates():
        version = open_libjpeg(os.fsencode(path))
        if version and _is_right():
            return f"{os.path.basename(path)} (ABI {version})"
    open_libjpeg(b"no library")
    return ""


def _candidates() -> list[str]:
    """Return library paths and names, Pillow's first, because it is newer than most systems'."""
    if sys.platform == "win32":
        return []
    spec = importlib.util.find_spec("PIL")
    paths = []
    for place in (spec.submodule_search_locations or []) if spec else []:
        beside = glob.escape(os.path.dirname(place))
        paths += sorted(glob.glob(os.path.join(beside, "[Pp]illow.libs", "libjpeg*.so*")))
        paths += sorted(glob.glob(os.path.join(glob.escape(place), ".dylibs", "libjpeg*.dylib")))
    if sys.platform == "darwin":
        system = find_library("jpeg")
        return paths + ([system] if system else [])
    return [*paths, "libjpeg.so.62", "libjpeg.so.8"]


def _is_right() -> bool:
    """Return whether partial decoding gives the same pixels as full decoding."""
    frame = frame_of(_TRIAL)
    if frame is None:
        return False
    for ratio in (1, 2):
        whole = region_of_jpeg(_TRIAL, frame, (0, 0, _HEIGHT // ratio, _WIDTH // ratio), ratio, False, True)
        for top, left, bottom, right in _PARTS:
            box = (top // ratio, left // ratio, -(-bottom // ratio), -(-right // ratio))
            part = region_of_jpeg(_TRIAL, frame, box, ratio, False, True)
            if whole is None or part is None:
                return False
            if not np.array_equal(part, whole[box[0] : box[2], box[1] : box[3]]):
                return False
    return True
