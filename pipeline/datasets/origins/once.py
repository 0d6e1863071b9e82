"""OfIterator: the items of an iterator, which can be read once, and by one loop at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.origins.reader import OneReader
from pipeline.flow.block import Block
from pipeline.flow.pump import Pump
from pipeline.flow.stream import Stream, dropped, nowhere


class OfIterator(Node):
    """The items of an iterator."""

    kind = "iterable"
    stage = "source"
    live = True
    exclusive = True

    def __init__(self, given: Iterator[Any], name: str) -> None:
        self._given, self._name = given, name
        self._reader = OneReader()
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"{self._name} is an iterator"

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
        stream = _Once(Pump(self._given, shared), self._name, self._reader)
        self._reader.begin(stream, shared, self._name)
        return shared.gauged(self, stream)


class _Once:
    def __init__(self, pump: Pump, name: str, reader: OneReader) -> None:
        self._pump, self._name, self._reader = pump, name, reader
        self._count = 0
        # Made once: of each batch somebody asks where it came from.
        self._nowhere = nowhere(
            f"{self._name} is an iterator: pass a sequence, a generator function, or an iterator with state_dict and "
            "load_state_dict"
        )

    def take(self, n: int) -> Block | None:
        values = self._pump.take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers, numbers)

    def lend(self) -> bool:
        self._pump.lend(self._pump.iterator)
        return True

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return self._nowhere

    def seek(self, position: Any) -> None:
        raise self._nowhere

    def close(self) -> None:
        self._reader.end()
