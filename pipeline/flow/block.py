"""Block: some elements of a stream, one after the other: what they are, their ids, and their numbers in the pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import concatenate
from pipeline.dtypes import object_vector
from pipeline.flow.ids import Ids, joined, select
from pipeline.nest import Nest, TupleParts, has_nested, map_values, parts_of
from pipeline.queues.rows import Rows

Numbers: TypeAlias = "range | NDArray[np.int64]"


class Values(Protocol):
    """The elements of a block. Making them may be work, which is done when `made` is called, by any thread."""

    def __len__(self) -> int: ...
    def __getitem__(self, which: slice) -> Values: ...
    def made(self) -> Columns | Examples: ...
    def name(self, i: int) -> str | None:
        """Return what element i is called, such as its file and line; None if it has no name."""


class Columns:
    """Elements as columns: in the structure of an example, arrays whose first dimension counts the elements."""

    __slots__ = ("block", "size")

    def __init__(self, block: Any, size: int) -> None:
        self.block, self.size = block, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, which: slice) -> Columns:
        return Columns(map_values(lambda column: column[which], self.block), len(range(self.size)[which]))

    def picked(self, places: NDArray[np.int64]) -> Columns:
        """Return the elements at these places."""

        def pick(column: Any) -> Any:
            if isinstance(column, np.ndarray):
                return column.take(places, axis=0)
            return column[places] if isinstance(column, Rows) else [column[i] for i in places]

        return Columns(map_values(pick, self.block), len(places))

    def made(self) -> Columns:
        return self

    def name(self, i: int) -> str | None:
        return None

    def examples(self) -> Iterator[Any]:
        """Yield the elements one by one."""
        block = self.block
        if isinstance(block, (np.ndarray, Rows)) or parts_of(block) is None:
            return iter(np.asarray(block) if isinstance(block, Rows) else block)
        if isinstance(block, dict) and not has_nested(block, True):
            keys = tuple(block)
            return (dict(zip(keys, row, strict=True)) for row in zip(*map(gathered, block.values()), strict=True))
        nest = Nest(block, True)
        columns = map(gathered, nest.flatten(block))
        return (nest.pack(row) for row in zip(*columns, strict=True))


class Examples:
    """Elements one by one, in a list: their shapes and structure may differ."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, which: slice) -> Examples:
        return Examples(self.items[which])

    def picked(self, places: NDArray[np.int64]) -> Examples:
        """Return the elements at these places."""
        return Examples([self.items[i] for i in places])

    def made(self) -> Examples:
        return self

    def name(self, i: int) -> str | None:
        return None

    def examples(self) -> Iterator[Any]:
        """Yield the elements one by one."""
        return iter(self.items)


class Made:
    """Elements that were made ahead of whoever asks for them, with the names that they had before.

    Args:
        values: What they are.
        names: What tells their names: element i of them is number `first + i` there.
    """

    __slots__ = ("_first", "_names", "_values")

    def __init__(self, values: Columns | Examples, names: Values, first: int = 0) -> None:
        self._values, self._names, self._first = values, names, first

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, which: slice) -> Made | Columns | Examples:
        begin, _, step = which.indices(len(self))
        values = self._values[which]
        return Made(values, self._names, self._first + begin) if step == 1 else values

    def made(self) -> Columns | Examples:
        return self._values

    def name(self, i: int) -> str | None:
        return self._names.name(self._first + i)


class JoinedValues:
    """Elements of several blocks, one after the other, not made yet."""

    __slots__ = ("_size", "parts")

    def __init__(self, parts: Sequence[Values]) -> None:
        self.parts, self._size = parts, sum(map(len, parts))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, which: slice) -> Values:
        begin, end, _ = which.indices(self._size)
        found = []
        for part in self.parts:
            size = len(part)
            if begin < size and end > 0:
                found.append(part[max(begin, 0) : end])
            begin, end = begin - size, end - size
        return found[0] if len(found) == 1 else JoinedValues(found)

    def made(self) -> Columns | Examples:
        return join_made([each.made() for each in self.parts]) if self.parts else Examples([])

    def name(self, i: int) -> str | None:
        for part in self.parts:
            if i < len(part):
                return part.name(i)
            i -= len(part)
        raise IndexError(i)


class Block:
    """Some elements.

    Attributes:
        values: What they are.
        ids: What tells them from others in the fingerprint.
        numbers: Which elements of the pass they are; what seeds `example_rng`.
    """

    __slots__ = ("ids", "numbers", "values")

    def __init__(self, values: Values, ids: Ids, numbers: Numbers) -> None:
        self.values, self.ids, self.numbers = values, ids, numbers

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: slice) -> Block:
        return Block(self.values[which], select(self.ids, which), self.numbers[which])

    def made(self) -> Columns | Examples:
        """Return the elements themselves."""
        return self.values.made()


def join(blocks: Sequence[Block]) -> Block:
    """Return one block of the elements of several."""
    if len(blocks) == 1:
        return blocks[0]
    values = join_made([each.made() for each in blocks])
    numbers = joined([each.numbers for each in blocks])
    assert isinstance(numbers, (range, np.ndarray))
    return Block(values, joined([each.ids for each in blocks]), numbers)


def join_made(many: Sequence[Columns | Examples]) -> Columns | Examples:
    """Return the elements of several blocks as one: as columns if all are columns that fit together."""
    if len(many) == 1:
        return many[0]
    if all(isinstance(each, Columns) for each in many):
        first: Any = many[0]
        columns = [flat(each.block) for each in many]  # type: ignore[union-attr]
        if all(_alike(columns[0], each) for each in columns[1:]):
            made = [_concatenated(list(parts)) for parts in zip(*(values for _, values in columns), strict=True)]
            return Columns(packed(first.block, made), sum(map(len, many)))
    return Examples([example for each in many for example in each.examples()])


def stays(values: Columns | Examples) -> Columns | Examples:
    """Return elements whose arrays are nobody else's: rows that are not gathered are, and views are copied."""
    if isinstance(values, Examples):
        return values
    return Columns(map_values(own, values.block), values.size)


def copied(values: Columns | Examples) -> Columns | Examples:
    """Return elements such that arrays of columns are copies."""
    if isinstance(values, Examples):
        return values
    return Columns(map_values(copied_array, values.block), values.size)


def copied_array(value: Any) -> Any:
    """Return a copy of an array, and anything else as it is."""
    return value.copy() if isinstance(value, np.ndarray) else value


def own(column: Any) -> Any:
    """Return a column that nobody else has."""
    if isinstance(column, Rows):
        return np.asarray(column)
    if isinstance(column, np.ndarray):
        return column if column.base is None and column.flags.writeable else column.copy()
    return object_vector(column) if isinstance(column, list) else column


def gathered(column: Any) -> Any:
    """Return a column whose rows lie one after the other, if it is one of rows that were only chosen."""
    return np.asarray(column) if isinstance(column, Rows) else column


def flat(block: Any) -> tuple[Any, list[Any]]:
    """Return the structure of a block, which can be compared, and its columns."""
    if type(block) is np.ndarray:
        return None, [block]
    if isinstance(block, dict) and not has_nested(block, True):
        return tuple(block), list(block.values())
    if parts_of(block) is None:
        return None, [block]
    nest = Nest(block, True)
    return nest, nest.flatten(block)


def packed(like: Any, values: list[Any]) -> Any:
    """Return columns in the structure of another block."""
    if type(like) is np.ndarray:
        return values[0]
    if isinstance(like, dict) and not has_nested(like, True):
        return dict(zip(like, values, strict=True))
    return values[0] if parts_of(like) is None else Nest(like, True).pack(values, True)


def _alike(one: tuple[Any, list[Any]], other: tuple[Any, list[Any]]) -> bool:
    """Whether two blocks have the same structure, and their columns the same dtypes and shapes."""
    if one[0] != other[0]:
        return False
    pairs = zip(one[1], other[1], strict=True)
    return all(
        (isinstance(a, list) and isinstance(b, list))
        or (getattr(a, "dtype", 0) == getattr(b, "dtype", 1) and a.shape[1:] == b.shape[1:])
        for a, b in pairs
    )


def _concatenated(columns: list[Any]) -> Any:
    if isinstance(columns[0], list):
        return [each for column in columns for each in column]
    arrays = [gathered(each) for each in columns]
    return np.concatenate(arrays) if arrays[0].dtype.hasobject else concatenate(arrays)


def tuple_of(blocks: Sequence[Any]) -> Any:
    """Return the columns of a block of tuples."""
    return TupleParts(blocks)
