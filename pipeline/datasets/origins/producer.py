"""OfProducer: the elements of a producer, by number: no thread has to run for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import Node, Opening
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import OutOfRangeError
from pipeline.flow.block import Block, Columns, Values
from pipeline.flow.ids import Ids
from pipeline.flow.recorder import Recorder, Unrecorded, compare
from pipeline.flow.stream import Stream, dropped, whole
from pipeline.flow.table import TableRows
from pipeline.nest import ListParts, length
from pipeline.producers.slices import SliceSource


class OfProducer(Node):
    """The elements of a producer, such as that of `slice_input_producer`.

    Args:
        producer: Gives them in blocks.
        recorded: Whether to know where it stands, so that nobody else may take from it; see `OfCallable`.
    """

    kind = "producer"
    keeps_place = True
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
        if isinstance(self.producer, SliceSource):
            return shared.gauged(self, _Slices(self.producer, self.recorded, shared, self))
        return shared.gauged(self, _Produced(self.producer, self.producer.block, self.recorded, shared, self))


class _Asking:
    """A function that takes up to `n` elements.

    Args:
        ask: Called with `n`.
    """

    n = 1

    def __init__(self, ask: Callable[[int], Any]) -> None:
        self._ask = ask

    def __call__(self) -> Any:
        return self._ask(self.n)


class _Produced:
    """Blocks of a producer; `ask` takes one."""

    def __init__(self, producer: Any, ask: Callable[[int], Any], recorded: bool, shared: Opening, node: Node) -> None:
        self._producer, self._recorded, self._count = producer, recorded, 0
        self._asking = _Asking(ask)
        self._caller: Recorder | Unrecorded = Unrecorded(self._asking, producer.name)
        if recorded:
            self._caller = Recorder(self._asking, producer.name, shared.things, node)

    def take(self, n: int) -> Block | None:
        self._asking.n = n
        try:
            taken = self._caller.call()
        except OutOfRangeError as error:
            raise_why(error)
            return None
        values, ids = self._block(taken)
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers if ids is None else ids, numbers)

    def _block(self, taken: Any) -> tuple[Values, Ids | None]:
        """Return what was taken, and its ids; None if that are the numbers of the elements here."""
        columns = Columns(ListParts(taken) if isinstance(taken, list) else taken, length(taken))
        return columns, self._producer.last_ids if self._recorded else None

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        at = self._caller.position()
        return at if isinstance(at, Exception) else [self._count, at[1:]]

    def seek(self, position: Any) -> None:
        count, place = position
        self._count = whole(count)
        self._caller.seek([0, *place])

    def close(self) -> None:
        self._caller.close()


class _Slices(_Produced):
    """Rows of arrays: only their numbers are taken."""

    chooses = by_row = True

    def __init__(self, source: SliceSource, recorded: bool, shared: Opening, node: Node) -> None:
        super().__init__(source, source.row_numbers, recorded, shared, node)
        self._table, self._meter = _Table(source), shared.meter(node)

    def _block(self, taken: Any) -> tuple[Values, Ids | None]:
        numbers = np.ascontiguousarray(taken, np.int64)
        return TableRows(self._table, numbers, self._meter), numbers

    def skip(self, n: int) -> int:
        if not self._recorded or n < 2:
            return dropped(self, n)
        if self.take(1) is None:  # so that nobody else takes from it
            return 0
        skipped: int = self._producer.pass_over(n - 1)
        self._count += skipped
        return 1 + skipped

    def position(self) -> Any:
        at = super().position()
        return at if isinstance(at, Exception) else [at[0], at[1] or [self._producer._position()]]


class _Table:
    """The rows of arrays, as a table; see `TableRows`."""

    def __init__(self, source: SliceSource) -> None:
        self._source = source
        self._columns = source.columns()
        self.at_hand = source.in_memory

    def __len__(self) -> int:
        return len(self._columns[0])

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return ListParts(self._source.rows_of(numbers))

    def columns(self) -> tuple[tuple[NDArray[Any], ...], Any]:
        """Return the columns, and what makes a batch of theirs: a list."""
        return self._columns, list
