"""What the errors of kernels begin with."""

from __future__ import annotations

from pipeline.errors import InvalidArgumentError


def prefix(message: str | None) -> str:
    """Return the message as the first sentence of another."""
    return f"{message}.  " if message else ""


def bad(message: str) -> InvalidArgumentError:
    """The error of a kernel that cannot take a value."""
    return InvalidArgumentError(None, None, message)
