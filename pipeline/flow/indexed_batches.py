"""IndexedBatches: batches of elements that can be had by number. Numbers are taken for many batches at once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from pipeline._next import Gather, Meter, gathers
from pipeline.flow.block import Block, join
from pipeline.flow.collate import Collate
from pipeline.flow.ids import PartHashes, as_array, folded
from pipeline.flow.run import Run
from pipeline.flow.stream import ChoosingStream, Element, block_of, later, place, seek_later, whole
from pipeline.flow.table import TableRows

# Numbers that are taken at once, about. A batch of 128 rows of arrays takes 18 us with its numbers chosen alone, and
# 1.9 us with these; 64 KiB stay in the cache.
_AHEAD = 8192


class IndexedBatches:
    """Batches of elements that can be had by number.

    Args:
        stream: The elements; taking them only chooses numbers.
        n: How many to a batch.
        how: Makes batches of them.
        whole: Whether examples at the end that fill no batch are dropped.
        shared: What the streams of the iterator share.
    """

    def __init__(self, stream: ChoosingStream, n: int, how: Collate, whole: bool, shared: Run) -> None:
        self._stream, self._n, self._how, self._whole, self._shared = stream, n, how, whole, shared
        self._tables: dict[int, tuple[Any, Any]] = {}  # by `id`: a table, and what its rows can be copied from
        self._copied: Gather | None = None  # what copied rows last
        self._go_to(0, stream.position())

    def _go_to(self, count: int, position: Any) -> None:
        self._block: Block | None = None  # elements that were chosen
        self._rest = 0  # how many of them did not come yet
        self._rows: Gather | None = None  # what copies them, if they are rows of arrays: it knows how many did not come
        self._meter: Meter | None = None  # counts what is copied
        self._mark(count, position)

    def _mark(self, count: int, at: Any) -> None:
        """Note how many batches came, and where the next element is. Since then all batches are of `n`."""
        self._count, self._at, self._had = count, at, self._left

    @property
    def _left(self) -> int:
        return self._rest if self._rows is None else self._rows.left

    def ready(self) -> tuple[Gather, int, Callable[[Any, int], Any]] | None:
        """Return what gives the next batches, how many elements are in one, and what returns a position so many
        elements after another one; None if they have to be made."""
        if self._rows is None or self._rows.left < self._n:
            return None
        # Elements are numbered mostly, and a function in C costs a fifth of one in Python.
        return self._rows, self._n, operator.add if type(self._at) is int else later

    def element(self) -> Element | None:
        n = self._n
        if self._left < n:
            if not self._left and not self._choose(n * max(1, _AHEAD // n)):
                return None
            if self._left < n:
                return self._of_several()
        if self._rows is not None:
            batch, value = self._rows.next(n)
        else:
            block = self._next(n)
            batch, value = self._how.batch(block.made(), [block]), folded(block.ids, 0)
        return batch, value, n

    def _choose(self, n: int) -> bool:
        """Choose about n elements for the next batches; return False at the end."""
        (count, _), at = self._now(), self._stream.position()
        block = self._stream.take(n)
        self._block = block
        self._rest, self._rows = (0, None) if block is None else (len(block), self._gather(block))
        self._mark(count, at)
        return block is not None

    def _gather(self, block: Block) -> Gather | None:
        values, ids = block.values, block.ids
        if not isinstance(values, TableRows) or not self._how.plain or isinstance(ids, PartHashes):
            return None
        known = self._tables.get(id(values.table))
        if known is None:
            known = self._tables[id(values.table)] = values.table, self._arrays_of(values.table)
        if known[1] is None:
            return None
        arrays, pack = known[1]
        self._meter = values.meter
        if self._meter is not None:
            self._meter.count(len(values))
        self._copied = Gather(arrays, pack, as_array(values.numbers), as_array(ids), self._copied)
        return self._copied

    def _arrays_of(self, table: Any) -> tuple[tuple[NDArray[Any], ...], Any] | None:
        """Return the columns of a table, and what makes a batch of theirs; None if rows cannot be copied as bytes."""
        columns = getattr(table, "columns", None)
        if columns is None or not table.at_hand:
            return None
        arrays, pack = columns()
        if not gathers(arrays, len(table)):
            return None
        return arrays, None if len(arrays) == 1 and pack in (tuple, list) and self._how.tensors else pack

    def _next(self, n: int) -> Block:
        """Return the next elements that were chosen."""
        block = self._block
        assert block is not None
        begin = len(block) - self._left
        self._rest -= n
        if self._rows is not None:
            self._rows.skip(n)
            if self._meter is not None:  # those that make them count them again
                self._meter.count(-n)
        return block[begin : begin + n]

    def _of_several(self) -> Element | None:
        """Return a batch of elements that were not chosen together, as at the end; so that the next ones can be."""
        blocks, have = [], 0
        count, at = self._now()
        while have < self._n and (self._left or self._choose(self._n - have)):
            blocks.append(self._next(min(self._left, self._n - have)))
            have += len(blocks[-1])
        if have < self._n and self._whole:
            self._shared.dropped[0] += have
            self._mark(count, at)
            return None
        block = join(blocks)
        found = self._how.batch(block.made(), blocks), folded(block.ids, 0), have
        self._mark(count + 1, later(at, have))
        return found

    def take(self, n: int) -> Block | None:
        return block_of(self.element(), self._now()[0])

    def skip(self, n: int) -> int:
        stream, (count, at) = self._stream, self.position()
        seek_later(stream, at)
        skipped = stream.skip(n * self._n)
        batches = skipped // self._n if self._whole else -(-skipped // self._n)
        self._go_to(count + batches, later(at, skipped))
        return batches

    def _now(self) -> tuple[int, Any]:
        """Return how many batches came, and where the next element is, or the error that says why nobody knows."""
        came = self._had - self._left
        return self._count + came // self._n, later(self._at, came)

    def position(self) -> Any:
        return place(*self._now())

    def seek(self, position: Any) -> None:
        count, inner = position
        seek_later(self._stream, inner)
        self._go_to(whole(count), inner)

    def close(self) -> None:
        self._stream.close()
