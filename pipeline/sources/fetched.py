"""Fetch: the items of a sequence, made by workers: `dataset(x, workers=)`."""

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

# Seeds what workers draw in `__getitem__`, apart from functions with seeds that users choose. It is fixed, so that a
# state is the same with workers and without.
_SEED = 0x6A09E667


class Fetch(Map):
    """Runs instead of a source whose items workers make: fetches the items whose numbers its input gives.

    Args:
        numbers: Gives the numbers.
        item: Returns an item by its number.
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
    """The items, with the states that they have without workers: that of their numbers, and how many items further."""

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
    """Returns an item of a sequence by its number. It is pickled together with the sequence.

    Args:
        items: The sequence.
    """

    def __init__(self, items: Any) -> None:
        self._items = items
        self.__qualname__ = type(items).__name__  # what errors and reports call it

    def __call__(self, number: int) -> Any:
        return self._items[number]

    def __repr__(self) -> str:
        return f"<{self.__qualname__}>"


class RowOf(ItemOf):
    """Returns a row of a table by its number, as the table makes it.

    Args:
        table: The table.
        items: What the table reads.
    """

    def __init__(self, table: Table, items: Any) -> None:
        super().__init__(items)
        self._table = table

    def __call__(self, number: int) -> Any:
        return self._table.rows(np.array([number], np.int64)).first()


class ItemNumbers(Node):
    """The numbers of a sequence's items, in order.

    Args:
        length: How many items there are.
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
    """The numbers of a table's rows, in the table's place: workers make the rows.

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
    """The numbers of a table's rows, in the order of a source.

    Args:
        source: The source, which is the one that has a share and seeds.
    """

    def __init__(self, source: OfTable) -> None:
        super().__init__(RowNumbers(source.table), source.table.facts, source.order)
        self._seed = source._seed

    def is_share(self) -> bool:
        return False
