"""Pulls: what the function of a deterministic loop takes from readers, producers and queues during one call.

A loop that promises an order has to know where each call of its function stood in the input. So whatever a function
may pull from (`Pulled`) looks whether its thread has a `Turn`, and if so pulls within it:

    turn = current_turn()
    if turn is not None:
        with turn.pulling(self, *how):
            ...

Only outermost pulls count: the file name that a reader takes from its queue is part of the read.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
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
        owner: The book of the one loop that pulls from it, once there is one.
        columns: What the numbers of a position are.
    """

    name: str
    owner: Book | None
    columns: Sequence[str]

    def _facts(self) -> dict[str, Any]:
        """What a resumed run must share: `name`, `kind` and what else decides the order; plain data."""

    def _position(self) -> list[int]:
        """The place of the next pull."""

    def _go_to(self, position: Sequence[int]) -> None:
        """Let the next pull be the one that came next when `_position` gave this."""

    def _no_state(self) -> str | None:
        """Why a position cannot be given; None if it can."""


class Pulled(Positioned, Protocol):
    """What calls pull from.

    Attributes:
        last_ids: What the last pull gave, for the fingerprint: row numbers, or the number of the first record and how
            many there were.
    """

    last_ids: Any

    def _skip(self, count: int, *how: Any) -> None:
        """Pull `count` times as `how` says, and drop what comes. OutOfRangeError at the end of the input."""


class Book(Protocol):
    """What a deterministic loop knows of the pulls of its calls."""

    def adopt(self, thing: Any, how: tuple[Any, ...]) -> None:
        """A call pulls from something for the first time."""

    def check(self, turn: Turn) -> None:
        """A call is about to pull again after its baton has passed: raise an error."""

    def pulled(self, turn: Turn) -> None:
        """An outermost pull of a call is over, and it was not the usual one."""

    def passes(self, turn: Turn) -> None:
        """The call has pulled as often as the first: the next one may begin."""

    @property
    def seeds(self) -> tuple[int, int]:
        """Those of the loop, for `example_rng`."""


class LoopOver:
    """The book of a loop that is over. What it pulled from is nobody else's, and holds nothing of the loop."""

    seeds = (0, 0)

    def adopt(self, thing: Any, how: tuple[Any, ...]) -> None:
        raise in_use(thing)

    def check(self, turn: Turn) -> None: ...

    def pulled(self, turn: Turn) -> None: ...

    def passes(self, turn: Turn) -> None: ...


class _OfThread(threading.local):
    turn: Turn | None = None
    draw: Iterable[int] | None = None  # seeds and number of the example; of datasets also its path and the pass


this_thread = _OfThread()


def current_turn() -> Turn | None:
    """The turn of this thread; None unless it calls a function for a deterministic loop."""
    return this_thread.turn


def in_use(thing: Any) -> FailedPreconditionError:
    """The error for what two loops, or a loop and somebody else, pull from."""
    return FailedPreconditionError(
        None,
        None,
        f"'{thing.name}' belongs to a deterministic loop over batches, and was now pulled from elsewhere: "
        "the order would depend on who comes first. Make a reader, or producer, of its own for each loop",
    )


def pull_again(turn: Turn, how: tuple[Any, ...]) -> tuple[Any, Any]:
    """Pull the next of the records that a turn is given again; the arguments are those of `Turn.pull`.

    The baton may have passed: other threads pull from the same thing meanwhile, so nothing of it is read or changed,
    nor its `last_ids`.

    Returns:
        The keys and the values.
    """
    turn.pull(how)
    known = len(turn.ids)
    keys, values, ids = turn.given.popleft()
    turn.pulled()
    if len(turn.ids) > known:  # else it is part of a larger pull
        turn.ids[-1] = ids
    return keys, values


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Let all pulls within the `with` block count as one.

    A deterministic loop over batches with several threads lets the next call of its function begin as soon as one has
    pulled as often as the first call did. A function that pulls now once and now three times does so in this block, and
    decodes after it. Elsewhere the block changes nothing.

    Raises:
        FailedPreconditionError: The call has pulled before, as often as the first call did.

    Thread safety: each thread has its own.
    """
    turn = this_thread.turn
    if turn is None:
        yield
        return
    with turn.together():
        yield


def example_rng() -> np.random.Generator:
    """Return random numbers for the current example: the same in every run, in any worker, and after a resume.

    Call it once in your function, because each call begins with the same numbers.

    Returns:
        A NumPy Generator, keyed by a seed and the example's number. The seed is that of `map(f, seed=)`, or the
        nearest one upstream, or that of `set_random_seed`.

    Raises:
        FailedPreconditionError: You called it outside a dataset's function.

    Thread safety: each thread has its own.
    """
    turn, draw = this_thread.turn, this_thread.draw
    if turn is not None and draw is None:
        draw = (*turn.book.seeds, turn.ticket if turn.number is None else turn.number)
    if draw is None:
        raise FailedPreconditionError(
            None,
            None,
            "example_rng: to be called in a function of a dataset, such as that of map, or of a loop over batches that "
            "has deterministic=True",
        )
    seed, seed2, number, *more = draw
    # As an array: NumPy takes a list with one number above 2**63 for floats, which are equal for near seeds.
    key = np.array([seed ^ _OF_EXAMPLES, seed2], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, number, *(more or (0, 0))]))
