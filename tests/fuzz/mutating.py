"""Damages bytes step by step from a seed, like a fuzzer without coverage."""

import random
import struct

_NUMBERS = [0, 1, 127, 128, 255, 256, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63]
_NUMBERS += [-1, -128, -(1 << 31), -(1 << 63), 1 << 62, 0x7F7F7F7F]


def mutated(seeds, seed):
    """Return one seed input, changed in a few places; the same seed gives the same bytes."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        rng.choice(_STEPS)(data, rng, seeds)
        if len(data) > 1 << 20:
            del data[1 << 20 :]
    return bytes(data)


def _place(data, rng):
    return rng.randrange(len(data) + 1)


def _flip(data, rng, _):
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(data, rng, _):
    if data:
        data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255, 10, 34, 44, rng.randrange(256)])


def _number(data, rng, _):
    """Write a 2-, 4- or 8-byte number at some limit, in either byte order."""
    size, order = rng.choice([2, 4, 8]), rng.choice(["little", "big"])
    value = (rng.choice(_NUMBERS) % (1 << 8 * size)).to_bytes(size, order)
    at = _place(data, rng)
    data[at : at + size] = value


def _varint(data, rng, _):
    """Replace a byte by a varint."""
    value = rng.choice(_NUMBERS) % (1 << 64)
    packed = bytearray()
    while value > 127:
        packed.append(value & 127 | 128)
        value >>= 7
    packed.append(value)
    at = _place(data, rng)
    data[at : at + 1] = packed


def _cut(data, rng, _):
    del data[_place(data, rng) :]


def _remove(data, rng, _):
    at = _place(data, rng)
    del data[at : at + rng.choice([1, 2, 4, 8, 100])]


def _insert(data, rng, _):
    at = _place(data, rng)
    data[at:at] = rng.randbytes(rng.choice([1, 2, 4, 16]))


def _repeat(data, rng, _):
    at = _place(data, rng)
    piece = data[at : at + rng.choice([1, 3, 16, 200])]
    data[at:at] = piece * rng.choice([1, 2, 50])


def _splice(data, rng, seeds):
    other = rng.choice(seeds)
    at = rng.randrange(len(other) + 1)
    data[_place(data, rng) :] = other[at:]


def _float(data, rng, _):
    at = _place(data, rng)
    data[at : at + 4] = struct.pack("<f", rng.choice([0.0, -0.0, 1e38, float("nan"), float("inf"), 1e-45]))


_STEPS = [_flip, _byte, _byte, _number, _number, _varint, _cut, _remove, _insert, _repeat, _splice, _float]
