"""Pulls: what a function reads from readers, producers and queues, so that its place can be saved.

Whatever such a function may read from (`Positioned`) looks whether its thread has a `Turn`, and if so reads within it:

    turn = current_turn()
    if turn is not None:
        with turn.pulling(self):
            ...
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from pipeline._turns import Turn as Turn
from pipeline.errors import FailedPreconditionError

# Sets the words of `example_rng` apart from those of the draws, which have the same seeds.
_OF_EXAMPLES = 0x9E3779B97F4A7C15


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


class _OfThread(threading.local):
    turn: Turn | None = None
    draw: Iterable[int] | None = None  # seeds and number of the example; of datasets also its path and the pass


this_thread = _OfThread()


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


def example_rng() -> np.random.Generator:
    """Return random numbers for the current example: the same in every run, in any worker, and after a resume.

    Call it once in your function, because each call begins with the same numbers.

    Returns:
        A NumPy Generator, keyed by a seed and the example's number. The seed is that of `map(f, seed=)`, or the
        nearest one upstream, or that of `set_random_seed`.

    Raises:
        FailedPreconditionError: You called it outside a dataset's function.

    Thread safety: each thread has its own.

    Examples:
        >>> def noisy(x):
        ...     return x + pipeline.example_rng().random()
        >>> data = pipeline.dataset(range(100)).map(noisy, seed=1, workers=2)
        >>> list(data) == list(data)
        True
    """
    turn, draw = this_thread.turn, this_thread.draw
    if turn is not None and draw is None:
        draw = (*turn.book.seeds, turn.ticket)
    if draw is None:
        raise FailedPreconditionError(
            None,
            None,
            "example_rng: to be called in a function of a dataset, such as that of map",
        )
    seed, seed2, number, *more = draw
    # As an array: NumPy takes a list with one number above 2**63 for floats, which are equal for near seeds.
    key = np.array([seed ^ _OF_EXAMPLES, seed2], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, number, *(more or (0, 0))]))
