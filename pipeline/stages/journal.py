"""Journal: input positions at arrivals, for reading buffered examples again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.stages.block import Block, Numbers
from pipeline.stages.stream import Stream, shorter


class Journal:
    """Notes: an arrival's number, and the input's state before it.

    A state needs only the last note before the oldest held example; later notes are for later states.

    Args:
        every: Arrivals between two notes.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._notes: list[tuple[int, Any]] = []

    def due(self, arrival: int) -> bool:
        """Return whether it is time for a note."""
        return not self._notes or arrival >= self._notes[-1][0] + self._every

    def note(self, arrival: int, state: Any, oldest: int) -> None:
        """Add a note, and drop notes older than the oldest held example needs."""
        self._notes.append((arrival, state))
        while len(self._notes) > 1 and self._notes[1][0] <= oldest:
            del self._notes[0]

    @property
    def first(self) -> tuple[int, Any]:
        """The note to start reading again from."""
        return self._notes[0]


def read_again(source: Stream, arrival: int, wanted: Numbers, end: int) -> Iterator[tuple[Numbers, Block]]:
    """Read from one arrival to another; yield the requested ones.

    Args:
        source: The input, before that arrival.
        arrival: Its next example's number.
        wanted: Arrival numbers, ascending.
        end: The arrival to stop before.

    Yields:
        The places in `wanted`, and the examples.
    """
    if len(wanted) and (wanted[0] < arrival or wanted[-1] >= end):
        raise invalid("load_state_dict: the state is damaged: it holds examples that were not read")
    while arrival < end:
        block = source.take(min(1024, end - arrival))
        if block is None:
            raise shorter()
        first, last = np.searchsorted(wanted, [arrival, arrival + len(block)])
        if last > first:
            yield np.arange(first, last), block.picked(wanted[first:last] - arrival)
        arrival += len(block)
