"""OfIterable: the items of an iterable, or of a generator function, anew in each pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.datasets.node import Node, Opening, no_position
from pipeline.flow.block import Block
from pipeline.flow.pump import Pump
from pipeline.flow.stream import Stream, dropped, shorter


class OfIterable(Node):
    """The items of an iterable, which starts over for each pass, or the results of a generator function."""

    kind = "iterable"
    stage = "source"
    live = True

    def __init__(self, make: Callable[[], Iterator[Any]], name: str, once: str | None, length: int | None) -> None:
        self._make, self._name, self._once, self._length = make, name, once, length
        self._used: list[Any] = []
        self.note_place()

    @property
    def once(self) -> str | None:
        return self._once

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
        once = None if self._once is None else f"{self._name} {self._once}"
        return shared.gauged(self, _Iterated(self._make, once))


class _Iterated:
    """Items of an iterable. Its position is how many came: after a seek the first ones come again and are dropped."""

    def __init__(self, make: Callable[[], Iterator[Any]], once: str | None) -> None:
        self._make, self._once = make, once
        self._pump: Pump | None = None
        self._count = 0
        self._left = 0  # items to drop

    def _begin(self) -> Pump:
        pump = self._pump
        if pump is None:
            pump = self._pump = Pump(self._make())
            if self._left:
                came = sum(1 for _ in itertools.islice(pump.iterator, self._left))
                if came < self._left:
                    raise shorter()
                self._left = 0
        return pump

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
        if self._once is not None:
            raise no_position(
                f"{self._once}: pass a sequence, a generator function, or an iterator with state_dict and "
                "load_state_dict"
            )
        return [self._count]

    def seek(self, position: Any) -> None:
        (count,) = position
        if self._once is not None and (count != self._count or self._pump is not None):
            self.position()
        self.close()
        self._pump, self._count, self._left = None, count, count

    def close(self) -> None:
        close = None if self._pump is None else getattr(self._pump.iterator, "close", None)
        if self._once is None and close is not None:
            close()
