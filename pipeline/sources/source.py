"""Source: examples that can be read again and again; TableSource: those that are rows with numbers."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.datasets.dataset import Dataset
from pipeline.dtypes import integer
from pipeline.sources.extras import Once
from pipeline.sources.nodes import OfTable, Table
from pipeline.sources.order import Epochs, Order


class Source(Dataset[Any]):
    """A source of examples: a dataset that reads them from arrays, tables or files.

    Thread safety: you may call every method from every thread.
    """

    name: str
    order: Order

    @property
    def total(self) -> int | None:
        """The number of examples of all epochs; None if there is no end, or nobody knows."""
        return None


class TableSource(Source):
    """The rows of a table. A sequence too: `source[i]` is example number i of all epochs, `len(source)` their number.

    Args:
        table: The rows.
        epochs: Number and order of epochs.

    Raises:
        ValueError, TypeError: As Order.
    """

    def __init__(self, table: Table, epochs: Epochs) -> None:
        self.name = self.__qualname__ = table.kind
        self.table = table
        self.order = Order(len(table), table.sizes, epochs, table.unit)
        self.facts = Once(table.facts)  # it takes time if there are many rows, or files
        super().__init__(OfTable(table, self.facts, self.order))

    def __len__(self) -> int:
        """How many examples all epochs have. TypeError if they do not end, or are more than `len` can return."""
        if self.total is None:
            raise TypeError(f"{self.name}: with num_epochs=None there is no number of examples")
        return as_length(self.total, f"{self.name}: the number of examples")

    def __getitem__(self, index: int) -> Any:
        """Return example number `index`. IndexError if there is none, TypeError if it is not an integer."""
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
        """The number of examples of all epochs; None if there is no end."""
        return None if self.order.num_epochs is None else self.order.num_epochs * self.order.length


def as_length(number: int, what: str) -> int:
    """Return a number that `len` is to return; TypeError for one that it cannot, as for things without a length."""
    if number > sys.maxsize:
        raise TypeError(f"{what} is {number:,}, which is more than len() can return")
    return number
