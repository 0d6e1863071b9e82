"""Grey from the colours of a PNG, as libpng computes it: from linear light if the file has a gamma."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.png_chunks import PngFile

_ONE, _NEAR_ONE = 100_000, 5_000  # a gamma of 1 as stored in PNG files, and the deviation that libpng ignores
_SRGB = 45_455
_LEAST, _MOST = 16, 625_000_000
_WEIGHTS = (9797, 19234, 3737)  # of red, green and blue, in 32768ths
_LONGEST_PROFILE = 8_000_000
# Length, intent, Adler-32 and CRC-32 of profiles known to be sRGB.
_SRGB_PROFILES = {
    (3048, 0, 0x0A3FD9F6, 0x3B8772B9),
    (3052, 1, 0x4909E5E1, 0x427EBB21),
    (60988, 0, 0xFD2144A1, 0x306FD8AE),
    (60960, 0, 0x209C35D2, 0xBBEF7812),
    (3024, 1, 0xA054D762, 0x5D5129CE),
    (3144, 0, 0xF784F3FB, 0x182EA552),
    (3144, 1, 0x0398F3FC, 0xF29E526D),
}


def gray(array: NDArray[Any], file: PngFile, eight: bool) -> NDArray[Any]:
    """Return luminance as libpng does.

    Args:
        array: Red, green and blue of 8 or 16 bits.
        file: The file's chunks.
        eight: True if the caller uses only the upper 8 of 16 bits.
    """
    gamma = gamma_of(file)
    deep = array.dtype == np.uint16
    straight = not gamma or not (_significant(gamma) or _significant(_reciprocal(gamma)))
    shift = _shift(file, eight) if deep else 0
    if straight:
        # 8 bits are truncated, 16 bits are rounded.
        mixed = _mixed(array, 16384 if deep else 0)
    elif deep:
        light = _curve(_reciprocal(gamma), shift)[array >> shift]
        mixed = _curve(gamma, shift)[_mixed(light, 16384) >> shift]
    else:
        mixed = _short_curve(gamma)[_mixed(_short_curve(_reciprocal(gamma))[array], 16384)]
    same = (array[:, :, 0] == array[:, :, 1]) & (array[:, :, 0] == array[:, :, 2])
    kept = array[:, :, 0]
    if deep and not straight:
        kept = _rounded(shift)[kept >> shift] if eight else _curve(_ONE, shift)[kept >> shift]
    return np.where(same, kept, mixed).astype(array.dtype)[:, :, None]


def gamma_of(file: PngFile) -> int:
    """Return the gamma of a file in 100,000ths, from the chunks that libpng uses; 0 without one."""
    gamma, from_srgb, from_gamma, profiled, placed = 0, False, False, False, False
    for name, body in file.light:
        if name == b"gAMA" and len(body) == 4:
            (value,) = struct.unpack(">I", body)
            if from_gamma or not _LEAST <= value <= _MOST:
                break  # libpng ignores all later chunks
            if not (from_srgb and _differs(gamma, value)):
                gamma, from_gamma = value, True
        elif name == b"cHRM" and len(body) == 32:
            corners = struct.unpack(">8I", body)
            if max(corners) >= 1 << 31:
                continue
            if placed or not _possible(corners):
                break
            placed = True
        elif name in (b"sRGB", b"iCCP"):
            if len(body) != 1 if name == b"sRGB" else len(body) < 14 or len(body) - min(len(body), 81) < 11:
                continue
            if profiled:
                break
            intent = body[0] if name == b"sRGB" else _profile_intent(body)
            if intent is None or intent > 3:
                break
            if intent >= 0:
                gamma, from_srgb, profiled = _SRGB, True, True
    return gamma


def _profile_intent(body: bytes) -> int | None:
    """Return the intent of an ICC profile known to be sRGB, -1 for another one, None for a damaged one."""
    keyword, _, rest = body.partition(b"\0")
    if not 1 <= len(keyword) <= 79 or rest[:1] != b"\0":
        return None
    engine = zlib.decompressobj()
    try:
        profile = engine.decompress(rest[1:], _LONGEST_PROFILE)
    except zlib.error:
        return None
    if len(profile) < 132:
        return None
    size, version, kind, space, connection = struct.unpack_from(">I4xB3x4s4s4s", profile)
    (intent,), (count,) = struct.unpack_from(">I", profile, 64), struct.unpack_from(">I", profile, 128)
    if not 132 + 12 * count <= size <= len(profile) or (version > 3 and size % 4) or profile[36:40] != b"acsp":
        return None
    if intent >= 0xFFFF or space != b"RGB " or kind in (b"abst", b"link") or connection not in (b"XYZ ", b"Lab "):
        return None
    for i in range(count):
        start, length = struct.unpack_from(">II", profile, 136 + 12 * i)
        if start + length > size:
            return None
    exact = profile[:size]
    return intent if (size, intent, zlib.adler32(exact), zlib.crc32(exact)) in _SRGB_PROFILES else -1


def _possible(corners: tuple[int, ...]) -> bool:
    """Return whether a white point and three primaries, given as x and y each, define a colour space."""
    white, red, green, blue = ((x / _ONE, y / _ONE) for x, y in zip(corners[::2], corners[1::2], strict=True))
    for x, y in (white, red, green, blue):
        if not (0 <= x <= 1 and 0 <= y <= 1 - x):
            return False
    if white[1] < 5 / _ONE:
        return False
    matrix = np.array([[x, y, 1 - x - y] for x, y in (red, green, blue)]).T
    try:
        scale = np.linalg.solve(matrix, np.array([white[0] / white[1], 1, (1 - sum(white)) / white[1]]))
    except np.linalg.LinAlgError:
        return False
    return bool((scale > 0).all())


def _differs(gamma: int, other: int) -> bool:
    return gamma != 0 and _significant(math.floor(gamma * _ONE / other + 0.5))


def _significant(gamma: int) -> bool:
    return not _ONE - _NEAR_ONE <= gamma <= _ONE + _NEAR_ONE


def _reciprocal(gamma: int) -> int:
    value = math.floor(1e10 / gamma + 0.5)
    return value if value < 1 << 31 else 0


def _mixed(array: NDArray[Any], rounding: int) -> NDArray[Any]:
    red, green, blue = (array[:, :, i].astype(np.uint32) * np.uint32(weight) for i, weight in enumerate(_WEIGHTS))
    mixed: NDArray[Any] = (red + green + blue + np.uint32(rounding)) >> np.uint32(15)
    return mixed


def _short_curve(gamma: int) -> NDArray[np.uint8]:
    """Return the 256 values raised to a power."""
    if not _significant(gamma):
        return np.arange(256, dtype=np.uint8)
    return np.array([math.floor(255 * (i / 255) ** (gamma * 1e-5) + 0.5) for i in range(256)], np.uint8)


def _shift(file: PngFile, eight: bool) -> int:
    """Return the number of low bits to ignore, from sBIT and the requested depth."""
    kept = next((body for name, body in file.light if name == b"sBIT"), b"")
    shift = 0
    if len(kept) == (4 if file.colour & 4 else 3) and all(0 < bits <= 16 for bits in kept):
        shift = 16 - max(kept[:3])
    return min(max(shift, 5) if eight else shift, 8)


def _curve(gamma: int, shift: int) -> NDArray[np.uint16]:
    """Return the values of 16 - `shift` bits raised to a power."""
    values = np.arange(1 << (16 - shift))
    most = len(values) - 1
    if _significant(gamma):
        table: NDArray[Any] = np.floor(65535.0 * np.power(values * (1.0 / most), gamma * 1e-5) + 0.5)
    else:
        table = (values * 65535 + (1 << (15 - shift))) // most if shift else values
    return table.astype(np.uint16)


def _rounded(shift: int) -> NDArray[np.uint16]:
    """Return the values of 16 - `shift` bits rounded to 8 bits, times 257."""
    most = (1 << (16 - shift)) - 1
    table = np.full(most + 1, 65535, np.uint16)
    last = 0
    for i in range(255):
        bound = ((i * 257 + 128) * most + 32768) // 65535 + 1
        table[last:bound] = i * 257
        last = max(last, bound)
    return table
