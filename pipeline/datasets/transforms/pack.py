"""pack: sequences concatenated into rows of one length, with segment ids and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.node import Node, Opening
from pipeline.dtypes import native
from pipeline.errors import invalid
from pipeline.flow.block import Block, Examples
from pipeline.flow.collate import as_array
from pipeline.flow.held import Arrivals, Element
from pipeline.flow.ids import as_one, joined
from pipeline.flow.stream import Ahead, Stream, dropped, seek_later, shorter, whole

OPEN_ROWS = 16

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
        return shared.gauged(self, _Split(Ahead(stream), self) if self.split else _Fitted(Arrivals(stream), self))


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
    row = {name: _empty(name, array, size, pad) for name, array in first.items()}
    segments, positions = np.zeros(size, np.int32), np.zeros(size, np.int32)
    at = 0
    for number, piece in enumerate(pieces, 1):
        if piece.keys() != first.keys():
            raise invalid(f"pack: examples differ in their fields: {sorted(first)} and {sorted(piece)}")
        end = at + length_of(piece)
        for name, array in piece.items():
            _check_alike(name, first[name], array)
            row[name][at:end] = array
        segments[at:end] = number
        positions[at:end] = np.arange(end - at)
        at = end
    return {**row, "segment_ids": segments, "positions": positions}


def _check_alike(name: str, first: NDArray[Any], array: NDArray[Any]) -> None:
    """Refuse a piece that would be cast, or repeated, to fit into the row that another one has begun."""
    if array.dtype != first.dtype:
        raise TypeError(f"pack: {name!r} has dtype {first.dtype} in one example and {array.dtype} in another")
    if array.shape[1:] != first.shape[1:]:
        shapes = f"{list(first.shape[1:])} in one example and {list(array.shape[1:])} in another"
        raise invalid(f"pack: what {name!r} is a sequence of has shape {shapes}")


def _empty(name: str, array: NDArray[Any], size: int, pad: Any) -> NDArray[Any]:
    """Return a field of a row with nothing but padding."""
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
    row = np.empty((size, *array.shape[1:]), array.dtype)
    row[...] = filler
    return row


class _Split:
    """Rows that are full: sequences continue in the next one. The position is that of a sequence, and how much of it
    earlier rows have."""

    def __init__(self, stream: Ahead, node: Pack) -> None:
        self._stream, self._node = stream, node
        self._offset = self._count = 0

    def take(self, n: int) -> Block | None:
        size = self._node.size
        pieces: list[dict[str, NDArray[Any]]] = []
        ids = []
        have, used, offset = 0, 0, self._offset
        while have < size:
            block = self._stream.look_at(used)
            if block is None:
                break
            (example,) = block.made().examples()
            fields = fields_of(example)
            left = length_of(fields) - offset
            if left < 0:
                raise shorter()
            part = min(left, size - have)
            if part:
                pieces.append({name: array[offset : offset + part] for name, array in fields.items()})
                ids.append(block.ids)
            have += part
            if part < left:
                offset += part
                break
            used, offset = used + 1, 0
        self._stream.drop(used)
        self._offset = offset
        if not pieces:
            return None
        first, self._count = self._count, self._count + 1
        row = row_of(pieces, size, self._node.pad)
        return Block(Examples([row]), as_one(joined(ids)), range(first, self._count))

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count, self._offset, self._stream.position()]

    def seek(self, position: Any) -> None:
        count, offset, inner = position
        self._count, self._offset = whole(count), whole(offset)
        seek_later(self._stream, inner)

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
        at = self._arrivals.position([each for row in held for each in row])
        return {**at, "held": held, "count": self._count, "ended": self._ended}

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
