"""Finds where the fields of a block of CSV records begin and end, in the joined text of all records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Stands before the first field, so that three words of eight bytes can be read before the end of any field.
PAD = b"\n" * 24

_NEWLINE, _QUOTE = b'\n"'
_LONGEST_FIXED = 256  # bytes
# A text longer than this may have that many delimiters and quotes that its fields do not need. Each takes 8 bytes, a
# few times over.
_LARGE, _MOST_NEEDLESS = 1 << 20, 1 << 17


class Fields(NamedTuple):
    """Where the fields of a text begin and end, as two arrays with a row for each record. The text begins with PAD."""

    text: bytes
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]

    def columns(self, which: Any) -> Fields:
        """Return the fields of some columns."""
        return Fields(self.text, self.begins[:, which], self.ends[:, which])

    def cut(self) -> NDArray[Any]:
        """Return the fields, row by row, as an array of bytes objects."""
        text, begins, ends = self.text, self.begins.ravel(), self.ends.ravel()
        lengths = ends - begins
        longest = int(lengths.max(initial=1))
        if longest > _LONGEST_FIXED or longest * len(lengths) > 8 * len(text) or b"\0" in text:
            found = np.empty(len(lengths), object)
            found[:] = [text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
            return found
        # As texts of one size that end in zeros: 25 ns a field, a loop takes 130.
        text += bytes(longest)
        fixed = np.ndarray(len(text) - longest, f"S{longest}", text, strides=(1,))[begins]
        characters = fixed.view(np.uint8).reshape(-1, longest)
        characters *= np.tri(longest + 1, longest, -1, np.uint8).take(lengths, axis=0)
        return fixed.astype(object)

    def equal(self, value: bytes) -> NDArray[np.bool_]:
        """Return which fields have this text."""
        found: NDArray[np.bool_] = self.ends - self.begins == len(value)
        if value not in self.text:
            found[:] = False
        for i in map(tuple, np.argwhere(found)):
            found[i] = self.text.startswith(value, self.begins[i])
        return found


def find_fields(lines: list[bytes], delim: bytes, quotes: bool, width: int, exact: bool) -> tuple[Fields, bool] | None:
    """Return the fields of records, and whether any of them contains a doubled quote.

    Args:
        lines: The records; at least one.
        delim: The byte between fields.
        quotes: Whether fields may be quoted. A field is what is between its quotes.
        width: The number of fields in a record.
        exact: If False, records may have more fields, all the same number.

    Returns:
        None if each record needs a look by itself: one is malformed, contains a line end, has another width or
        very many delimiters.
    """
    if delim in b'\r\n"':
        return None
    text = b"\n".join((PAD[1:], *lines, b""))
    if b"\r" in text or (len(text) > _LARGE and _needless(text, delim, width * len(lines)) > _MOST_NEEDLESS):
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
    if have == 1 and (begins == ends).any():  # an empty record has no field at all, rather than an empty one
        return None
    if quoted:
        opened = raw[begins] == _QUOTE
        begins, ends = begins + opened, ends - opened
    return Fields(text, begins.reshape(-1, have), ends.reshape(-1, have)), escaped


def _needless(text: bytes, delim: bytes, fields: int) -> int:
    """Return how many delimiters and quotes a text has, besides a delimiter and two quotes for each field."""
    return text.count(delim) + text.count(b'"') - 3 * fields


def _doubled(raw: NDArray[np.uint8], places: NDArray[np.intp], delim: int) -> NDArray[np.bool_] | None:
    """Return which closing quotes are really the first half of a doubled quote; None if a quote is in the wrong place.

    Counting from 0, an even quote opens a field or is a second half; an odd one closes a field or is a first half.
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
