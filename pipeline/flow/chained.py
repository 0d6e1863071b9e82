"""Chain: the elements of several indices, one after the other, by number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.flow.block import Block, Columns, Examples, Numbers, join_made
from pipeline.flow.ids import PartHashes, as_array, as_parts, marked, select
from pipeline.flow.table import Index

# Passes whose indices are kept: one over a shuffled table is as large as that.
_KEPT = 64


class Chain:
    """The elements of several indices, one after the other, which have different ids.

    Args:
        parts: The indices.
    """

    def __init__(self, parts: Sequence[Index]) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(each) for each in parts])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def block(self, numbers: Numbers) -> Block:
        wanted = as_array(numbers)
        which = np.searchsorted(self._ends, wanted, "right")
        blocks: list[tuple[NDArray[np.int64], Block]] = []
        for part in np.unique(which):
            places = np.flatnonzero(which == part)
            begin = int(self._ends[part]) - len(self._parts[part])
            block = self._parts[part].block(wanted[places] - begin)
            blocks.append((places, Block(block.values, marked(block.ids, int(part)), block.numbers)))
        return _scattered(blocks, numbers)


class Passes:
    """The elements of many passes over a dataset, one after the other; a pass is opened when it is asked for.

    Args:
        opened: Returns the index of a pass, by its number.
        count: How many there are.
        length: How many elements each has.
    """

    def __init__(self, opened: Callable[[int], Index], count: int, length: int) -> None:
        self._opened = functools.lru_cache(_KEPT)(opened)
        self._count, self._length = count, length

    def __len__(self) -> int:
        return self._count * self._length

    def block(self, numbers: Numbers) -> Block:
        which, inside = np.divmod(as_array(numbers), self._length)
        blocks: list[tuple[NDArray[np.int64], Block]] = []
        for part in np.unique(which):
            places = np.flatnonzero(which == part)
            blocks.append((places, self._opened(int(part)).block(inside[places])))
        return _scattered(blocks, numbers)


def _scattered(blocks: Sequence[tuple[NDArray[np.int64], Block]], numbers: Numbers) -> Block:
    """Return one block of several, each with the places where its elements are in it."""
    if len(blocks) == 1:
        return Block(blocks[0][1].values, blocks[0][1].ids, numbers)
    return Block(_Scattered(blocks, len(numbers)), _scattered_ids(blocks, len(numbers)), numbers)


class _Scattered:
    """Elements of several blocks, each with the places where its elements are here."""

    def __init__(self, blocks: Sequence[tuple[NDArray[np.int64], Block]], count: int) -> None:
        self._blocks, self._count = blocks, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, which: slice) -> Columns | Examples:
        return self.made()[which]

    def made(self) -> Columns | Examples:
        order = np.argsort(np.concatenate([places for places, _ in self._blocks]), kind="stable")
        return join_made([block.made() for _, block in self._blocks]).picked(order)

    def name(self, i: int) -> str | None:
        for places, block in self._blocks:
            at = np.flatnonzero(places == i)
            if len(at):
                return block.values.name(int(at[0]))
        return None


def _scattered_ids(blocks: Sequence[tuple[NDArray[np.int64], Block]], count: int) -> PartHashes:
    order = np.argsort(np.concatenate([places for places, _ in blocks]), kind="stable")
    parts = [as_parts(block.ids) for _, block in blocks]
    merged = PartHashes(
        np.concatenate([each.hashes for each in parts]), np.concatenate([each.counts for each in parts])
    )
    found: PartHashes = select(merged, order)
    return found
