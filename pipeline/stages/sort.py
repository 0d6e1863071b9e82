"""sort: runs of n examples, each sorted by a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline.dtypes import truth
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.stages.block import Block, Numbers, joined
from pipeline.stages.calls import check_function, name_of
from pipeline.stages.draws import NoDraws
from pipeline.stages.node import Node, OneInput, opened
from pipeline.stages.run import Clock, Run
from pipeline.stages.steps import MapStep, Named, called_with_each
from pipeline.stages.stream import Maker, Rest, Stream, Unit, whole
from pipeline.tracebacks import from_handler

_NO_DRAWS = NoDraws("the key of sort must not draw random numbers: draw them in a map before it")

# Examples per block: small, so `close` can interrupt a run with slow ones.
_AT_ONCE = 128

_NEVER_NAN = frozenset({int, bool, str, bytes})


class Sort(OneInput):
    """Examples in sorted runs.

    Args:
        source: The examples.
        n: Number per run; the last one may have fewer.
        key: Returns an example's sort key.
        reverse: True if the largest comes first. Equal ones always keep their order.
    """

    kind = "sort"
    reorders = by_number = True

    def __init__(self, source: Node, n: int, key: Callable[[Any], Any], reverse: bool) -> None:
        check_function("sort: key", key, "what to sort by")
        self.n, self.key, self.reverse = n, key, truth(reverse, "sort: reverse")
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        """Return False: one element would cost a whole run, and a buffer after it would sort a run for each draw."""
        return False

    def functions(self) -> tuple[Any, ...]:
        return (self.key,)

    def options(self) -> dict[str, Any]:
        return {"n": self.n, "key": name_of(self.key)} | ({"reverse": True} if self.reverse else {})

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, given = (None, 0) if state is None else state
        key = Key(self.key, name_of(self.key), False, _NO_DRAWS)
        sorting = Sorting(opened(self.source, run, before), self.n, key, self.reverse, self.named, run.clock)
        return Rest(sorting, whole(given, self.n))

    def label(self) -> str:
        return f"sort({self.n:,})"


class Key(MapStep):
    """Calls the key function."""

    def returned_none(self) -> ValueError:
        return ValueError(f"{self.name} returned None, which cannot be sorted")


class Sorting(Maker):
    """A stream's sorted runs: a unit is a run.

    Args:
        source: The examples.
        size: Number per run.
        key: Returns an example's key.
        reverse: True if the largest comes first.
        named: Returns an example's name for errors.
        clock: Reports whether the iterator was closed.
    """

    def __init__(self, source: Stream, size: int, key: Key, reverse: bool, named: Named, clock: Clock) -> None:
        super().__init__(source)
        self._size, self._key, self._reverse, self._named, self._clock = size, key, reverse, named, clock

    def make(self, n: int) -> Unit | None:
        block, keys = self._run()  # the failing example could sort first, so deliver none of the run
        if not keys:
            return None
        made = block.picked(self._order(block, keys))
        return Unit(iter((made,)), len(made))

    def _run(self) -> tuple[Block, list[Any]]:
        """Return the next run's examples and their keys; none at the end."""
        blocks: list[Block] = []
        keys: list[Any] = []
        while len(keys) < self._size:
            block = self.source.take(min(self._size - len(keys), _AT_ONCE))
            if block is None:
                break
            found, failure = called_with_each(self._key, block)
            if failure is not None:
                raise self._key.blamed(failure.error, failure.number, self._named(block, failure.input))
            keys.extend(found.values.examples())
            blocks.append(block)
            self._clock.check()
        return joined(blocks), keys

    def _order(self, block: Block, keys: Sequence[Any]) -> Numbers:
        """Return a run's places in sorted order.

        Raises:
            InvalidArgumentError: Keys cannot be compared.
        """
        try:
            order = sorted(range(len(keys)), key=keys.__getitem__, reverse=self._reverse)
        except Exception as error:
            if from_handler(error):
                raise
            raise self._incomparable(block, keys, error) from error
        odd = None if all_of(keys, _NEVER_NAN) else next((i for i, each in enumerate(keys) if _has_nan(each)), None)
        if odd is not None:
            told = f"{self._key.name} returned {keys[odd]!r:.80} for {self._named(block, odd)}"
            raise invalid(f"sort: {told}: NaN is neither smaller nor larger than a number")
        return np.array(order, np.int64)

    def _incomparable(self, block: Block, keys: Sequence[Any], error: Exception) -> InvalidArgumentError:
        """Return the error for two keys that cannot be compared."""
        try:
            sorted(map(_Told, keys, range(len(keys))), reverse=self._reverse)
        except _Pair as pair:
            both = " and ".join(f"{keys[i]!r:.80} for {self._named(block, i)}" for i in sorted(pair.places))
            return invalid(f"sort: {self._key.name} returned {both}, which cannot be compared: {error}")
        return invalid(f"sort: the values returned by {self._key.name} cannot be compared: {error}")


class _Pair(Exception):
    """Two keys that cannot be compared."""

    def __init__(self, places: tuple[int, int]) -> None:
        self.places = places


class _Told:
    """A key that names the other key if they cannot be compared."""

    def __init__(self, key: Any, place: int) -> None:
        self.key, self.place = key, place

    def __lt__(self, other: _Told) -> bool:
        try:
            return bool(self.key < other.key)
        except Exception:
            raise _Pair((self.place, other.place)) from None


def _has_nan(key: Any) -> bool:
    """Return whether a key is NaN or NaT, or has one in a tuple or list: comparisons with it order nothing."""
    if isinstance(key, (tuple, list)):
        return any(map(_has_nan, key))
    try:
        return bool(key != key)
    except Exception as error:
        if from_handler(error):
            raise
        return False  # a single key need not be comparable
