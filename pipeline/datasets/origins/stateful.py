"""OfStateful: the items of an iterator that says where it is, by `state_dict`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.origins.reader import OneReader
from pipeline.errors import FailedPreconditionError
from pipeline.flow.block import Block
from pipeline.flow.pump import Pump
from pipeline.flow.run import Run
from pipeline.flow.stream import Stream, dropped, nowhere, whole


class OfStateful(Node):
    """The items of an iterator, or iterable, that says where it is: `state_dict` and `load_state_dict`."""

    kind = "stateful"
    keeps_place = True
    stage = "source"
    live = True
    exclusive = True

    def __init__(self, given: Any, name: str) -> None:
        self._given, self._name = given, name
        self._reader = OneReader()
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"{self._name} is an iterator" if hasattr(type(self._given), "__next__") else None

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
        stream = _Stateful(self._given, self._reader, shared)
        if self.once is not None:
            self._reader.begin(stream, shared, self._name)
        return shared.gauged(self, stream)


class _Stateful:
    def __init__(self, given: Any, reader: OneReader, run: Run) -> None:
        self._given, self._reader, self._run = given, reader, run
        self._iterator: Iterator[Any] | None = None
        self._count = 0

    def take(self, n: int) -> Block | None:
        if self._iterator is None:
            self._iterator = iter(self._given)
        values = Pump(self._iterator, self._run).take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        whose: Any = self._iterator if hasattr(self._iterator, "state_dict") else self._given
        try:
            return [self._count, copy.deepcopy(whose.state_dict())]
        except FailedPreconditionError as error:
            return nowhere(error.message)  # anew: the frames of that one would keep the iterator alive that keeps it

    def seek(self, position: Any) -> None:
        count, state = position
        self._count = whole(count)
        if hasattr(self._given, "load_state_dict"):
            self._given.load_state_dict(copy.deepcopy(state))
            self._iterator = None
        else:
            iterator: Any = iter(self._given)
            iterator.load_state_dict(copy.deepcopy(state))
            self._iterator = iterator

    def close(self) -> None:
        self._reader.end()
