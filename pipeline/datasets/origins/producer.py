"""OfProducer: the elements of a producer, by number: no thread has to run for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.errors import OutOfRangeError
from pipeline.explain.ends import raise_why
from pipeline.flow.block import Block, Columns
from pipeline.flow.recorder import Recorder, Unrecorded, compare
from pipeline.flow.stream import Stream, dropped
from pipeline.nest import Parts, length


class OfProducer(Node):
    """The elements of a producer, such as that of `slice_input_producer`.

    Args:
        producer: Gives them in blocks.
        recorded: Whether to know where it stands, so that nobody else may take from it; see `OfCallable`.
    """

    kind = "producer"
    stage = "source"

    def __init__(self, producer: Any, recorded: bool = True) -> None:
        self.producer, self.recorded = producer, recorded
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"'{self.producer.name}' is a producer, whose elements are taken"

    @property
    def live(self) -> bool:
        return not self.producer.at_hand

    def options(self) -> dict[str, Any]:
        return {"name": self.producer.name}

    def check_things(self, saved: Sequence[Mapping[str, Any]]) -> None:
        same = [each for each in saved if each["name"] == self.producer.name]
        if self.recorded and len(same) == 1:  # of two with one name, the first read tells which is which
            compare(same[0], self.producer._facts(), {"seeds"} if self.producer._drawn() else ())

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({self.producer.name})"

    def label(self) -> str:
        return str(self.producer.name)

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Produced(self.producer, self.recorded, shared))


class _Produced:
    def __init__(self, producer: Any, recorded: bool, shared: Opening) -> None:
        self._producer, self._n, self._count = producer, 1, 0
        self._caller: Recorder | Unrecorded = Unrecorded(self._rows, producer.name)
        if recorded:
            self._caller = Recorder(self._rows, producer.name, shared.things)
        self._recorded = recorded

    def _rows(self) -> Any:
        """Return the next rows. Those of arrays are not gathered yet."""
        give = getattr(self._producer, "rows", self._producer.block)
        return give(self._n)

    def take(self, n: int) -> Block | None:
        self._n = n
        try:
            rows = self._caller.call()
        except OutOfRangeError as error:
            raise_why(error)
            return None
        columns = Columns(Parts(rows) if isinstance(rows, list) else rows, length(rows))
        first, self._count = self._count, self._count + len(columns)
        numbers = range(first, self._count)
        return Block(columns, self._producer.last_ids if self._recorded else numbers, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count, self._caller.position()[1:]]

    def seek(self, position: Any) -> None:
        self._count, place = position
        self._caller.seek([0, *place])

    def close(self) -> None:
        self._caller.close()
