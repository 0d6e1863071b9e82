"""What the errors of kernels begin with."""

from __future__ import annotations


def prefix(message: str | None) -> str:
    """Return the message as the first sentence of another."""
    return f"{message}.  " if message else ""
