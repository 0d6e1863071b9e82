"""prefix: a user's message in front of an error text."""

from __future__ import annotations


def prefix(message: str | None) -> str:
    """Return a message as the first sentence of an error text; "" if there is none."""
    return f"{message}.  " if message else ""
