"""Grouped: neighbouring elements of an index, such as batches and windows, by number."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline._next import Meter
from pipeline.flow.block import Block, Examples, Numbers
from pipeline.flow.collate import Collate
from pipeline.flow.ids import each_as_one
from pipeline.flow.table import Index


class Grouped:
    """Groups of elements, each made one when it is asked for.

    Args:
        index: The elements.
        size: How many to a group.
        stride: How many elements after the last one a group begins.
        count: How many groups there are; those at the end may be smaller.
        how: Makes one of a group.
        meter: Counts the time that this takes; None if nobody wants to know.
    """

    def __init__(self, index: Index, size: int, stride: int, count: int, how: Collate, meter: Meter | None) -> None:
        self._index, self._size, self._stride, self._count = index, size, stride, count
        self._how, self._meter = how, meter

    def __len__(self) -> int:
        return self._count

    def block(self, numbers: Numbers) -> Block:
        groups = [self._group(int(number)) for number in numbers]
        if not groups:
            return Block(Examples([]), range(0), numbers)
        ids = each_as_one([group.ids for group in groups])
        return Block(_Groups(groups, self._how, self._meter), ids, numbers)

    def _group(self, number: int) -> Block:
        first = number * self._stride
        return self._index.block(range(first, min(first + self._size, len(self._index))))


class _Groups:
    """What is made of some groups, when it is asked for."""

    def __init__(self, groups: Sequence[Block], how: Collate, meter: Meter | None) -> None:
        self._groups, self._how, self._meter = groups, how, meter

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, which: slice) -> _Groups:
        return _Groups(self._groups[which], self._how, self._meter)

    def made(self) -> Examples:
        return self._made() if self._meter is None else self._meter.make(len(self), self._made)

    def _made(self) -> Examples:
        return Examples([self._how.batch(group.made(), [group]) for group in self._groups])

    def name(self, i: int) -> str | None:
        return None
