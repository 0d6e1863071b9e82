"""Sieve: stands before a queue that is to hold again what it held when a state was saved."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.batches.ledger import other_examples
from pipeline.batches.replay import Replay


class Sieve:
    """Takes elements in place of a queue: drops those that were delivered, keeps those of the pool until all of them
    are there, and then hands on.

    Args:
        queue: The queue.
        replay: What it held, and which element comes next.

    Attributes:
        spec: That of the queue.
        count: The number of the next element.
        done: All further elements go into the queue.

    Thread safety: one thread at a time puts elements in.
    """

    def __init__(self, queue: Any, replay: Replay) -> None:
        self.spec = queue.spec
        self.count = replay.first.element
        self.done = False
        self._queue, self._replay = queue, replay
        self._held: list[Any] = [None] * len(replay.needed)
        self._missing = len(replay.needed)
        self._numbers: NDArray[np.int64] | None = None

    @property
    def full(self) -> bool:
        """Whether the queue holds what it held, and there is nothing more to come."""
        return self._replay.ended and not self._missing

    def expect(self, numbers: NDArray[np.int64] | None) -> None:
        """Say which numbers the next elements have; None if they follow each other."""
        self._numbers = numbers

    def end(self, count: int) -> None:
        """Check at the end of the input, after so many elements, that it is not shorter than it was; StateMismatchError
        if it is."""
        if self._missing or (not self._replay.ended and count < self._replay.resume_at):
            raise other_examples()

    # What is called of a queue.

    def enqueue(self, values: Sequence[Any], timeout: float | None = None) -> None:
        """Put one element in."""
        if self.done:
            self._queue.enqueue(values, timeout=timeout)
        else:
            (number,) = self._next(1).tolist()
            if number < self._replay.resume_at:
                self._hold(number, values)
            else:
                self._finish()
                if not self._replay.ended:
                    self._queue.enqueue(values, timeout=timeout)
            self.count = number
        self.count += 1

    def enqueue_many(self, values: Sequence[Any], timeout: float | None = None) -> None:
        """Put the rows of arrays in."""
        self._put_rows(values, lambda rows: self._queue.enqueue_many(rows, timeout=timeout))

    def _enqueue_each(self, values: Sequence[Any], timeout: float | None) -> None:
        self._put_rows(values, lambda rows: self._queue._enqueue_each(rows, timeout))

    def _flow(self) -> tuple[int, int]:
        return self._queue._flow()  # type: ignore[no-any-return]

    def _put_rows(self, values: Sequence[Any], put: Callable[[tuple[Any, ...]], object]) -> None:
        rows = len(values[0])
        if self.done or not rows:
            put(tuple(values))
            self.count += rows
            return
        numbers, arrays = self._next(rows), [np.asarray(value) for value in values]
        new = numbers >= self._replay.resume_at
        for i in np.flatnonzero(~new).tolist():
            self._hold(int(numbers[i]), [each[i] if each.dtype == object else np.array(each[i]) for each in arrays])
        if new.any():
            self._finish()
            if not self._replay.ended:
                put(tuple(each[new] for each in arrays))
        self.count = int(numbers[-1]) + 1

    def _next(self, rows: int) -> NDArray[np.int64]:
        """The numbers of the next rows."""
        if self._numbers is None:
            return np.arange(self.count, self.count + rows)
        numbers, self._numbers = self._numbers[:rows], self._numbers[rows:]
        return numbers

    def _hold(self, number: int, values: Sequence[Any]) -> None:
        """Keep an element if the pool held it; once all are there, put them in, each in its place."""
        replay = self._replay
        index = bisect.bisect_left(replay.needed, number)
        if index == len(replay.needed) or replay.needed[index] != number:
            return
        assert replay.places is not None
        self._held[replay.places[index]] = tuple(values)
        self._missing -= 1
        if not self._missing:
            for each in self._held:
                self._queue.enqueue(each)
            self._held = []

    def _finish(self) -> None:
        if self._missing:
            raise other_examples()
        self.done = True
