"""Tables as streams: elements are numbers until somebody wants the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._next import Meter
from pipeline.flow.block import Block, Columns, Examples, JoinedValues, Numbers, Values, gathered
from pipeline.flow.ids import Ids, joined
from pipeline.flow.stream import whole
from pipeline.nest import map_values


class TableRows:
    """Rows of a table, by their numbers: not made yet."""

    __slots__ = ("meter", "numbers", "table")

    def __init__(self, table: Any, numbers: NDArray[np.int64], meter: Meter | None = None) -> None:
        self.table, self.numbers, self.meter = table, numbers, meter

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: slice) -> TableRows:
        return TableRows(self.table, np.ascontiguousarray(self.numbers[which]), self.meter)

    def made(self) -> Columns | Examples:
        if self.meter is not None:
            return self.meter.make(len(self.numbers), made_of, self.table, self.numbers, len(self.numbers))
        return made_of(self.table, self.numbers, len(self.numbers))

    def name(self, i: int) -> str | None:
        named: Callable[[int], str] | None = getattr(self.table, "named", None)
        return None if named is None else named(int(self.numbers[i]))


def comes_as_columns(table: Any) -> bool:
    """Whether rows of a table, or of a piece, are columns."""
    return not getattr(table, "one_by_one", False)


def made_of(table: Any, which: Any, count: int) -> Columns | Examples:
    """Return the rows of a table, or of a piece: as columns; as examples where their shapes may differ."""
    take = table.take if hasattr(table, "take") else table.block
    if comes_as_columns(table):
        return Columns(take(which), count)
    loose = getattr(table, "loose", None)
    if loose is None and hasattr(table, "take"):
        return Examples([_examples(take(which[i : i + 1]), 1).items[0] for i in range(count)])
    return _examples((loose or take)(which), count)


def _examples(made: Any, count: int) -> Examples:
    if isinstance(made, Examples):
        return made
    return Examples(list(Columns(map_values(gathered, made), count).examples()))


def join_later(blocks: Sequence[Block]) -> Block:
    """As `join`, but nothing is made: rows of one table stay its rows, unless it has groups, as a table takes rows of
    one group at a time."""
    if len(blocks) == 1:
        return blocks[0]
    parts = [each.values for each in blocks]
    first = parts[0]
    values: Values = JoinedValues(parts)
    if isinstance(first, TableRows) and getattr(first.table, "sizes", None) is None:
        rows = [each.numbers for each in parts if isinstance(each, TableRows) and each.table is first.table]
        if len(rows) == len(parts):
            values = TableRows(first.table, np.concatenate(rows), first.meter)
    numbers: Any = joined([each.numbers for each in blocks])
    return Block(values, joined([each.ids for each in blocks]), numbers)


class Index(Protocol):
    """Elements that can be had by their numbers, from 0 up to the length."""

    def __len__(self) -> int: ...
    def block(self, numbers: Numbers) -> Block:
        """Return the elements of these numbers, not made yet."""


class Indexed:
    """The elements of an index, in order, or in another one.

    Args:
        index: The elements.
        length: How many elements the stream has; None for no end.
        order: Returns which elements of the index are those of a range; None: the same numbers.
    """

    chooses = True

    def __init__(
        self,
        index: Index,
        length: int | None,
        order: Callable[[int, int], NDArray[np.int64]] | None = None,
    ) -> None:
        self._index, self._length, self._order = index, length, order
        self._next = 0

    def take(self, n: int) -> Block | None:
        first = self._next
        if self._length is not None:
            n = min(n, self._length - first)
        if n < 1:
            return None
        self._next = first + n
        return self._index.block(range(first, first + n) if self._order is None else self._order(first, n))

    def skip(self, n: int) -> int:
        if self._length is not None:
            n = min(n, self._length - self._next)
        self._next += n
        return n

    def position(self) -> int:
        return self._next

    def seek(self, position: Any) -> None:
        self._next = whole(position, self._length)

    def close(self) -> None:
        pass


def ids_as_numbers(numbers: Numbers) -> Ids:
    """Return the ids of elements that are told apart by their numbers."""
    return numbers
