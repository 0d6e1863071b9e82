"""Part: one of the two parts from `split`, for an indexed recipe."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.orders.numbered import digest
from pipeline.stages.block import Block
from pipeline.stages.draws import uniform
from pipeline.stages.index import Index, Picked
from pipeline.stages.node import Node, index_of, opened
from pipeline.stages.run import Run
from pipeline.stages.selection import Choice
from pipeline.stages.stream import Stage, Stream, whole

_AT_ONCE, _FEW = 1 << 20, 1 << 10  # elements decided at once, for an index and for a stream
_SECOND_SEED = 0x73706C6974  # "split": other draws with the user's seed differ


class Part(Choice):
    """One part's elements, in their order.

    Args:
        source: All elements.
        fraction, seed: As in `split`.
        first: True for the first part, with the fraction.
        classes: Class index of each element, for stratified parts; None for others.
    """

    kind = "split"
    by_number = True

    def __init__(
        self, source: Node, fraction: float, seed: int, first: bool, classes: NDArray[np.int64] | None
    ) -> None:
        super().__init__(source)
        self._fraction, self._given, self._first, self._classes = fraction, seed, first, classes

    @property
    def streams(self) -> bool:
        return self.works_ahead  # a cache is filled first

    def options(self) -> dict[str, Any]:
        facts = {"fraction": self._fraction, "seed": self._given, "part": 0 if self._first else 1}
        return facts if self._classes is None else {**facts, "stratify": self._digest}

    @functools.cached_property
    def _digest(self) -> str:
        assert self._classes is not None
        return digest([object_vector([self._classes.tobytes()])])

    def length(self) -> int | None:
        length = self.source.length()
        return None if length is None else len(self._places(length))

    def stream(self, run: Run, state: Any = None) -> Stream:
        at, before = (0, None) if state is None else state
        return Parting(opened(self.source, run, before), self.has, whole(at))

    def state_at(self, place: int) -> Any:
        length = self.source.length()
        if length is None:
            return None
        places = self._places(length)
        at = int(places[place]) if place < len(places) else length
        return [at, at * self.source.step]

    def has(self, begin: int, end: int) -> NDArray[np.bool_]:
        """Return which elements from one position up to another are in this part."""
        if self._classes is not None:
            return self._of_classes[begin:end]
        return np.equal(position(self._given, np.arange(begin, end)) < self._fraction, self._first)

    @functools.cached_property
    def _of_classes(self) -> NDArray[np.bool_]:
        """Return which elements are in this part; each class gets its share."""
        assert self._classes is not None
        return np.equal(_stratified(self._given, self._fraction, self._classes), self._first)

    def index(self, run: Run) -> Index:
        source = index_of(self.source, run)
        places = self._places(len(source))
        return Picked(source, len(places), places.__getitem__)

    def _places(self, length: int) -> NDArray[np.int64]:
        """Return the places of this part's elements."""
        if self._classes is None:
            return _places_of(self._given, self._fraction, length)[0 if self._first else 1]
        return np.flatnonzero(self._of_classes)


class Parting(Stage):
    """One part of a stream. The state is [elements read from the input, its state].

    Args:
        source: All elements.
        has: Returns which elements from one position up to another are in the part.
        at: Number of elements read.
    """

    def __init__(self, source: Stream, has: Callable[[int, int], NDArray[np.bool_]], at: int) -> None:
        super().__init__(source)
        self._has, self._at = has, at
        self._known, self._begin = np.empty(0, np.bool_), at  # membership for the elements from index `at` on

    def take(self, n: int) -> Block | None:
        block = self.source.take(n) if (n := self._neighbours(n)) else None
        self._at += 0 if block is None else len(block)
        return block

    def drop(self, n: int) -> int:
        left = n
        while left and (count := self._neighbours(left)):
            passed = self.source.drop(count)
            self._at, left = self._at + passed, left - passed
            if passed < count:
                break
        return n - left

    def _neighbours(self, n: int) -> int:
        """Go to the part's next element; return how many follow without a gap, n at most; 0 at the end."""
        while True:
            known = self._known[self._at - self._begin :]
            others = int(np.argmax(known)) if known.any() else len(known)
            passed = self.source.drop(others) if others else 0
            self._at += passed
            if passed < others:
                return 0
            if others < len(known):
                known = known[others : others + n]
                return len(known) if known.all() else int(np.argmin(known))
            self._begin = self._at
            self._known = self._has(self._at, self._at + _FEW)
            if not len(self._known):  # the classes end here
                return 0

    def state(self) -> Any:
        return [self._at, self.source.state()]


def position(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each element's position between the two parts, from 0 up to 1: below the fraction is the first part."""
    return uniform((seed & (1 << 64) - 1, _SECOND_SEED), numbers)


@functools.lru_cache(maxsize=4)
def _places_of(seed: int, fraction: float, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of both parts."""
    found: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
    for begin in range(0, length, _AT_ONCE):
        numbers = np.arange(begin, min(begin + _AT_ONCE, length))
        chosen = position(seed, numbers) < fraction
        found[0].append(numbers[chosen])
        found[1].append(numbers[~chosen])
    none = np.empty(0, np.int64)
    first, second = (np.concatenate([none, *parts]) for parts in found)
    return first, second


def _stratified(seed: int, fraction: float, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which elements are in the first part: each class gets its share, to within one element."""
    order = np.lexsort((position(seed, np.arange(len(classes))), classes))
    _, begins, counts = np.unique(classes[order], return_index=True, return_counts=True)
    chosen = np.zeros(len(classes), np.bool_)
    for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
        chosen[order[begin : begin + round(count * fraction)]] = True
    return chosen
