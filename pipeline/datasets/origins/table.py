"""OfTable: the rows of a table, such as arrays and Parquet files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._next import Meter
from pipeline.datasets.node import ENDLESS, Opening
from pipeline.datasets.origins.source import OfSource
from pipeline.flow.block import Block, Numbers
from pipeline.flow.stream import Stream, whole
from pipeline.flow.table import Index, TableRows
from pipeline.producers.numbered import Numbered


class OfTable(OfSource):
    """The rows of a table.

    Args:
        table: The rows.
        facts, order: As for OfSource.
    """

    def __init__(self, table: Any, facts: Callable[[], dict[str, Any]], order: Any) -> None:
        super().__init__(table.kind, facts, order)
        self.table = table

    @property
    def indexed(self) -> bool:
        epochs = self.order.num_epochs
        return self.table.sizes is None and epochs is not None and epochs * self.order.length <= sys.maxsize

    def about(self) -> str:
        return f"{len(self.table):,} {self.table.unit}"

    def length(self) -> int | None:
        return ENDLESS if self.order.num_epochs is None else int(self.order.num_epochs * self.order.length)

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.opened_table(self.table)
        length = self.length()
        total = None if length == ENDLESS else length
        rows = _InOrder(self.table, self.numbered(shared), epoch * (total or 0), total, shared.meter(self))
        return shared.gauged(self, rows)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        shared.opened_table(self.table)
        length = self.length() if self.indexed else None
        if length is None:
            return None
        return _Rows(self.table, self.numbered(shared), epoch * length, length, shared.meter(self))


class _InOrder:
    """The rows of a table one after the other: their numbers, until somebody wants the rows."""

    chooses = True

    def __init__(self, table: Any, numbered: Numbered, begin: int, total: int | None, meter: Meter | None) -> None:
        self._table, self._numbered, self._begin, self._total = table, numbered, begin, total
        self._meter = meter
        self._next = 0

    def take(self, n: int) -> Block | None:
        n = min(n, self._table.most)
        if self._total is not None:
            n = min(n, self._total - self._next)
        if n < 1:
            return None
        rows = self._numbered.numbers(self._begin + self._next, n)
        if not len(rows):
            return None
        first, self._next = self._next, self._next + len(rows)
        return Block(TableRows(self._table, rows, self._meter), rows, range(first, self._next))

    def skip(self, n: int) -> int:
        if self._total is not None:
            n = min(n, self._total - self._next)
        self._next += n
        return n

    def position(self) -> Any:
        return self._next

    def seek(self, position: Any) -> None:
        self._next = whole(position, self._total)

    def close(self) -> None:
        pass


class _Rows:
    """The rows of a table by their place in its order."""

    def __init__(self, table: Any, numbered: Numbered, begin: int, length: int, meter: Meter | None) -> None:
        self._table, self._numbered, self._begin, self._length = table, numbered, begin, length
        self._meter = meter
        self._orders: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._length

    def block(self, numbers: Numbers) -> Block:
        if isinstance(numbers, range) and numbers.step == 1:
            rows = self._numbered.numbers(self._begin + numbers.start, len(numbers))
        else:
            wanted = np.arange(numbers.start, numbers.stop, numbers.step) if isinstance(numbers, range) else numbers
            rows = self._scattered(self._begin + wanted)
        return Block(TableRows(self._table, rows, self._meter), rows, numbers)

    def _scattered(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        numbered = self._numbered
        epochs, places = np.divmod(wanted, numbered.length)
        index, count = numbered.shard
        if numbered.shuffle is None:
            return index + places * count
        rows = np.empty(len(wanted), np.int64)
        for epoch in np.unique(epochs).tolist():
            if epoch not in self._orders:
                if len(self._orders) > 1:
                    self._orders.pop(next(iter(self._orders)))
                self._orders[epoch] = numbered.order(epoch)
            mine = epochs == epoch
            rows[mine] = self._orders[epoch][places[mine]]
        return rows
