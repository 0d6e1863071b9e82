"""Numbers and exceptions as they appear in messages."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """Return "1 thread", "1,000 threads"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def named(error: BaseException) -> str:
    """Return an exception's class and text."""
    try:
        text = str(error)
    except Exception:  # the user's exception has no readable text
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
