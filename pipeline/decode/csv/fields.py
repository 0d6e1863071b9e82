"""Where the fields of a block of CSV records are: found in the text of all of them at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Before the first field, so that three words of eight bytes can be taken before the end of each.
PAD = b"\n" * 24

_NEWLINE, _QUOTE = b'\n"'
_LONGEST_FIXED = 256  # bytes


class Fields(NamedTuple):
    """Fields of a text that begins with PAD: where each begins and ends, as arrays of one shape, a row for a record."""

    text: bytes
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]

    def columns(self, which: Any) -> Fields:
        return Fields(self.text, self.begins[:, which], self.ends[:, which])

    def cut(self) -> NDArray[Any]:
        """The fields themselves, row by row, as an array of bytes objects."""
        text, begins, ends = self.text, self.begins.ravel(), self.ends.ravel()
        lengths = ends - begins
        longest = int(lengths.max(initial=1))
        if longest > _LONGEST_FIXED or longest * len(lengths) > 8 * len(text) or b"\0" in text:
            found = np.empty(len(lengths), object)
            found[:] = [text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
            return found
        # As texts of one size, which end at the zeros behind them: 25 ns a field, where a loop takes 130.
        text += bytes(longest)
        fixed = np.ndarray(len(text) - longest, f"S{longest}", text, strides=(1,))[begins]
        characters = fixed.view(np.uint8).reshape(-1, longest)
        characters *= np.tri(longest + 1, longest, -1, np.uint8).take(lengths, axis=0)
        return fixed.astype(object)

    def equal(self, value: bytes) -> NDArray[np.bool_]:
        """Which fields have this text."""
        found: NDArray[np.bool_] = self.ends - self.begins == len(value)
        if value not in self.text:
            found[:] = False
        for i in map(tuple, np.argwhere(found)):
            found[i] = self.text.startswith(value, self.begins[i])
        return found


def find_fields(lines: list[bytes], delim: bytes, quotes: bool, width: int, exact: bool) -> tuple[Fields, bool] | None:
    """The fields of records, and whether there are quotes written as two in them.

    Args:
        lines: The records; at least one.
        delim: The byte between fields.
        quotes: Whether fields may be quoted. The fields found are those within the quotes.
        width: How many fields a record must have, if `exact`; else how many at least, all the same number.

    Returns:
        None if it takes a look at each record: one has an error, or is unusual in having a line end or another width.
    """
    if delim in b'\r\n"':
        return None
    text = b"\n".join((PAD[1:], *lines, b""))
    if b"\r" in text:
        return None
    raw = np.frombuffer(text, np.uint8)
    newlines = raw == _NEWLINE
    if np.count_nonzero(newlines) != len(PAD) + len(lines):
        return None
    ends = np.flatnonzero(newlines | (raw == delim[0]))[len(PAD) - 1 :]
    quoted, escaped = quotes and b'"' in text, False
    if quoted:
        places = np.flatnonzero(raw == _QUOTE)
        doubled = _doubled(raw, places, delim[0])
        if doubled is None:
            return None
        escaped = bool(doubled.any())
        ends = ends[np.searchsorted(places, ends) % 2 == 0]
    begins, ends = ends[:-1] + 1, ends[1:]
    have, rest = divmod(len(ends), len(lines))
    if rest or have < width or (exact and have > width) or (raw[ends[have - 1 :: have]] != _NEWLINE).any():
        return None
    if have == 1 and (begins == ends).any():  # such a record has no field, not an empty one
        return None
    if quoted:
        opened = raw[begins] == _QUOTE
        begins, ends = begins + opened, ends - opened
    return Fields(text, begins.reshape(-1, have), ends.reshape(-1, have)), escaped


def _doubled(raw: NDArray[np.uint8], places: NDArray[np.intp], delim: int) -> NDArray[np.bool_] | None:
    """Which quotes that close a field are the first of two that stand for one in it; None if one is out of place.

    Counted from 0, each even quote opens a field or is the second of two, each odd one closes a field or is the first.
    """
    if len(places) % 2:
        return None
    opening, closing = places[::2], places[1::2]
    doubled = opening[1:] == closing[:-1] + 1
    before, after = raw[opening - 1], raw[closing + 1]
    opens, closes = (before == delim) | (before == _NEWLINE), (after == delim) | (after == _NEWLINE)
    opens[1:] |= doubled
    closes[:-1] |= doubled
    return doubled if opens.all() and closes.all() else None
