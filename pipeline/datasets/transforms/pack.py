"""pack: sequences concatenated into rows of one length, with segment ids and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import Node, Opening
from pipeline.dtypes import native
from pipeline.errors import invalid
from pipeline.flow.block import Block, Examples
from pipeline.flow.collate import as_array
from pipeline.flow.held import Arrivals, Element
from pipeline.flow.ids import PartHashes, as_one, joined
from pipeline.flow.stream import Stream, dropped, elements_of, place, seek_later, shorter, whole

OPEN_ROWS = 16

_Held: TypeAlias = "tuple[dict[str, NDArray[Any]], int, tuple[int, int]]"  # fields, length, and id

# What a sequence is called that comes in no dict.
BARE = "tokens"

# The fields that rows have besides those of the examples.
ADDED = {"segment_ids", "positions"}


class Pack(Node):
    """Rows of one length.

    Args:
        source: Sequences: arrays or lists of rank 1 or more, or dicts of such, of one length.
        size: How long a row is.
        split: Whether a sequence may continue in the next row. If not, each goes into the first row that has room.
        pad: What fills the end of a row.
    """

    kind = "pack"

    def __init__(self, source: Node, size: int, split: bool, pad: Any) -> None:
        self.inputs = (source,)
        self.size, self.split, self.pad = size, split, pad
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"length": self.size, "split": self.split}

    def open(self, shared: Opening, epoch: int) -> Stream:
        stream = self.inputs[0].open(shared, epoch)
        return shared.gauged(self, _Split(stream, self) if self.split else _Fitted(Arrivals(stream), self))


def fields_of(example: Any) -> dict[str, NDArray[Any]]:
    """Return a sequence as arrays by name, all of one length; InvalidArgumentError if they are not."""
    if type(example) is np.ndarray and example.ndim and example.dtype.isnative:  # 2 us instead of 6
        return {BARE: example}
    fields = example if isinstance(example, dict) else {BARE: example}
    if taken := sorted(ADDED & fields.keys()):
        raise invalid(f"pack: an example has the field {taken[0]!r}, which is the name of what pack adds: rename it")
    arrays = {name: native(as_array(value, f"pack: {name!r}")) for name, value in fields.items()}
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


class _Split:
    """Rows that are full: sequences continue in the next one.

    The position is that of a sequence, and how much of it earlier rows have. The sequence is said by where the stream
    stood when the row took its first one, and how many came after that.
    """

    def __init__(self, stream: Stream, node: Pack) -> None:
        self._stream, self._node, self._element = stream, node, elements_of(stream)
        self._count = 0
        self._held: _Held | None = None  # the sequence that was begun
        self._offset = 0  # how much of it rows have
        self._base, self._number = None, 0  # where it is
        self._begin: tuple[Any, int, int] | None = None  # where the row begins that is being filled
        self._based = False  # whether that row has taken its first sequence
        self._forget()

    def _forget(self) -> None:
        """Begin a row; before that it stays as it is if a timeout comes."""
        self._pieces: list[dict[str, NDArray[Any]]] = []
        self._ids: list[tuple[int, int]] = []
        self._have = 0
        self._begin, self._based = None, False

    def take(self, n: int) -> Block | None:
        size = self._node.size
        if self._begin is None:
            self._begin = self._where()
        while self._have < size and (self._held is not None or self._next()):
            assert self._held is not None
            fields, length, one = self._held
            end = min(length, self._offset + size - self._have)
            if end > self._offset:
                part = slice(self._offset, end)
                entire = end - self._offset == length
                self._pieces.append(fields if entire else {name: array[part] for name, array in fields.items()})
                self._ids.append(one)
                self._have += end - self._offset
            self._held, self._offset = (self._held, end) if end < length else (None, 0)
        if not self._pieces:
            return None
        row = row_of(self._pieces, size, self._node.pad)
        values, sizes = zip(*self._ids, strict=True)
        ids = PartHashes(np.array(values, np.uint64), np.array(sizes, np.int64))
        self._forget()
        first, self._count = self._count, self._count + 1
        return Block(Examples([row]), as_one(ids), range(first, self._count))

    def _next(self) -> bool:
        """Take the next sequence; return whether there is one."""
        again = self._offset > 0  # after a seek
        if not (again or self._based):
            self._base, self._number, self._based = self._stream.position(), -1, True
        element = self._element()
        if element is None:
            return False
        self._number += not again
        example, value, count = element
        fields = fields_of(example)
        length = length_of(fields)
        if length < self._offset:
            raise shorter()
        self._held = fields, length, (value, count)
        return True

    def _where(self) -> tuple[Any, int, int]:
        """Return the sequence that comes next, and how much of it rows have."""
        if self._offset:
            return self._base, self._number, self._offset
        return self._stream.position(), 0, 0

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        base, number, offset = self._begin or self._where()
        return place(self._count, offset, base, number)

    def seek(self, position: Any) -> None:
        count, offset, base, number = position
        self._count, self._offset, self._number = whole(count), whole(offset), whole(number)
        self._base, self._held = base, None
        self._forget()
        seek_later(self._stream, base)
        if self._number and self._stream.skip(self._number) < self._number:
            raise shorter()

    def close(self) -> None:
        self._stream.close()


class _Fitted:
    """Whole sequences, each in the first open row that has room."""

    def __init__(self, arrivals: Arrivals, node: Pack) -> None:
        self._arrivals, self._node = arrivals, node
        self._rows: list[list[Element]] = []
        self._free: list[int] = []
        self._count = 0
        self._ended = False

    def take(self, n: int) -> Block | None:
        size = self._node.size
        while not self._ended:
            element = self._arrivals.next()
            if element is None:
                self._ended = True
                break
            length = length_of(fields_of(element.example))
            if length > size:
                raise invalid(f"pack: an example has length {length:,}, and a row {size:,}; use split=True")
            full = self._put(element, length)
            if full is not None:
                return self._emit(full)
        return self._emit(0) if self._rows else None

    def _put(self, element: Element, length: int) -> int | None:
        """Put a sequence into a row; return which row is to go out, or None."""
        if not length:
            return None
        at = next((i for i, free in enumerate(self._free) if free >= length), None)
        if at is None:
            self._rows.append([])
            self._free.append(self._node.size)
            at = len(self._rows) - 1
        self._rows[at].append(element)
        self._free[at] -= length
        if not self._free[at]:
            return at
        return 0 if len(self._rows) > OPEN_ROWS else None

    def _emit(self, at: int) -> Block:
        elements = self._rows.pop(at)
        self._free.pop(at)
        row = row_of([fields_of(each.example) for each in elements], self._node.size, self._node.pad)
        first, self._count = self._count, self._count + 1
        return Block(Examples([row]), as_one(joined([each.block.ids for each in elements])), range(first, self._count))

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        held = [[each.arrival for each in row] for row in self._rows]
        return self._arrivals.position(held, self._count, self._ended)

    def seek(self, position: Any) -> None:
        held = position["held"]
        found = self._arrivals.seek(position, [each for row in held for each in row])
        rows = [[found[each] for each in row] for row in held]
        free = [self._node.size - sum(length_of(fields_of(each.example)) for each in row) for row in rows]
        if not all(rows) or min(free, default=0) < 0:
            raise ValueError("its rows are empty, or hold more than fits")
        self._rows, self._free = rows, free
        self._count, self._ended = whole(position["count"]), bool(position["ended"])

    def close(self) -> None:
        self._arrivals.close()
