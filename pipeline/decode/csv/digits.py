"""Converts the digits of many fields to whole numbers at once: three multiplications for the eight bytes of a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.csv.fields import Fields

_SPACE, _MINUS, _POINT = b" -."
_EIGHT, _SEVEN, _ONE = np.uint64(8), np.uint64(7), np.uint64(1)


def _each(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


_ZEROS, _ONES, _TOPS = _each(ord("0")), _each(1), _each(0x80)
_POINTS = _each(_POINT ^ ord("0"))
_NO_DIGIT = _each(0x80 - 10)  # added to a byte, it sets the top bit unless the byte is 0 to 9
# At n + 16: the mask that keeps the last n bytes of a word; nothing if n < 0.
_KEEP = np.array([(1 << 64) - (1 << (8 * (8 - min(max(n, 0), 8)))) for n in range(-16, 25)], np.uint64)
# Ten to the number of digits after a point, if it is in the last word or the one before; 1 at 0, for no point.
_TENS = np.ones((2, 136))
_TENS[:, 128:] = 10.0 ** np.arange(15, -1, -1).reshape(2, 8)[::-1]


class Decimals(NamedTuple):
    """Numbers: `whole`, negated where `negative`, divided by `scale`, a power of ten. None: none negated; scale 1."""

    whole: NDArray[np.uint64]
    negative: NDArray[np.bool_] | None
    scale: NDArray[np.float64] | None


def decimals(fields: Fields, longest: int, points: bool) -> Decimals | None:
    """Return the numbers in a table of fields, 0 for an empty field.

    Args:
        fields: The fields. Spaces and a minus before the digits are allowed.
        longest: The most bytes after those that a field may have: up to 16, or 19 if `points` is False.
        points: Whether one of these bytes may be a point.

    Returns:
        None if a field is longer, or is not a number of this form.
    """
    text, begins, ends = fields
    raw = np.frombuffer(text, np.uint8)
    present = ends > begins
    if b" " in text:
        for _ in range(longest):
            spaces = (raw[begins] == _SPACE) & (ends > begins)
            if not spaces.any():
                break
            begins = begins + spaces
    negative = (raw[begins] == _MINUS) & (ends > begins) if b"-" in text else None
    lengths = ends - (begins if negative is None else begins + negative)
    most = int(lengths.max())
    if most > longest:
        return None
    every = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))
    words = []
    for at in range(0, max(most, 1), 8):  # the last word first
        word = every[ends - (at + 8)] ^ _ZEROS
        word &= _KEEP.take(lengths + (16 - at))
        words.append(word)
    empty, scale = lengths == 0, None
    if points and b"." in text:
        words, found = _without_points(words)
        empty |= (lengths == 1) & (found[0] != 0)
        scale = _power(found[0], 0) if len(words) == 1 else _power(found[0], 0) * _power(found[1], 1)
    if (empty & present).any() or any((((word + _NO_DIGIT) | word) & _TOPS).any() for word in words):
        return None
    whole = _number(words[0])
    for word, ten in zip(words[1:], (10**8, 10**16), strict=False):
        whole += _number(word) * np.uint64(ten)
    return Decimals(whole, negative, scale)


def _without_points(words: Sequence[NDArray[np.uint64]]) -> tuple[list[NDArray[np.uint64]], list[NDArray[np.uint64]]]:
    """Return the words with the point squeezed out, and the top bit of each byte that was a point.

    Of two points in a field one is left; it is caught later, since it is not a digit.
    """
    moved, points = [], []
    for word in words:
        other = word ^ _POINTS  # 0 where there is a point
        point = other - _ONES
        point &= ~other
        point &= _TOPS
        before = point >> _SEVEN
        before -= _ONE
        before &= word
        before <<= _EIGHT
        after = -point
        after <<= _ONE
        after &= word
        after |= before
        np.copyto(after, word, where=point == 0)
        moved.append(after)
        points.append(point)
    if len(words) > 1:  # a point in the last word also shifts the word before
        moved[0] |= np.where(points[0], words[1] >> np.uint64(56), np.uint64(0))
        moved[1] = np.where(points[0], words[1] << _EIGHT, moved[1])
    return moved, points


def _power(point: NDArray[np.uint64], word: int) -> NDArray[np.float64]:
    """Return ten to the number of digits after the point; the exponent of its bit as a float says which byte it is."""
    power: NDArray[np.float64] = _TENS[word].take(point.astype(np.float64).view(np.int64) >> 55)
    return power


def _number(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return eight digits, the first in the lowest byte, as a number: combined to pairs, to fours, to all eight."""
    pairs = word * np.uint64(10)
    pairs += word >> _EIGHT
    mask = np.uint64(0x000000FF000000FF)
    first = pairs & mask
    first *= np.uint64(100 + (1_000_000 << 32))
    pairs >>= np.uint64(16)
    pairs &= mask
    pairs *= np.uint64(1 + (10_000 << 32))
    first += pairs
    first >>= np.uint64(32)
    return first
