"""Pulls: what a function reads from readers, producers and queues, so that its place can be saved.

Whatever such a function may read from (`Positioned`) looks whether its thread has a `Turn`, and if so reads within it:

    turn = current_turn()
    if turn is not None:
        with turn.pulling(self):
            ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pipeline._turns import Turn as Turn
from pipeline.errors import FailedPreconditionError
from pipeline.stages.draws import example_rng as example_rng
from pipeline.stages.draws import this_thread as this_thread


class Positioned(Protocol):
    """What has a place in the input, can say it, and can be put there again.

    Attributes:
        name: For messages and states.
        owner: The book of the one function that reads from it, once there is one.
        last_ids: What the last read gave, for the fingerprint: row numbers, or the number of the first record and how
            many there were.
    """

    name: str
    owner: Book | None
    last_ids: Any

    def _facts(self) -> dict[str, Any]:
        """What a resumed run must share: `name`, `kind` and what else decides the order; plain data."""

    def _position(self) -> list[int]:
        """The place of the next pull."""

    def _go_to(self, position: Sequence[int]) -> None:
        """Let the next pull be the one that came next when `_position` gave this."""

    def _no_state(self) -> str | None:
        """Why a position cannot be given; None if it can."""


class Book(Protocol):
    """What knows what the calls of a function read from."""

    def adopt(self, thing: Any) -> None:
        """A call reads from something for the first time."""

    @property
    def seeds(self) -> tuple[int, int]:
        """What `example_rng` draws from."""


def current_turn() -> Turn | None:
    """The turn of this thread; None unless it calls a function whose reads are recorded."""
    return this_thread.turn


def in_use(thing: Any) -> FailedPreconditionError:
    """The error for what an iterator with a fixed order, and somebody else, read from."""
    return FailedPreconditionError(
        None,
        None,
        f"'{thing.name}' belongs to an iterator whose order is fixed, and was now read from elsewhere: the order would "
        "depend on who comes first. Make a reader, or producer, of its own for each iterator",
    )
