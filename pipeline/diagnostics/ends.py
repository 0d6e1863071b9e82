"""Facts about the end of an input for OutOfRangeErrors: its epochs, why it was empty, why it was cut short."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.errors import OutOfRangeError


class EndOfInput(NamedTuple):
    """Facts about the end of an input: the attribute `end` of an OutOfRangeError.

    Attributes:
        epochs: How many epochs the input had, if it had epochs.
        why: Why there was no input at all, such as "the file list was empty".
        failed: The failure before the end of the input, as a clause; the exception is the error's `__cause__`.
    """

    epochs: int | None = None
    why: str | None = None
    failed: str | None = None


def end_of_input(message: str, epochs: int | None = None, why: str | None = None) -> OutOfRangeError:
    """Make the error at the end of an input; `epochs` and `why` as in `EndOfInput`."""
    return with_end(OutOfRangeError(None, None, message), EndOfInput(epochs, why))


def with_end(error: OutOfRangeError, end: EndOfInput) -> OutOfRangeError:
    """Attach facts about the end to an error; return the error."""
    error.end = end  # type: ignore[attr-defined]
    return error


def raise_why(error: OutOfRangeError) -> None:
    """Reraise the error that closed a queue, unless its input has ended."""
    cause = error.__cause__
    if isinstance(cause, Exception) and not isinstance(cause, OutOfRangeError):
        raise cause
