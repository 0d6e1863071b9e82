"""AtHand: batches that are copies of rows which a stream has in memory already, such as those of a block of a file.

A batch of 128 rows then takes 1 us; the usual way, by a block and its ids, takes 15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._next import Gather, gathers
from pipeline.flow.block import Columns
from pipeline.flow.collate import Collate
from pipeline.flow.ids import as_array
from pipeline.flow.stream import Stream, place, take_all
from pipeline.nest import only_plain

# Rows that are looked at together: enough to make that negligible, few enough to convert at once.
_MOST = 8192


def whole_batches(rows: int, n: int) -> int:
    """Return how many of these rows to have at hand for batches of n: the last batch is made the usual way."""
    return (min(rows, _MOST) - 1) // n * n


def _as_it_is(column: NDArray[Any]) -> bool:
    """Whether rows of a column are a batch of it: objects may be arrays that have to be stacked."""
    return only_plain(column.tolist()) if column.dtype.hasobject else column.dtype.isnative


class HasRows(Protocol):
    """A stream that may have rows at hand."""

    def at_hand(self, n: int) -> tuple[Columns, Any] | None:
        """Return the next rows that fill batches of n, but for those of the last one, and their ids as numbers; None
        if there are none, or not as columns. Whoever asks only copies them."""

    def later(self, position: Any, n: int) -> Any:
        """Return the position n elements after another one, among rows that were at hand."""


def has_rows(stream: Stream) -> bool:
    """Whether a stream may have rows at hand."""
    return hasattr(getattr(stream, "stream", stream), "at_hand")


class AtHand:
    """Batches of rows that a stream has at hand. The stream hears of them when it is used again.

    The last of its rows are left to it: it knows what comes after them.

    Args:
        stream: The rows; it may have some at hand.
        n: How many to a batch.
        how: Makes batches of them.
    """

    def __init__(self, stream: Stream, n: int, how: Collate) -> None:
        inner: Any = getattr(stream, "stream", stream)
        self._stream, self._n, self._how = stream, n, how
        self._has: HasRows | None = inner
        self._rows: Gather | None = None
        self._told = 0  # how many were left when the stream heard of them last
        self._at: Any = None  # where the stream was then

    def look(self) -> None:
        """See what rows the stream has at hand now."""
        if self._has is None:
            return
        found = None
        with contextlib.suppress(Exception):  # which comes again when the rows are taken
            found = self._has.at_hand(self._n)
        if found is None:
            self._rows = None
            return
        columns, ids = found
        self._rows = self._gather(columns.block, ids)
        if self._rows is None:
            self._has = None  # nor will those be that come later
            return
        self._told, self._at = self._rows.left, self._stream.position()

    def _gather(self, block: Any, ids: Any) -> Gather | None:
        found = self._how.columns_of(block)
        if found is None:
            return None
        arrays, pack = found
        if not gathers(arrays, len(ids), True) or not all(map(_as_it_is, arrays)):
            return None
        return Gather(arrays, pack, np.arange(len(ids)), as_array(ids).view(np.int64), self._rows)

    def next(self) -> tuple[Any, int] | None:
        """Return the next batch, and the fingerprint of its rows; None if it has to be made."""
        return self._rows.next(self._n) if self._rows is not None and self._rows.left else None

    @property
    def batches(self) -> int:
        """How many batches the stream did not hear of."""
        return 0 if self._rows is None else (self._told - self._rows.left) // self._n

    def place(self, count: int) -> Any:
        """Return a position after so many batches and these: how many that are, and where the stream would be if it had
        heard of them."""
        if self._rows is None:
            return place(count, self._stream.position())
        if isinstance(self._at, Exception):
            return self._at
        assert self._has is not None
        return [count + self.batches, self._has.later(self._at, self._told - self._rows.left)]

    def tell(self) -> int:
        """Take the rows of these batches out of the stream; return how many batches they are."""
        if self._rows is None:
            return 0
        count = self.batches
        if count:
            take_all(self._stream, count * self._n)
        self._rows = None
        return count

    def forget(self) -> None:
        """The stream is somewhere else now."""
        self._rows = None

    def ready(self) -> tuple[Gather, int, Callable[[Any, int], Any]] | None:
        """As that of `IndexedBatches`."""
        if self._rows is None or not self._rows.left:
            return None
        assert self._has is not None
        return self._rows, self._n, self._has.later
