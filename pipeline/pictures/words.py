"""Texts of others, such as names of queues, made fit for a terminal or for XML; and cut to a width."""

from __future__ import annotations

import html
import math
import unicodedata

_XML = {"\t", "\n"}


def printable(text: str) -> str:
    """Return the text with what a terminal would obey, and what is no character, as escapes such as `\\x1b`."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def escaped(text: str) -> str:
    """Return the text for XML and HTML, in elements and attributes."""
    return html.escape("".join(each if each in _XML or each.isprintable() else _escape(each) for each in text))


def cells(text: str) -> int:
    """Return how many columns of a terminal the text takes: two for each wide character."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, width: int) -> str:
    """Return the text in at most so many columns, with an ellipsis if something is left out."""
    if cells(text) <= width:
        return text
    kept, used = "", 1
    for each in text:
        used += cells(each)
        if used > width:
            break
        kept += each
    return f"{kept}\N{HORIZONTAL ELLIPSIS}"


def amount(number: int) -> str:
    """Return a capacity as text."""
    return "unbounded" if number == 2**31 - 1 else f"{number:,}"


def duration(seconds: float) -> str:
    """Return a time to wait as text: 12 s, 3:20 min, 2:05 h."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60:,}:{minutes % 60:02} h"
