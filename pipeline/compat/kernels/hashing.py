"""Hashes for string_to_hash_bucket: Murmur and FarmHash (Fingerprint64) for byte strings."""

from __future__ import annotations

import struct

_MASK = 0xFFFF_FFFF_FFFF_FFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR = 0xC6A4A7935BD1E995
_SEED = 0xDECAFCAFFE
_WORD = struct.Struct("<Q").unpack_from


def murmur(data: bytes) -> int:
    """Return the 64-bit hash for string_to_hash_bucket."""
    size = len(data)
    hashed = _SEED ^ (size * _MURMUR & _MASK)
    whole = size & ~7
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        word = word * _MURMUR & _MASK
        word = (word ^ word >> 47) * _MURMUR & _MASK
        hashed = (hashed ^ word) * _MURMUR & _MASK
    if size & 7:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _MURMUR & _MASK
    hashed = (hashed ^ hashed >> 47) * _MURMUR & _MASK
    return hashed ^ hashed >> 47


def fingerprint(data: bytes) -> int:
    """Return the 64-bit hash for string_to_hash_bucket_fast."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        return _up_to_32(data, size)
    if size <= 64:
        return _up_to_64(data, size)
    return _long(data, size)


def _right(value: int, bits: int) -> int:
    value &= _MASK
    return (value >> bits | value << 64 - bits) & _MASK


def _fetch(data: bytes, at: int) -> int:
    word: int = _WORD(data, at)[0]
    return word


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _pair(u: int, v: int, factor: int) -> int:
    """Mix two words into one."""
    a = _mix((u ^ v) * factor)
    return _mix((v ^ a) * factor) * factor & _MASK


def _up_to_16(data: bytes, size: int) -> int:
    factor = _K2 + 2 * size
    if size >= 8:
        a = _fetch(data, 0) + _K2 & _MASK
        b = _fetch(data, size - 8)
        return _pair((_right(b, 37) * factor + a) & _MASK, (_right(a, 25) + b) * factor & _MASK, factor)
    if size >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        return _pair(size + (first << 3), last, factor)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return _mix(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes, size: int) -> int:
    factor = _K2 + 2 * size
    a, b = _fetch(data, 0) * _K1 & _MASK, _fetch(data, 8)
    c, d = _fetch(data, size - 8) * factor & _MASK, _fetch(data, size - 16) * _K2
    first = _right(a + b, 43) + _right(c, 30) + d & _MASK
    return _pair(first, a + _right(b + _K2, 18) + c & _MASK, factor)


def _up_to_64(data: bytes, size: int) -> int:
    factor = _K2 + 2 * size
    a, b = _fetch(data, 0) * _K2 & _MASK, _fetch(data, 8)
    c, d = _fetch(data, size - 8) * factor & _MASK, _fetch(data, size - 16) * _K2
    y = _right(a + b, 43) + _right(c, 30) + d & _MASK
    z = _pair(y, a + _right(b + _K2, 18) + c & _MASK, factor)
    e, f = _fetch(data, 16) * factor & _MASK, _fetch(data, 24)
    g = (y + _fetch(data, size - 32)) * factor & _MASK
    h = (z + _fetch(data, size - 24)) * factor & _MASK
    first = _right(e + f, 43) + _right(g, 30) + h & _MASK
    return _pair(first, e + _right(f + a, 18) + g & _MASK, factor)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Mix 32 bytes and two words into two words."""
    w, x, y, z = (_fetch(data, at + step) for step in (0, 8, 16, 24))
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    return a + z & _MASK, b + _right(a, 44) + c & _MASK


def _long(data: bytes, size: int) -> int:
    seed = 81
    y = seed * _K1 + 113 & _MASK
    z = _mix(y * _K2 + 113) * _K2 & _MASK
    x = seed * _K2 + _fetch(data, 0) & _MASK
    v = w = (0, 0)
    end = (size - 1) // 64 * 64
    rest = (size - 1) & 63
    for at in range(0, end, 64):
        x, y, z, v, w = _step(data, at, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 255) << 1)
    first = w[0] + rest
    v = (v[0] + first & _MASK, v[1])
    w = (first + v[0] & _MASK, w[1])
    x, y, z, v, w = _step(data, end + rest - 63, x, y, z, v, w, factor, 9)
    one = _pair(v[0], w[0], factor) + _mix(y) * _K0 + z & _MASK
    return _pair(one, _pair(v[1], w[1], factor) + x & _MASK, factor)


def _step(
    data: bytes, at: int, x: int, y: int, z: int, v: tuple[int, int], w: tuple[int, int], factor: int, weight: int
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Mix in one 64-byte block."""
    x = _right(x + y + v[0] + _fetch(data, at + 8), 37) * factor & _MASK
    y = _right(y + v[1] + _fetch(data, at + 48), 42) * factor & _MASK
    x ^= w[1] * weight & _MASK
    y = y + v[0] * weight + _fetch(data, at + 40) & _MASK
    z = _right(z + w[0], 33) * factor & _MASK
    v = _weak(data, at, v[1] * factor, x + w[0])
    w = _weak(data, at + 32, z + w[1], y + _fetch(data, at + 16))
    return z, y, x, v, w
