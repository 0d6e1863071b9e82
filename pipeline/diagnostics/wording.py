"""Numbers and exceptions as they appear in messages."""

from __future__ import annotations

from collections.abc import Iterable


def count(number: int, what: str) -> str:
    """Return "1 thread", "1,000 threads"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def listed(texts: Iterable[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def named(error: BaseException) -> str:
    """Return an exception's class and text."""
    try:
        text = str(error)
    except Exception:  # the user's exception has no readable text
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
