"""Numbers and names in sentences."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """Return a number of things for people."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def named(error: BaseException) -> str:
    """Return class and text of an exception."""
    try:
        text = str(error)
    except Exception:  # an exception of the user's whose text cannot be had
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
