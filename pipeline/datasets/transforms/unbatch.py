"""unbatch: the rows of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._flow import mix_rows
from pipeline.datasets.node import Node, Opening
from pipeline.errors import invalid
from pipeline.flow.at_hand import whole_batches
from pipeline.flow.block import Block, Columns
from pipeline.flow.collate import bare, stacked
from pipeline.flow.ids import PartHashes, summed
from pipeline.flow.stream import Stream, lend, place, seek_later, whole
from pipeline.nest import ListParts, TupleParts, map_values, refuse_missing_in


class Unbatch(Node):
    """The examples of batches."""

    kind = "unbatch"

    def __init__(self, source: Node, tensors: bool = False) -> None:
        """Name the batches; `tensors`: they may be lists of columns, which may be lists of values."""
        self.inputs, self.tensors = (source,), tensors
        self.note_place()

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, Unbatched(self.inputs[0].open(shared, epoch), self.tensors))


class Unbatched:
    """The rows of the batches of a stream."""

    def __init__(self, stream: Stream, tensors: bool = False) -> None:
        self._stream, self._tensors = stream, tensors
        self._rows: Columns | None = None
        self._at: Any = None  # the position of that batch
        self._offset = self._count = 0
        self._hash = 0  # of that batch

    def take(self, n: int) -> Block | None:
        while self._rows is None:
            at = self._stream.position()
            block = self._stream.take(1)
            if block is None:
                return None
            (batch,) = block.made().examples()
            rows = rows_of_batch(columns_of(batch) if self._tensors else batch)
            if len(rows):
                self._rows, self._at, self._offset = rows, at, 0
                self._hash, _ = summed(block.ids)
        taken = self._rows if n >= len(self._rows) and not self._offset else self._rows[self._offset : self._offset + n]
        first, self._count = self._count, self._count + len(taken)
        self._offset += len(taken)
        if self._offset >= len(self._rows):
            self._rows = None
        ids = PartHashes(*mix_rows(self._hash, self._offset - len(taken), len(taken)))
        return Block(taken, ids, range(first, self._count))

    def at_hand(self, n: int) -> tuple[Columns, Any] | None:
        """As `HasRows` says."""
        rows, begin = self._rows, self._offset
        count = 0 if rows is None else whole_batches(len(rows) - begin, n)
        if rows is None or count <= 0:
            return None
        return rows[begin : begin + count], np.arange(begin, begin + count, dtype=np.uint64) + np.uint64(self._hash)

    def later(self, position: Any, n: int) -> Any:
        """As `HasRows` says."""
        count, offset, inner = position
        return [count + n, offset + n, inner]

    def lend_rows(self) -> bool:
        return lend(self._stream)

    def skip(self, n: int) -> int:
        left = n
        while left and (block := self.take(left)) is not None:
            left -= len(block)
        return n - left

    def position(self) -> Any:
        if self._rows is None:
            return place(self._count, 0, self._stream.position())
        return place(self._count, self._offset, self._at)

    def seek(self, position: Any) -> None:
        count, offset, inner = position
        self._count, offset = whole(count), whole(offset)
        self._rows = None
        seek_later(self._stream, inner)
        if offset:
            count = self._count
            self.skip(offset)
            self._count = count

    def close(self) -> None:
        self._stream.close()


def columns_of(batch: Any) -> Any:
    """Return a batch with arrays in the place of lists of values; a list is one of columns."""
    if type(batch) in (list, tuple):
        kind = ListParts if type(batch) is list else tuple
        return bare(kind(map(_column, batch)))
    return {key: _column(value) for key, value in batch.items()} if type(batch) is dict else batch


def _column(values: Any) -> Any:
    return stacked(values, "a block") if type(values) is list and values else values


def rows_of_batch(batch: Any) -> Columns:
    """Return a batch as columns; InvalidArgumentError if its components do not have as many rows each, or values are
    missing."""
    if isinstance(batch, tuple) and not hasattr(batch, "_make"):
        batch = TupleParts(batch)
    refuse_missing_in(batch, "a batch", many=True)
    lengths: list[int] = []
    try:
        map_values(lambda column: lengths.append(len(column)), batch)
    except TypeError as error:
        raise invalid(f"unbatch: a batch has a component without rows: {error}") from None
    if len(set(lengths)) != 1:
        raise invalid(f"unbatch: the components of a batch have different numbers of rows: {lengths}")
    return Columns(batch, lengths[0])
