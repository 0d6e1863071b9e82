"""Index: examples by position. InOrder: an index as a stream with an integer as its state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.stages.batch_rows import Empty
from pipeline.stages.block import Block, Numbers, size_of
from pipeline.stages.stream import Stream, whole

ENDLESS = 1 << 62  # the length of an endless dataset

_MOST = 1024  # examples computed at once
_SECONDS = 0.0005  # time limit for computing them
_BYTES = 1 << 19  # limit for their bytes; twice as many were slower than single examples


class Index:
    """A pure function from places to examples.

    Thread safety: any thread may call it, if the user's sources and functions allow it.

    Attributes:
        step: Example i has the place i * step. A batch has its first example's place. After `shard`, an example has the
            place of the first example in its turn over all hosts. So a place is valid for other batch sizes and host
            counts too.
        ahead: True if examples may be made before they are requested. False if this would call a user function.
        of_numbers: True if all blocks are number columns with the same dtypes and shapes.
        of_sources: True if examples come from sources, chosen or paired: a failing one can then be left out. False if a
            function makes them, because its error must not be missed.
    """

    step = 1
    ahead = True
    of_numbers = of_sources = False

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def stop(self) -> int:
        """The first position after the last example."""
        return len(self) * self.step

    def block(self, places: Numbers) -> Block:
        """Return the examples at these positions, up to the first failing one, which becomes the block's error."""
        raise NotImplementedError

    def into(self, empty: Empty) -> None:
        """Offer what makes the memory of a batch, to functions whose results all go into one."""

    def runs(self, starts: Numbers, size: int) -> Block | None:
        """Return `size` neighbours from each place on, as one example each, with the first one's number.

        Returns:
            None if `block` is as good.
        """
        return None


class Spaced(Index):
    """Another index's examples at equal distances. Its places are the other index's, before `offset`.

    Args:
        source: The other index.
        offset: Added to a place for the other index.
        step, stop: See `Index`.
    """

    def __init__(self, source: Index, offset: int, step: int, stop: int) -> None:
        self._source, self._offset, self.step, self._stop = source, offset, step, stop
        self.ahead, self.of_numbers, self.of_sources = source.ahead, source.of_numbers, source.of_sources

    def __len__(self) -> int:
        return max(0, -(-self._stop // self.step))

    @property
    def stop(self) -> int:
        return self._stop

    def block(self, places: Numbers) -> Block:
        return self._source.block(places + self._offset if self._offset else places)


class Picked(Index):
    """Another index's examples in a different order. They keep their numbers.

    Args:
        source: The other index.
        length: The number of examples.
        pick: Maps places here to example numbers there.
    """

    def __init__(self, source: Index, length: int, pick: Callable[[Numbers], Numbers]) -> None:
        self._source, self._length, self._pick = source, length, pick
        self.ahead, self.of_numbers, self.of_sources = source.ahead, source.of_numbers, source.of_sources

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        found = self._pick(places)
        return self._source.block(found if self._source.step == 1 else found * self._source.step)


def counted(index: Index) -> Index:
    """Return an index with consecutive positions."""
    return index if index.step == 1 else Picked(index, len(index), _itself)


def _itself(places: Numbers) -> Numbers:
    return places


class InOrder(Stream):
    """An index's examples in order. The state is the next place.

    Args:
        index: The examples.
        place: Start position.
    """

    def __init__(self, index: Index, place: Any) -> None:
        self._index, self._step, self._stop = index, index.step, index.stop
        self._next = whole(0 if place is None else place)
        self._made: Block | None = None  # the unfinished block
        self._at = 0  # examples delivered from that block
        self._at_once, self._ahead = 1, index.ahead

    def take(self, n: int) -> Block | None:
        made, begin = self._made, self._at
        if made is None:
            made, begin = self._make(n), 0
            if made is None:
                return None
        end = min(begin + n, len(made))
        if begin == end:
            self._made, self._at = made, begin
            raise made.error  # type: ignore[misc]
        if end < len(made) or made.error is not None:
            self._made, self._at = made, end
            made = made.part(begin, end)
            made.error = None
        else:
            self._made = None
            made = made.part(begin, end) if begin else made
        self._next += (end - begin) * self._step
        return made

    def drop(self, n: int) -> int:
        made, count = self._made, max(0, min(n, -(-(self._stop - self._next) // self._step)))
        if made is not None:
            if count and self._at == len(made) and not self._index.of_sources:
                raise made.error  # type: ignore[misc]
            self._at += count
            if self._at > len(made) or (self._at == len(made) and made.error is None):
                self._made = None
        self._next += count * self._step
        return count

    def _make(self, n: int) -> Block | None:
        """Return the next examples; more than n if making them ahead is allowed and cheap. None at the end."""
        step, left = self._step, -(-(self._stop - self._next) // self._step)
        if left < 1:
            return None
        count = min(max(n, self._at_once), left)
        if not self._ahead:
            return self._index.block(np.arange(self._next, self._next + count * step, step))
        began = time.perf_counter()
        made = self._index.block(np.arange(self._next, self._next + count * step, step))
        took, size, count = time.perf_counter() - began, size_of(made.values), len(made)
        if made.error is not None:
            self._at_once = 1  # more examples may fail, and each time the rest would be computed again
        elif count >= self._at_once:
            if took < _SECONDS and 2 * size <= _BYTES and count < _MOST:
                self._at_once = 2 * count
            elif size > _BYTES // 2 and count <= n:  # a single example is large
                self._ahead = False
            elif took > 2 * _SECONDS:
                self._at_once = 1
        return made

    def state(self) -> int:
        return self._next
