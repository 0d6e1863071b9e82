"""pack: sequences concatenated into rows of one length, with segment ids and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._block import mix_outputs
from pipeline.dtypes import native
from pipeline.errors import invalid
from pipeline.stages.arrivals import Arrival, Arrivals
from pipeline.stages.block import Block, Examples, sizes_of
from pipeline.stages.bucket import Holding
from pipeline.stages.collate import full_array
from pipeline.stages.node import Node, OneInput, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Stage, Stream, shorter, whole

# Rows that are filled at once where sequences stay whole.
OPEN_ROWS = 16

# Sequences to look at together.
_AT_ONCE = 64

# What a sequence is called that comes in no dict.
BARE = "tokens"

# The fields that rows have besides those of the examples.
ADDED = {"segment_ids", "positions"}


class Pack(OneInput):
    """Rows of one length.

    Args:
        source: Sequences: arrays or lists of rank 1 or more, or dicts of such, of one length.
        size: How long a row is.
        split: Whether a sequence may continue in the next row. If not, each goes into the first row that has room.
        pad: What fills the end of a row.
    """

    kind = "pack"

    def __init__(self, source: Node, size: int, split: bool, pad: Any) -> None:
        self.size, self.split, self.pad = size, split, pad
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def options(self) -> dict[str, Any]:
        return {"length": self.size, "split": self.split}

    def stream(self, run: Run, state: Any = None) -> Stream:
        if not self.split:
            return Fitting(Arrivals(self.source, run, state), self)
        (before, skip), offset = ((None, 0), 0) if state is None else state
        return Splitting(Ahead(opened(self.source, run, before), whole(skip)), self, whole(offset))


def fields_of(example: Any) -> dict[str, NDArray[Any]]:
    """Return a sequence as arrays by name, all of one length; InvalidArgumentError if they are not."""
    if type(example) is np.ndarray and example.ndim and example.dtype.isnative:  # 2 us instead of 6
        return {BARE: example}
    fields = example if isinstance(example, dict) else {BARE: example}
    if taken := sorted(ADDED & fields.keys()):
        raise invalid(f"pack: an example has the field {taken[0]!r}, which is the name of what pack adds: rename it")
    arrays = {name: native(full_array(value, f"pack: {name!r}")) for name, value in fields.items()}
    lengths = {name: len(array) if array.ndim else -1 for name, array in arrays.items()}
    if -1 in lengths.values() and not isinstance(example, dict):
        got = f"{type(example).__name__} {example!r:.40}"
        raise invalid(f"pack: an example must be a sequence, such as the tokens of a document, or a dict; got {got}")
    if -1 in lengths.values() or len(set(lengths.values())) > 1:
        raise invalid(f"pack: the fields of an example must be sequences of one length, and have {lengths}")
    return arrays


def length_of(fields: dict[str, NDArray[Any]]) -> int:
    """Return how long a sequence is."""
    return len(next(iter(fields.values())))


def row_of(pieces: Sequence[dict[str, NDArray[Any]]], size: int, pad: Any) -> dict[str, NDArray[Any]]:
    """Return one row of several pieces of sequences.

    Raises:
        InvalidArgumentError: They differ in their fields or in the shape of these, or `pad` does not fit.
        TypeError: They differ in dtype.
    """
    first = pieces[0]
    if isinstance(pad, Mapping) and (other := next((name for name in pad if name not in first), None)) is not None:
        raise invalid(f"pack: pad: there is no field {other!r}; there are {list(first)}")
    if any(piece.keys() != first.keys() for piece in pieces):
        other = next(piece for piece in pieces if piece.keys() != first.keys())
        raise invalid(f"pack: examples differ in their fields: {sorted(first)} and {sorted(other)}")
    lengths = np.array([length_of(piece) for piece in pieces])
    total = int(lengths.sum())
    row = {name: _joined(name, [piece[name] for piece in pieces], total, size, pad) for name in first}
    segments, positions = np.zeros(size, np.int32), np.zeros(size, np.int32)
    segments[:total] = np.repeat(np.arange(1, len(pieces) + 1), lengths)
    positions[:total] = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return {**row, "segment_ids": segments, "positions": positions}


def _joined(name: str, arrays: list[NDArray[Any]], total: int, size: int, pad: Any) -> NDArray[Any]:
    """Return a field of a row: arrays one after the other, then padding."""
    first = arrays[0]
    dtype, shape = first.dtype, first.shape[1:]
    for array in arrays:
        if array.dtype is not dtype or array.shape[1:] != shape:
            _check_alike(name, first, array)
    filler = _filler(name, first, pad)
    row = np.empty((size, *shape), dtype)
    np.concatenate(arrays, out=row[:total])
    row[total:] = filler
    return row


def _check_alike(name: str, first: NDArray[Any], array: NDArray[Any]) -> None:
    """Refuse a piece that would be cast, or repeated, to fit into the row that another one has begun."""
    if array.dtype != first.dtype:
        raise TypeError(f"pack: {name!r} has dtype {first.dtype} in one example and {array.dtype} in another")
    if array.shape[1:] != first.shape[1:]:
        shapes = f"{list(first.shape[1:])} in one example and {list(array.shape[1:])} in another"
        raise invalid(f"pack: what {name!r} is a sequence of has shape {shapes}")


def _filler(name: str, array: NDArray[Any], pad: Any) -> NDArray[Any]:
    """Return what pads a field, as an array of rank 0."""
    fill = pad.get(name, 0) if isinstance(pad, Mapping) else pad
    if array.dtype.hasobject and fill == 0 and isinstance(array.flat[0], (bytes, str)):
        fill = type(array.flat[0])()
    try:
        filler = np.zeros((), array.dtype)
        filler[()] = fill
        fits = array.dtype.kind not in "biuSU" or filler.item() == fill or fill == 0
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise invalid(f"pack: pad: {fill!r} does not fit {name!r} of dtype {array.dtype}")
    if array.dtype.kind in "SU" and fill == 0:
        filler = np.zeros((), array.dtype)  # an empty one
    return filler


class Splitting(Stage):
    """Full rows: a sequence continues in the next one. The state is [the state before the sequence, how much of it rows
    have]."""

    source: Ahead

    def __init__(self, source: Ahead, node: Pack, offset: int) -> None:
        super().__init__(source)
        self._node = node
        self._offset = offset  # how much rows have of the next sequence
        self._block: Block | None = None
        self._looked: list[Any] = []  # sequences that were looked at
        self._at = 0  # which of them is next

    def take(self, n: int) -> Block | None:
        pieces, room = [], self._node.size
        number, sizes = None, 0
        while room and (self._at < len(self._looked) or self._look()):
            assert self._block is not None
            fields = fields_of(self._looked[self._at])
            length = length_of(fields)
            if length < self._offset:
                raise shorter()
            if number is None:
                number = self._block.numbers[self._at : self._at + 1]
                if self._offset:  # another row has begun with this sequence
                    number = mix_outputs(int(number[0]), self._offset, 1)
            end = min(length, self._offset + room)
            if end > self._offset:
                part = slice(self._offset, end)
                entire = end - self._offset == length
                pieces.append(fields if entire else {name: array[part] for name, array in fields.items()})
                sizes += int(sizes_of(self._block)[self._at])
                room -= end - self._offset
            self._offset = end
            if end == length:
                self._at, self._offset = self._at + 1, 0
        if not pieces:
            return None
        row = row_of(pieces, self._node.size, self._node.pad)
        return Block(Examples([row]), number, sizes=np.array([sizes], np.int64))  # type: ignore[arg-type]

    def _look(self) -> bool:
        """Look at more sequences; return whether there are any."""
        self._settle()
        block = self.source.look(_AT_ONCE)
        if block is None:
            return False
        self._block, self._looked = block, list(block.values.examples())
        return True

    def _settle(self) -> None:
        """Take the sequences that rows have."""
        if self._at:
            self.source.drop(self._at)
            self._looked = self._looked[self._at :]
            self._block = self._block.part(self._at, len(self._block)) if self._block and self._looked else None
            self._at = 0

    def state(self) -> Any:
        self._settle()
        return [self.source.state(), self._offset]


class Fitting(Holding):
    """Whole sequences, each in the first open row that has room."""

    def __init__(self, source: Arrivals, node: Pack) -> None:
        super().__init__(source, 0)
        self._node = node
        self._free: list[int] = []  # room in each row

    def restored(self) -> None:
        self._free = [self._node.size - sum(map(_length, group)) for group in self.groups]

    def put(self, arrival: Arrival) -> list[Arrival] | None:
        length, size = _length(arrival), self._node.size
        if length > size:
            raise invalid(f"pack: an example has length {length:,}, and a row {size:,}; use split=True")
        if not length:
            return None
        row = next((i for i, free in enumerate(self._free) if free >= length), len(self._free))
        if row == len(self._free):
            self.groups.append([])
            self._free.append(size)
        self.groups[row].append(arrival)
        self._free[row] -= length
        if not self._free[row]:
            return self._pop(row)
        return self._pop(0) if len(self._free) > OPEN_ROWS else None

    def _pop(self, row: int) -> list[Arrival]:
        self._free.pop(row)
        return self.groups.pop(row)

    def left(self) -> list[Arrival] | None:
        return self._pop(0) if self.groups else None

    def made(self, group: list[Arrival]) -> Any:
        return row_of([fields_of(each.example) for each in group], self._node.size, self._node.pad)


def _length(arrival: Arrival) -> int:
    return length_of(fields_of(arrival.example))
