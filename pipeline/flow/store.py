"""Store: elements in slots, put in and taken out in any order, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._slots import Slots
from pipeline.dtypes import object_vector
from pipeline.flow.block import Block, Columns, Examples, copied, copied_array, flat, gathered, packed
from pipeline.flow.ids import PartHashes
from pipeline.flow.table import TableRows
from pipeline.nest import map_values
from pipeline.queues.rows import Rows

# Slots that are made before anybody knows that so many are needed.
_AT_FIRST = 1 << 16


class Store:
    """Elements in slots.

    Rows of one dtype and shape lie in columns, from which one call takes many; elements that differ are objects.

    Args:
        room: For how many there shall be room. Of many only some at first: the input may be shorter.
        lent: Whether arrays of elements may change once they are in.
    """

    def __init__(self, room: int, lent: bool = False) -> None:
        self._lent = lent
        self._slots = Slots(max(16, min(room, _AT_FIRST) + 256))
        self._structure: Any = None
        self._like: Any = None  # a block without rows that has it; None if elements are objects
        self._empty = True

    def put(self, block: Block) -> NDArray[np.int64]:
        """Put elements in; return their slots."""
        made = block.made()
        if self._empty:
            self._empty = False
            self._choose(made)
        if self._like is not None and isinstance(made, Columns):
            structure, columns = flat(made.block)
            slots = self._slots.put(block.ids, map(gathered, columns)) if structure == self._structure else None
            if slots is not None:
                return slots
        if self._like is not None:
            self._as_objects()
        examples = list((copied(made) if self._lent else made).examples())
        slots = self._slots.put(block.ids, [object_vector(examples)])
        assert slots is not None
        return slots

    def take(self, slots: NDArray[np.int64]) -> tuple[Columns | Examples, PartHashes]:
        """Take elements out; return them and their ids."""
        columns, hashes, counts = self._slots.take(slots)
        if self._like is None:
            return Examples(columns[0].tolist()), PartHashes(hashes, counts)
        return Columns(packed(self._like, columns), len(slots)), PartHashes(hashes, counts)

    def _choose(self, made: Columns | Examples) -> None:
        """Decide, with the first elements, how they are kept."""
        room = self._slots.room
        if isinstance(made, Columns):
            self._structure, given = flat(made.block)
            if all(isinstance(each, (np.ndarray, Rows)) for each in given):
                columns = [np.empty((room, *each.shape[1:]), each.dtype) for each in given]
                self._slots.hold(columns)
                self._like = packed(made.block, [column[:0].copy() for column in columns])
                return
        self._slots.hold([np.empty(room, object)])

    def _as_objects(self) -> None:
        """Keep elements as objects from now on."""
        columns = packed(self._like, self._slots.held())
        examples = Columns(columns, self._slots.room).examples()
        self._slots.hold([object_vector([map_values(copied_array, each) for each in examples])])
        self._like = None


class RowStore:
    """As Store, for rows of one table: their slots are their numbers, and nothing is kept here."""

    def put(self, block: Block) -> NDArray[np.int64]:
        rows = block.values
        assert isinstance(rows, TableRows)
        self._table, self._meter = rows.table, rows.meter
        return rows.numbers

    def take(self, slots: NDArray[np.int64]) -> tuple[TableRows, NDArray[np.int64]]:
        return TableRows(self._table, slots, self._meter), slots
