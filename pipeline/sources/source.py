"""Source: repeatable examples; TableSource: examples stored as numbered rows."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.datasets.dataset import Dataset
from pipeline.dtypes import integer
from pipeline.sources.extras import Once
from pipeline.sources.nodes import OfTable, Table
from pipeline.sources.order import Epochs, Order


class Source(Dataset[Any]):
    """A source: a dataset with examples from arrays, tables or files.

    Thread safety: every method may be called from any thread.
    """

    name: str
    order: Order

    @property
    def total(self) -> int | None:
        """The number of examples over all epochs; None if it is infinite or unknown."""
        return None


class TableSource(Source):
    """A table's rows. Also a sequence: `source[i]` is example i over all epochs, and `len(source)` their number.

    Args:
        table: The rows.
        epochs: Number and order of epochs.

    Raises:
        ValueError, TypeError: As for Order.
    """

    def __init__(self, table: Table, epochs: Epochs) -> None:
        self.name = self.__qualname__ = table.kind
        self.table = table
        self.order = Order(len(table), table.sizes, epochs, table.unit)
        self.facts = Once(table.facts)  # this takes time with many rows or files
        super().__init__(OfTable(table, self.facts, self.order))

    def __len__(self) -> int:
        """Count the examples in all epochs. TypeError if they do not end, or exceed `len`'s range."""
        if self.total is None:
            raise TypeError(f"{self.name}: with num_epochs=None there is no number of examples")
        return as_length(self.total, f"{self.name}: the number of examples")

    def __getitem__(self, index: int) -> Any:
        """Return example `index`. IndexError if there is none, TypeError if it is not an integer."""
        number, total = integer(index, f"{self.name}: an index"), self.total
        if number < 0 and total is not None:
            number += total
        if number < 0 or (total is not None and number >= total):
            raise IndexError(f"{self.name}: there is no example {index}")
        rows = self.order.numbered().numbers(number, 1)
        if self.table.by_epoch:
            rows = rows + number // self.order.length * self.order.rows
        return self.table.rows(rows).first()

    def __repr__(self) -> str:
        return f"<{self.name}: {self.order.length:,} examples, num_epochs={self.order.num_epochs}>"

    @property
    def total(self) -> int | None:
        """The number of examples over all epochs; None if it is infinite."""
        return None if self.order.num_epochs is None else self.order.num_epochs * self.order.length


def as_length(number: int, what: str) -> int:
    """Return a value for `len`; TypeError if `len` cannot return it, as for objects without a length."""
    if number > sys.maxsize:
        raise TypeError(f"{what} is {number:,}, which is more than len() can return")
    return number
