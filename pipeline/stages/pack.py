"""pack: sequences in rows with equal length, concatenated, or chosen whole from a buffer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline._block import mix_outputs
from pipeline.errors import invalid
from pipeline.stages.arrivals import Arrival, Arrivals
from pipeline.stages.block import Block, Examples, failed, sizes_of
from pipeline.stages.node import Node, OneInput, opened
from pipeline.stages.packed import Documents, Fields, Packing, Piece, Rows, length_of
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Maker, Rest, Stage, Stream, Unit, shorter, whole
from pipeline.tracebacks import from_handler

# Sequences per lookahead, and rows between two recorded positions.
_AT_ONCE, _ROWS = 64, 64


class Pack(OneInput):
    """Rows with equal length.

    Args:
        source: Sequences: arrays or lists with rank 1 or more, or dicts of them with equal lengths.
        how: The arguments of `Dataset.pack`.
    """

    kind = "pack"

    def __init__(self, source: Node, how: Packing) -> None:
        self.how = how
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"length": self.how.length, "method": self.how.method}
        for name, default in Packing._field_defaults.items():
            given = getattr(self.how, name)
            if name != "method" and (type(given) is not type(default) or given != default):
                found[name] = given if isinstance(given, (bool, int, str)) else str(_plain(given))
        return found

    def stream(self, run: Run, state: Any = None) -> Stream:
        if self.how.method == "concat":
            (before, skip), offset = ((None, 0), 0) if state is None else state
            return Splitting(Ahead(opened(self.source, run, before), whole(skip)), self, whole(offset))
        (before, pieces), given = ((None, []), 0) if state is None else state
        return Rest(Fitting(Arrivals(self.source, run, before), self, [whole(each) for each in pieces]), whole(given))


def _plain(given: Any) -> Any:
    return dict(given) if isinstance(given, Mapping) else given


class Splitting(Stage):
    """Full rows: a sequence continues in the next row.

    The state is [state before the sequence, number of its items already in rows].
    """

    source: Ahead

    def __init__(self, source: Ahead, node: Pack, offset: int) -> None:
        super().__init__(source)
        self._node = node
        self._documents, self._rows = Documents(node.how), Rows(node.how)
        self._offset = offset  # items of the next sequence already in rows
        self._block: Block | None = None
        self._looked: list[Any] = []  # peeked sequences
        self._at = 0  # index of the next one
        self._fields: Fields | None = None  # the next one, prepared

    def take(self, n: int) -> Block | None:
        pieces: list[Piece] = []
        room, most = self._node.how.length, self._node.how.most
        number, sizes = None, 0
        while room and len(pieces) < most and (fields := self._next()) is not None:
            length, at = length_of(fields), self._offset
            if length < at:
                raise shorter()
            if number is None:
                number = self._number(at)
            sizes += 0 if at else int(sizes_of(self._block)[self._at])  # type: ignore[arg-type]
            end = min(length, at + room)
            pieces.append(Piece(fields, at, end))
            room -= end - at
            self._offset = end
            if end == length:
                self._pass()
        if not pieces:
            return None
        row = self._rows.row(pieces)
        return Block(Examples([row]), number, sizes=np.array([sizes], np.int64))  # type: ignore[arg-type]

    def _number(self, offset: int) -> Any:
        """Return the number for a row beginning with the next sequence."""
        number = self._block.numbers[self._at : self._at + 1]  # type: ignore[union-attr]
        return mix_outputs(int(number[0]), offset, 1) if offset else number  # an earlier row began with this sequence

    def _next(self) -> Fields | None:
        """Return the next sequence, prepared; None at the end."""
        while self._fields is None:
            if self._at == len(self._looked) and not self._look():
                return None
            self._fields = self._documents.prepared(self._looked[self._at], self._name)
            if self._fields is None:
                self._pass()
        return self._fields

    def _name(self) -> str:
        return self._node.named(self._block, self._at)  # type: ignore[arg-type]

    def _pass(self) -> None:
        self._at, self._offset, self._fields = self._at + 1, 0, None

    def _look(self) -> bool:
        """Look at more sequences; return whether there are any."""
        self._settle()
        block = self.source.look(_AT_ONCE)
        if block is None:
            return False
        self._block, self._looked = block, list(block.values.examples())
        return True

    def _settle(self) -> None:
        """Take the sequences in rows."""
        if self._at:
            self.source.drop(self._at)
            self._looked = self._looked[self._at :]
            self._block = self._block.part(self._at, len(self._block)) if self._block and self._looked else None
            self._at = 0

    def state(self) -> Any:
        self._settle()
        return [self.source.state(), self._offset]


class Held:
    """A piece in the buffer, and its sequence."""

    __slots__ = ("arrival", "key", "piece")

    def __init__(self, arrival: Arrival, piece: Piece, serial: int) -> None:
        self.arrival, self.piece = arrival, piece
        self.key = (piece.end - piece.begin) << 64 | (1 << 64) - 1 - serial  # by length; among equals the oldest last


class Fitting(Maker):
    """Rows with whole pieces from a buffer. Each begins with the oldest piece, so none waits longer than the buffer.

    A unit is some rows. Its state is [arrivals state, each held piece's index within its sequence].
    """

    source: Arrivals

    def __init__(self, source: Arrivals, node: Pack, pieces: list[int]) -> None:
        super().__init__(source)
        self._node, self._how, self._pieces = node, node.how, pieces
        self._documents, self._rows = Documents(node.how), Rows(node.how)
        self._held: dict[int, Held] = {}  # by arrival
        self._keys: list[int] = []  # sorted keys of held sequences, for best fit
        self._serial = 0
        self._begun = self._ended = False

    def make(self, n: int) -> Unit | None:
        if not self._begun:
            self._restore()
            self._begun = True
        self._fill()
        return Unit(self._some_rows(), _ROWS) if self._held else None

    def _restore(self) -> None:
        (arrivals,) = self.source.restored() or [[]]
        if len(arrivals) != len(self._pieces):
            raise invalid(f"load_state_dict: the state is damaged: {self._pieces!r:.40} is not {len(arrivals)} numbers")
        for arrival, piece in zip(arrivals, self._pieces, strict=True):
            pieces = self._pieces_of(arrival)
            self._hold(arrival, pieces[whole(piece, len(pieces) - 1)])

    def _some_rows(self) -> Iterator[Block]:
        for _ in range(_ROWS):
            try:
                self._fill()
                if not self._held:
                    return
                block = self._row()
            except Exception as error:
                if from_handler(error):
                    raise
                yield failed(error)
                return
            yield block

    def _fill(self) -> None:
        """Take sequences until the buffer is full."""
        size = self._how.buffer
        while len(self._held) < size and not self._ended:  # type: ignore[operator]
            arrival = self.source.next()
            if arrival is None:
                self._ended = True
            else:
                for piece in self._pieces_of(arrival):
                    self._hold(arrival, piece)

    def _pieces_of(self, arrival: Arrival) -> list[Piece]:
        fields = self._documents.prepared(arrival.example, lambda: self._node.named(arrival.block(), 0))
        return [] if fields is None else self._documents.pieces(fields)

    def _hold(self, arrival: Arrival, piece: Piece) -> None:
        held = self._held[self._serial] = Held(arrival, piece, self._serial)
        self._serial += 1
        if self._how.method == "best_fit":
            insort(self._keys, held.key)

    def _row(self) -> Block:
        chosen = self._best() if self._how.method == "best_fit" else self._first()
        row = self._rows.row([each.piece for each in chosen])
        first = chosen[0]
        number = np.array([first.arrival.number], np.int64)
        if first.piece.number:
            number = mix_outputs(first.arrival.number, first.piece.number, 1)
        sizes = sum(each.arrival.size for each in chosen if not each.piece.number)
        return Block(Examples([row]), number, sizes=np.array([sizes], np.int64))

    def _first(self) -> list[Held]:
        """Take a row's pieces in order of arrival, as far as they fit."""
        room, most, chosen = self._how.length, self._how.most, []
        for serial, held in self._held.items():
            if held.piece.length <= room:
                chosen.append(serial)
                room -= held.piece.length
                if not room or len(chosen) == most:
                    break
        return [self._held.pop(serial) for serial in chosen]

    def _best(self) -> list[Held]:
        """Take a row's pieces: the oldest, then always the longest that fits."""
        room, keys = self._how.length, self._keys
        key = next(iter(self._held.values())).key
        chosen: list[Held] = []
        while True:
            del keys[bisect_left(keys, key)]
            held = self._held.pop((1 << 64) - 1 - (key & (1 << 64) - 1))
            chosen.append(held)
            room -= held.piece.length
            at = bisect_right(keys, room + 1 << 64)
            if not at or len(chosen) == self._how.most:
                return chosen
            key = keys[at - 1]

    def state(self) -> Any:
        if not self._begun:
            return [self.source.state_with([]), self._pieces]
        held = self._held.values()
        return [self.source.state_with([[each.arrival for each in held]]), [each.piece.number for each in held]]
