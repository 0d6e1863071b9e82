"""OfCallable: the results of a function, one a call, until it says that its input has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.datasets.node import Node, Opening
from pipeline.errors import OutOfRangeError
from pipeline.explain.ends import raise_why
from pipeline.flow.block import Block
from pipeline.flow.pump import Pump
from pipeline.flow.recorder import Recorder
from pipeline.flow.run import Run, name_of
from pipeline.flow.stream import Stream, dropped

_NEVER = object()  # no function returns it


class OfCallable(Node):
    """The results of a function, one a call, until it raises OutOfRangeError or StopIteration."""

    kind = "callable"
    stage = "source"
    live = True

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.name = function, name_of(function)
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"{self.name} is called until its input ends"

    def options(self) -> dict[str, Any]:
        return {"function": self.name}

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({self.name})"

    def label(self) -> str:
        return self.name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Called(Recorder(self.function, self.name, shared.things), shared))


class _Called:
    def __init__(self, recorder: Recorder, run: Run) -> None:
        self._recorder, self._run = recorder, run
        self._pump = self._begin()
        self._ids: list[int | None] = []  # of the results that no `take` has returned yet
        self._count = 0

    def _begin(self) -> Pump:
        return Pump(iter(self._call, _NEVER), self._run)

    def _call(self) -> Any:
        try:
            example = self._recorder.call()
        except OutOfRangeError as error:
            raise_why(error)
            raise
        self._ids.append(self._recorder.element())
        return example

    def take(self, n: int) -> Block | None:
        values = self._pump.take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        ids, self._ids = self._ids, []
        return Block(values, numbers if None in ids else np.array(ids, np.int64), numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count, self._pump.ended, self._recorder.position()]

    def seek(self, position: Any) -> None:
        self._count, ended, inner = position
        self._pump = self._begin()
        self._pump.ended = ended
        self._recorder.seek(inner)

    def close(self) -> None:
        self._recorder.close()
