"""Fetch: a sequence's items, made by workers: `dataset(x, workers=)`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.sources.nodes import OfTable, Table
from pipeline.stages.block import Block, Examples, Numbers
from pipeline.stages.functions import CallSettings, Map
from pipeline.stages.index import Index
from pipeline.stages.node import Node, further
from pipeline.stages.run import Run
from pipeline.stages.stream import Stage, Stream

# Seed for random draws in `__getitem__` by workers, separate from functions with seeds chosen by users. It is fixed,
# so states are equal with and without workers.
_SEED = 0x6A09E667


class Fetch(Map):
    """Runs instead of a source with items made by workers: fetches items by the indices in its input.

    Args:
        numbers: Yields the indices.
        item: Returns an item by index.
        workers: As for `map`.
        written: The source in the user's program.
    """

    kind = "dataset"
    alone = True

    def __init__(self, numbers: Node, item: ItemOf, workers: Any, written: Node) -> None:
        super().__init__(numbers, item, CallSettings(workers, seed=_SEED))
        self._written = written

    def state_at(self, place: int) -> Any:
        return place

    def stream(self, run: Run, state: Any = None) -> Stream:
        return _Fetching(super().stream(run, None if state is None else [[state, 1], 0]))

    def is_share(self) -> bool:
        return self.written.is_share()

    def shares_equally(self) -> bool:
        return self.written.shares_equally()


class _Fetching(Stage):
    """The items, with their states without workers: the state of their indices, and the items since."""

    def take(self, n: int) -> Block | None:
        return self.source.take(n)

    def drop(self, n: int) -> int:
        return self.source.drop(n)

    def state(self) -> Any:
        (before, _), given = self.source.state()
        return further(before, given)

    def begin(self) -> None:
        self.source.begin()

    def wait(self, timeout: float) -> bool:
        return self.source.wait(timeout)


class ItemOf:
    """Returns a sequence's item by index. It is pickled together with the sequence.

    Args:
        items: The sequence.
    """

    def __init__(self, items: Any) -> None:
        self._items = items
        self.__qualname__ = type(items).__name__  # its name in errors and reports

    def __call__(self, number: int) -> Any:
        return self._items[number]

    def __repr__(self) -> str:
        return f"<{self.__qualname__}>"


class RowOf(ItemOf):
    """Returns a table's row by index, as the table makes it.

    Args:
        table: The table.
        items: The sequence read by the table.
    """

    def __init__(self, table: Table, items: Any) -> None:
        super().__init__(items)
        self._table = table

    def __call__(self, number: int) -> Any:
        return self._table.rows(np.array([number], np.int64)).first()


class ItemNumbers(Node):
    """A sequence's indices, in order.

    Args:
        length: Number of items.
    """

    kind = "sequence"
    indexed = True

    def __init__(self, length: int) -> None:
        self._length = length

    def length(self) -> int:
        return self._length

    def index(self, run: Run) -> Index:
        return _Counted(self._length)


class _Counted(Index):
    of_sources = ahead = True

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        return Block(Examples(places.tolist()), places)


class RowNumbers(Table):
    """A table's row indices in place of the table: workers make the rows.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self.kind, self.unit, self.most, self._table = table.kind, table.unit, table.most, table

    def __len__(self) -> int:
        return len(self._table)

    def rows(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples(numbers.tolist())

    def named(self, number: int) -> str:
        return f"item {number}"

    def facts(self) -> dict[str, Any]:
        return self._table.facts()


class OfRowNumbers(OfTable):
    """A table's row indices, in a source's order.

    Args:
        source: The source, with its shard and seeds.
    """

    def __init__(self, source: OfTable) -> None:
        super().__init__(RowNumbers(source.table), source.table.facts, source.order)
        self._seed = source._seed

    def is_share(self) -> bool:
        return False
