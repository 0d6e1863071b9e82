"""Store: elements in slots, put in and taken out in any order, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.flow.block import Block, Columns, Examples
from pipeline.flow.ids import PartHashes, as_parts
from pipeline.flow.table import TableRows
from pipeline.nest import map_values
from pipeline.queues.rows import Rows

# Slots that are made before anybody knows that so many are needed.
_AT_FIRST = 1 << 16


class Store:
    """Elements in slots.

    Rows of one dtype and shape lie in arrays, from which one call takes many; elements that differ are objects.

    Args:
        room: For how many there shall be room. Of many only some at first: the input may be shorter.
    """

    def __init__(self, room: int) -> None:
        self._room = max(16, min(room, _AT_FIRST) + 256)
        self._free = np.arange(self._room)  # slots that are free: the first `_spare` of them
        self._spare = self._room
        self._columns: Any = None  # in the structure of the block; None before the first
        self._objects: NDArray[Any] | None = None
        self._hashes = np.empty(self._room, np.uint64)
        self._counts = np.empty(self._room, np.int64)

    def put(self, block: Block) -> NDArray[np.int64]:
        """Put elements in; return their slots."""
        slots = self._slots(len(block))
        ids = as_parts(block.ids)
        self._hashes[slots], self._counts[slots] = ids.hashes, ids.counts
        made = block.made()
        if self._columns is None and self._objects is None:
            self._choose(made)
        if self._objects is None and not (isinstance(made, Columns) and self._write(made, slots)):
            self._as_objects()
        if self._objects is not None:
            self._objects[slots] = object_vector(list(made.examples()))
        return slots

    def take(self, slots: NDArray[np.int64]) -> tuple[Columns | Examples, PartHashes]:
        """Take elements out; return them and their ids."""
        ids = PartHashes(self._hashes[slots], self._counts[slots])
        if self._objects is not None:
            values: Columns | Examples = Examples(self._objects[slots].tolist())
            self._objects[slots] = None
        else:
            values = Columns(map_values(lambda column: column.take(slots, axis=0), self._columns), len(slots))
        if self._spare + len(slots) > self._room:
            raise AssertionError("slots were taken twice")
        self._free[self._spare : self._spare + len(slots)] = slots
        self._spare += len(slots)
        return values, ids

    def _slots(self, n: int) -> NDArray[np.int64]:
        if n > self._spare:
            self._grow(max(2 * self._room, self._room + n))
        self._spare -= n
        return self._free[self._spare : self._spare + n].copy()

    def _grow(self, room: int) -> None:
        more = room - self._room

        def longer(column: NDArray[Any]) -> NDArray[Any]:
            other = np.empty((room, *column.shape[1:]), column.dtype)
            other[: len(column)] = column
            return other

        self._hashes, self._counts = longer(self._hashes), longer(self._counts)
        if self._columns is not None:
            self._columns = map_values(longer, self._columns)
        if self._objects is not None:
            self._objects = longer(self._objects)
        free = np.empty(room, np.int64)
        free[: self._spare] = self._free[: self._spare]
        free[self._spare : self._spare + more] = np.arange(self._room, room)
        self._free, self._spare, self._room = free, self._spare + more, room

    def _choose(self, made: Columns | Examples) -> None:
        """Decide, with the first elements, how they are kept."""
        if isinstance(made, Columns):
            fits = True

            def room_for(column: Any) -> Any:
                nonlocal fits
                if not isinstance(column, (np.ndarray, Rows)):
                    fits = False
                    return None
                return np.empty((self._room, *column.shape[1:]), column.dtype)

            columns = map_values(room_for, made.block)
            if fits:
                self._columns = columns
                return
        self._objects = np.empty(self._room, object)

    def _write(self, made: Columns, slots: NDArray[np.int64]) -> bool:
        """Write rows into the columns; return False if they do not fit."""
        mine: list[Any] = []
        given: list[Any] = []
        map_values(mine.append, self._columns)
        map_values(given.append, made.block)
        if type(made.block) is not type(self._columns) or len(mine) != len(given):
            return False
        if isinstance(made.block, dict) and list(made.block) != list(self._columns):
            return False
        for column, rows in zip(mine, given, strict=True):
            if (
                not isinstance(rows, (np.ndarray, Rows))
                or rows.dtype != column.dtype
                or rows.shape[1:] != column.shape[1:]
            ):
                return False
        for column, rows in zip(mine, given, strict=True):
            column[slots] = np.asarray(rows)
        return True

    def _as_objects(self) -> None:
        """Keep elements as objects from now on."""
        objects = np.empty(self._room, object)
        if self._columns is not None:
            examples = list(Columns(self._columns, self._room).examples())
            objects[:] = object_vector([_copied(each) for each in examples])
        self._columns, self._objects = None, objects


def _copied(example: Any) -> Any:
    return map_values(lambda value: value.copy() if isinstance(value, np.ndarray) else value, example)


class RowStore:
    """As Store, for rows of one table: their slots are their numbers, and nothing is kept here."""

    def put(self, block: Block) -> NDArray[np.int64]:
        rows = block.values
        assert isinstance(rows, TableRows)
        self._table, self._meter = rows.table, rows.meter
        return rows.numbers

    def take(self, slots: NDArray[np.int64]) -> tuple[TableRows, NDArray[np.int64]]:
        return TableRows(self._table, slots, self._meter), slots
