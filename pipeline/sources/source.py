"""Source: examples that can be read again and again; TableSource: those that are rows with numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.dataset import Dataset
from pipeline.datasets.origins.table import OfTable
from pipeline.dtypes import integer
from pipeline.flow.table import made_of
from pipeline.sources.extras import Once
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


class Table(Protocol):
    """Rows that can be asked for by number. Several threads may ask at once.

    Attributes:
        kind: What the function that makes such sources is called.
        sizes: How many rows each group has, where the rows of a group can only be had together; else None.
        unit: What rows or groups are called, in the plural.
        most: How many rows to ask for at once.
    """

    kind: str
    sizes: Sequence[int] | None
    unit: str
    most: int

    def __len__(self) -> int:
        """How many rows there are."""

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows of these numbers as a block; with `sizes`, they are all of one group.

        A block is columns; or Examples, if `one_by_one` says that rows may differ.
        """

    def facts(self) -> dict[str, Any]:
        """What tells the rows from others; plain data. A method `files` may tell the files from changed ones.

        An attribute `one_by_one` may say that rows are made one by one, so that they may differ. If it costs less to
        make several at once, a method `loose` does as `take`, with objects for arrays of several shapes. `at_hand` says
        that any rows lie in memory, and only have to be gathered. A method `named` may return what the row of a number
        is called, such as its file; else it is "row" and the number.
        """


class TableSource(Source):
    """The rows of a table. A sequence too: `source[i]` is example number i of all epochs, `len(source)` their number.

    Args:
        table: The rows.
        epochs: How often and in which order.

    Raises:
        ValueError, TypeError: As Order.
    """

    order_kind = Order

    def __init__(self, table: Table, epochs: Epochs) -> None:
        self.name = self.__qualname__ = table.kind
        self.table = table
        self.order = self.order_kind(len(table), table.sizes, epochs, table.unit)
        self.facts = Once(table.facts)  # it takes time if there are many rows, or files
        self.files: Callable[[], dict[str, Any]] = Once(getattr(table, "files", dict))
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
        return next(made_of(self.table, self.order.numbered().numbers(number, 1), 1).examples())

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
