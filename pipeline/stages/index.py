"""Index: examples by their place. InOrder: the examples of an index as a stream, whose state is one integer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.stages.block import Block, Numbers, size_of
from pipeline.stages.stream import Maker, Stream, Unit, whole

ENDLESS = 1 << 62  # the length of what has no end

_MOST = 1024  # examples that are made together
_SECONDS = 0.0005  # that making them may take
_BYTES = 1 << 20  # that they may have


class Index:
    """A pure function from places to examples.

    Thread safety: any thread may call it, as far as the user's own sources and functions allow that.

    Attributes:
        step: Example i has the place i * step: the place of a batch is that of its first example, so that a place
            means the same for batches of another size.
        ahead: Whether examples may be made before they are asked for. Not where that calls a function of the user's.
    """

    step = 1
    ahead = True

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def stop(self) -> int:
        """The first place that no example has."""
        return len(self) * self.step

    def block(self, places: Numbers) -> Block:
        """Return the examples at these places, up to the first that fails: that is the error of the block."""
        raise NotImplementedError

    def runs(self, starts: Numbers, size: int) -> Any:
        """Return `size` neighbours from each of these places on, as columns with two leading dimensions.

        Returns:
            None where `block` is as good.
        """
        return None


class Picked(Index):
    """Examples of another index, in an order of its own. They keep their numbers.

    Args:
        source: The other index.
        length: How many there are.
        pick: Returns for places here the number of the example there.
    """

    def __init__(self, source: Index, length: int, pick: Callable[[Numbers], Numbers]) -> None:
        self._source, self._length, self._pick, self.ahead = source, length, pick, source.ahead

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        found = self._pick(places)
        return self._source.block(found if self._source.step == 1 else found * self._source.step)


def counted(index: Index) -> Index:
    """Return an index whose places count its examples."""
    return index if index.step == 1 else Picked(index, len(index), _itself)


def _itself(places: Numbers) -> Numbers:
    return places


class InOrder(Stream):
    """The examples of an index in order. The state is the next place.

    Args:
        index: The examples.
        place: Where to begin.
    """

    def __init__(self, index: Index, place: Any) -> None:
        self._index, self._step, self._stop = index, index.step, index.stop
        self._next = whole(0 if place is None else place)
        self._made: Block | None = None  # examples that were made together, while some are left
        self._at = 0  # examples of that block that were handed out
        self._at_once, self._ahead = 1, index.ahead

    def take(self, n: int) -> Block | None:
        made, begin = self._made, self._at
        if made is None:
            made, begin = self._make(n), 0
            if made is None:
                return None
        end = min(begin + n, len(made))
        if begin == end:
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

    def _make(self, n: int) -> Block | None:
        """Return the next examples: more than n if they may be made ahead, are small and quickly made. None at the end."""
        step, began = self._step, time.perf_counter()
        count = min(max(n, self._at_once), -(-(self._stop - self._next) // step))
        if count < 1:
            return None
        made = self._index.block(np.arange(self._next, self._next + count * step, step))
        took, count = time.perf_counter() - began, len(made)
        if self._ahead and count >= self._at_once:
            size = size_of(made.values)
            if took > 2 * _SECONDS or size > _BYTES:
                self._at_once = 1
            elif took < _SECONDS and 2 * size <= _BYTES and count < _MOST:
                self._at_once = 2 * count
        return made

    def state(self) -> int:
        return self._next


class Lookup(Maker):
    """The examples of an index, at places that a stream gives."""

    def __init__(self, source: Stream, index: Index) -> None:
        super().__init__(source)
        self._index = index

    def make(self, n: int) -> Unit | None:
        places = self.source.take(n)
        if places is None:
            return None
        return Unit(iter((self._index.block(places.numbers),)), len(places))
