"""OfIterable: the items of an iterable, or of a generator function, anew in each pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.flow.block import Block
from pipeline.flow.pump import Pump
from pipeline.flow.run import Run
from pipeline.flow.stream import Stream, dropped, shorter, whole


class OfIterable(Node):
    """The items of an iterable, which starts over for each pass, or the results of a generator function."""

    kind = "iterable"
    stage = "source"
    live = True

    def __init__(self, make: Callable[[], Iterator[Any]], name: str, length: int | None) -> None:
        self._make, self._name, self._length = make, name, length
        self.note_place()

    def length(self) -> int | None:
        return self._length

    def options(self) -> dict[str, Any]:
        return {"name": self._name}

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({self._name})"

    def label(self) -> str:
        return self._name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Iterated(self._make, shared))


class _Iterated:
    """Items of an iterable. Its position is how many came: after a seek the first ones come again and are dropped."""

    def __init__(self, make: Callable[[], Iterator[Any]], run: Run) -> None:
        self._make, self._run = make, run
        self._pump: Pump | None = None
        self._count = 0
        self._left = 0  # items to drop
        self._lends = False

    def _begin(self) -> Pump:
        pump = self._pump
        if pump is None:
            pump = self._pump = Pump(self._make(), self._run)
            if self._left:
                came = sum(1 for _ in itertools.islice(pump.iterator, self._left))
                if came < self._left:
                    raise shorter()
                self._left = 0
            if self._lends:
                pump.lend(pump.iterator)
        return pump

    def lend(self) -> bool:
        self._lends = True
        return True

    def take(self, n: int) -> Block | None:
        values = self._begin().take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count]

    def seek(self, position: Any) -> None:
        (given,) = position
        count = whole(given)
        self.close()
        self._pump, self._count, self._left = None, count, count

    def close(self) -> None:
        close = None if self._pump is None else getattr(self._pump.iterator, "close", None)
        if close is not None:
            close()
