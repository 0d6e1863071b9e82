"""prefix: puts a user's message before an error text."""

from __future__ import annotations


def prefix(message: str | None) -> str:
    """Return a message as an error text's first sentence; "" if there is none."""
    return f"{message}.  " if message else ""
