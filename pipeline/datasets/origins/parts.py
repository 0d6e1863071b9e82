"""OfParts: the examples of files, or of other parts, one part after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pipeline._next import Meter
from pipeline.datasets.node import ENDLESS, Opening
from pipeline.datasets.origins.source import OfSource
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.flow.at_hand import whole_batches
from pipeline.flow.block import Block, Columns, Examples
from pipeline.flow.run import Limited
from pipeline.flow.stream import Stream, dropped, nowhere, whole
from pipeline.flow.table import comes_as_columns, made_of
from pipeline.producers.numbered import Numbered


class OfParts(OfSource):
    """The examples of files, or of other parts, one part after the other.

    Args:
        parts: The parts.
        facts, order: As for OfSource.
        total: How many examples all epochs have; None if that is not known.
        cursor: Makes a place in them, of the number of a pass.
    """

    def __init__(
        self,
        parts: Any,
        facts: Callable[[], dict[str, Any]],
        order: Any,
        total: int | None,
        cursor: Callable[[int], Any],
    ) -> None:
        super().__init__(parts.kind, facts, order)
        self.parts, self._total, self._cursor = parts, total, cursor
        self._errors: tuple[str, int | None] = ("raise", None)

    def skipping(self, on_error: str, max_errors: int | None) -> OfParts:
        """Return the same that does this with the rest of a part that fails, if there is something after it."""
        other = copy.copy(self)
        other._errors = on_error, max_errors
        return other

    def about(self) -> str:
        return f"{len(self.parts.names):,} {self.parts.unit}"

    def length(self) -> int | None:
        return ENDLESS if self.order.num_epochs is None else self._total

    def open(self, shared: Opening, epoch: int) -> Stream:
        cursor = self._cursor(epoch)
        cursor._opened = shared.opened(self.parts, cursor.names)
        shared.on_stop(cursor.recall)
        skips = Limited(shared, *self._errors)
        return shared.gauged(self, _Parts(cursor, self.numbered(shared), shared.meter(self), skips))


class _Parts:
    def __init__(self, cursor: Any, numbered: Numbered, meter: Meter | None, skips: Limited) -> None:
        self.cursor, self._meter, self._skips = cursor, meter, skips
        self.cursor._numbered = numbered
        self._at = self._where()  # the part that was read last: which epoch, and its place in that
        self._part: int | None = None  # its number; None if that is not known yet
        self._inside = 0  # how many examples of it came

    def _where(self) -> tuple[int, int]:
        return self.cursor._epoch, self.cursor._part

    def _follow(self) -> None:
        """Count from 0 if the cursor has gone on to another part."""
        if self._where() != self._at:
            self._at, self._part, self._inside = self._where(), None, 0

    def _number(self) -> int:
        cursor = self.cursor
        epoch = cursor._first_epoch + cursor._epoch
        (part,) = cursor._numbered.numbers(epoch * cursor._order.length + cursor._part, 1)
        return int(part)

    def take(self, n: int) -> Block | None:
        cursor = self.cursor
        first = cursor._taken
        try:
            piece = self._pull(n)
        except OutOfRangeError:
            return None
        self._follow()
        if self._part is None:
            self._part = self._number()
        begin, self._inside = self._inside, self._inside + len(piece)
        base = (self._part << 40) + begin
        values = PieceValues(cursor._parts, piece, self._meter)
        return Block(values, range(base, base + len(piece)), range(first, first + len(piece)))

    def at_hand(self, n: int) -> tuple[Columns, Any] | None:
        """As `HasRows` says."""
        if self._part is None or not comes_as_columns(self.cursor._parts):
            return None
        piece = self.cursor.rest()
        count = 0 if piece is None else whole_batches(len(piece), n)
        if count <= 0:
            return None
        base = (self._part << 40) + self._inside
        made = PieceValues(self.cursor._parts, piece[:count], self._meter).made()
        return (made, range(base, base + count)) if isinstance(made, Columns) else None

    def later(self, position: Any, n: int) -> Any:
        """As `HasRows` says."""
        inside, *inner = position
        return [inside + n, *self.cursor.later(inner, n)]

    def _pull(self, n: int) -> Any:
        """Take up to n examples, after parts that fail and are left out."""
        while True:
            try:
                return self.cursor.pull(n)
            except (OutOfRangeError, CancelledError):
                raise
            except Exception as error:
                if not self._skips.active:
                    raise
                self._skips.note(error)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        reason = self.cursor._no_state()
        if reason is not None:
            return nowhere(f"{self.cursor.name} has no position to go back to: {reason}")
        self._follow()
        return [self._inside, *self.cursor._position()]

    def seek(self, position: Any) -> None:
        inside, *inner = position
        self._inside = whole(inside)
        self.cursor.close()
        self.cursor._go_to(inner)
        self._at, self._part = self._where(), None

    def close(self) -> None:
        self.cursor.close()


class PieceValues:
    """Examples of a piece of a file, not made yet."""

    __slots__ = ("meter", "parts", "piece")

    def __init__(self, parts: Any, piece: Any, meter: Meter | None) -> None:
        self.parts, self.piece, self.meter = parts, piece, meter

    def __len__(self) -> int:
        return len(self.piece)

    def __getitem__(self, which: slice) -> PieceValues | Columns | Examples:
        if which.step not in (None, 1):
            return self.made()[which]
        begin, end, _ = which.indices(len(self))
        return PieceValues(self.parts, self.piece[begin:end], self.meter)

    def made(self) -> Columns | Examples:
        if self.meter is not None:
            return self.meter.make(len(self.piece), made_of, self.parts, self.piece, len(self.piece))
        return made_of(self.parts, self.piece, len(self.piece))

    def name(self, i: int) -> str | None:
        named = getattr(self.parts, "named", None)
        return None if named is None else named(self.piece, i)
