"""KeptRows: elements stored as columns on a shelf, by row. RowWriter: adds elements to a shelf.

Rows form a segment if their elements have the same structure and column kinds; usually there is one segment. A
structure is plain data: a column number, ["dict", [[key, structure], ...]], or ["tuple" or "list", [structure, ...]].
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline._rows import Gatherer, gathers
from pipeline.errors import DataLossError, OpError
from pipeline.files.shelf import Folder, Shelf, Writer, ends_of
from pipeline.memory import keep_pages
from pipeline.nest import CONSTANT, ListParts, TupleParts, kept
from pipeline.nest import parts_of as parts_of_value
from pipeline.stages.block import Block, Columns, Examples, Numbers, as_columns, block_of, join_values
from pipeline.stages.column_kinds import PICKLE, PLAIN, Kind, array_of, encoded, kind_of, parts_of, reader_of, wider
from pipeline.stages.index import Index

# Elements buffered per write, and their bytes.
_ROWS, _BYTES = 1024, 1 << 20

# Elements written directly if the buffer is empty, because buffering them costs more than another write.
_MANY = 128

_DICT, _TUPLE = frozenset({dict}), frozenset({tuple})
_TEXTS, _NUMBERS = frozenset({str, bytes}), frozenset({int, float})

# Size and age for finishing a chunk. `kill -9` loses at most this much.
_CHUNK, _SECONDS = 64 << 20, 5.0


def _columns_of(values: Columns | Examples) -> tuple[Any, list[Any]]:
    """Return the structure and columns of elements."""
    columns: list[Any] = []
    if type(values) is Columns:
        structure = _apart(block_of(values), columns)
        if structure is not None:
            return structure, columns
    columns = []
    return _split(list(values.examples()), columns), columns


def _split(values: list[Any], columns: list[Any]) -> Any:
    """Append value columns to `columns`, one per part if all values have the same parts; return the structure."""
    kinds, first = frozenset(map(type, values)), values[0]
    if kinds == _DICT and all(type(key) is str for key in first):
        keys = list(first)
        if all([list(each) == keys for each in values]):
            return ["dict", [[key, _split([each[key] for each in values], columns)] for key in keys]]
    if kinds == _TUPLE and len(frozenset(map(len, values))) == 1:
        return ["tuple", [_split(list(each), columns) for each in zip(*values, strict=True)]]
    columns.append(values)
    return len(columns) - 1


def _apart(block: Any, columns: list[Any]) -> Any:
    """Append a block's columns to `columns` and return its structure; None for unsupported structures."""
    kind = type(block)
    parts: Any
    if kind is dict and all(type(key) is str for key in block):
        parts = [[key, _apart(each, columns)] for key, each in block.items()]
        return None if any(each is None for _, each in parts) else ["dict", parts]
    if kind is TupleParts or kind is ListParts:
        parts = [_apart(each, columns) for each in block]
        return None if None in parts else ["list" if kind is ListParts else "tuple", parts]
    columns.append(block)
    return len(columns) - 1 if kind is np.ndarray or kind is list else None


def _together(structure: Any, columns: list[Any]) -> Any:
    """Return columns in a structure, as a block."""
    if type(structure) is int:
        return columns[structure]
    name, parts = structure
    if name == "dict":
        return {key: _together(each, columns) for key, each in parts}
    return (ListParts if name == "list" else TupleParts)([_together(each, columns) for each in parts])


def _values_of(structure: Any, columns: list[Any], count: int) -> Columns | Examples:
    """Return elements from a structure and columns."""
    if type(structure) is int:
        return Examples(columns[0]) if type(columns[0]) is list else Columns(columns, count)
    if not columns:  # empty dicts and tuples
        example = _together(structure, [])
        return Examples([tuple(example) if structure[0] == "tuple" else example for _ in range(count)])
    return as_columns(_together(structure, columns), count)


class KeptRows:
    """The committed elements on a shelf, by row.

    Args:
        shelf: The shelf.

    Attributes:
        about: The shelf's description; None if it is empty.
        count: Number of rows.
        complete: True if these are all elements.
        state: The input's state after the last row.
        pickles: True if some elements are pickled.

    Raises:
        DataLossError: The elements are damaged.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf, lines = shelf, shelf.lines()
        self.lines = lines
        self.about: Any = lines[0] if lines else None
        chunks = lines[1:]
        self.layouts: list[tuple[Any, list[Kind]]] = []  # structure and column kinds per segment
        self._counts: list[int] = []
        with refusing_damage(shelf):
            last: dict[str, Any] = chunks[-1] if chunks else {"complete": False, "state": None}
            self.complete: bool = last["complete"]
            self.state: Any = last["state"]
            self._ends = ends_of(chunks)
            for segment, rows, layout in (each for chunk in chunks for each in chunk["segments"]):
                if layout is not None:
                    self.layouts.append(tuple(layout))
                    self._counts.append(0)
                self._counts[segment] += rows
            self.pickles = any(PICKLE in kinds for _, kinds in self.layouts)
            self._starts = np.cumsum([0, *self._counts])
        self.count = int(self._starts[-1])
        self._segments: dict[int, _Segment] = {}

    @functools.cached_property
    def index(self) -> KeptIndex:
        """The elements by place."""
        return KeptIndex(self)

    def segment(self, i: int) -> _Segment:
        """Return a segment."""
        found = self._segments.get(i)
        if found is None:
            structure, kinds = self.layouts[i]
            with refusing_damage(self._shelf):
                parts = [
                    {
                        part: self._shelf.view(name := f"{i}-{k}-{part}", self._ends.get(name, 0))
                        for part in parts_of(kind)
                    }
                    for k, kind in enumerate(kinds)
                ]
                found = self._segments[i] = _Segment(structure, kinds, parts, self._counts[i])
        return found

    def lasts(self) -> dict[str, int]:
        """Return the end of the last segment's last value, by column."""
        last, found = len(self.layouts) - 1, {}
        for i, kind in enumerate(self.layouts[last][1] if self.layouts else []):
            name = f"{last}-{i}-ends"
            if "ends" in parts_of(kind):
                found[name] = int(self._shelf.view(name, self._ends[name])[-8:].view(np.int64)[0])
        return found

    def values(self, rows: Numbers) -> Columns | Examples:
        """Return elements by row."""
        with refusing_damage(self._shelf):
            if len(self.layouts) == 1:
                return self.segment(0).values(rows)
            found, order = [], []
            which = np.searchsorted(self._starts, rows, "right") - 1
            for i in np.unique(which).tolist():
                mine = np.flatnonzero(which == i)
                found.append(self.segment(i).values(rows[mine] - self._starts[i]))
                order.append(mine)
            return (
                join_values(found).picked(np.argsort(np.concatenate(order), kind="stable")) if found else Examples([])
            )


@contextlib.contextmanager
def refusing_damage(shelf: Shelf) -> Iterator[None]:
    """Raise DataLossError for bytes, or a log, that cannot be what a cache wrote."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:  # also from a forged log
        if isinstance(error, OpError) or not isinstance(shelf, Folder):
            raise
        text = f"cache: what {shelf.path!r} holds is damaged: {error}"
        raise DataLossError(None, None, f"{text}: pass rebuild=True to compute the elements again") from error


class _Segment:
    """A segment's rows.

    Attributes:
        gatherer: A row copier if all columns are stackable arrays; else None.
        structure: The structure for the gatherer, as in `Columns`.
    """

    def __init__(self, structure: Any, kinds: list[Kind], parts: list[Any], rows: int) -> None:
        keep_pages()  # keeps the pages of garbage elements: with fresh pages, 150 KB took 40 us instead of 20
        self._structure, self._kinds = structure, kinds
        self._arrays = {
            i: array_of(kind, parts[i]["values"], rows)
            for i, kind in enumerate(kinds)
            if kind[0] in ("array", "number")
        }
        self._readers = {
            i: reader_of(kind, parts[i]) for i, kind in enumerate(kinds) if kind[0] not in ("array", "number")
        }
        arrays = tuple(self._arrays.values())
        quick = Gatherer(arrays) if arrays and gathers(arrays, rows) else None
        self._take = (lambda rows: [each[rows] for each in arrays]) if quick is None else quick.take
        self.gatherer: Gatherer | None = None
        self.structure: Any = None
        plain = all(kind[0] == "array" for kind in kinds) and all(each.dtype.isnative for each in arrays)
        if plain and quick is not None:
            made: Any = _values_of(structure, list(arrays), rows)  # the order of keys may differ
            self.gatherer, self.structure = Gatherer(tuple(made.arrays)), made.structure

    def values(self, rows: Numbers) -> Columns | Examples:
        """Return elements by row within the segment."""
        if self.gatherer is not None:
            return Columns(self.gatherer.take(rows), len(rows), self.structure)
        columns: list[Any] = [None] * len(self._kinds)
        for i, array in zip(self._arrays, self._take(rows) if self._arrays else (), strict=True):
            columns[i] = array.tolist() if self._kinds[i][0] == "number" else array
        for i, reader in self._readers.items():
            columns[i] = reader(rows)
        return _values_of(self._structure, columns, len(rows))


class KeptIndex(Index):
    """Stored elements by index."""

    def __init__(self, rows: KeptRows) -> None:
        self._rows, self._length = rows, rows.count
        only = rows.segment(0) if len(rows.layouts) == 1 else None
        self._gatherer = None if only is None else only.gatherer
        self._structure = None if only is None else only.structure
        self.of_numbers = self._gatherer is not None

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        if self._gatherer is not None:
            return Block(Columns(self._gatherer.take(places), len(places), self._structure), places)
        return Block(self._rows.values(places), places)

    def runs(self, starts: Numbers, size: int) -> Block | None:
        if self._gatherer is None:
            return None
        return Block(Columns(self._gatherer.runs(starts, size), len(starts), self._structure), starts, sizes=size)


class RowWriter:
    """Adds elements to a shelf and finishes chunks.

    Args:
        writer: Writes to the shelf.
        rows: The stored rows.
        length: Final number of elements, if known.
        pickles: True to pickle values of odd classes; otherwise these raise a TypeError.

    Attributes:
        waits: True if there are uncommitted elements.
    """

    def __init__(self, writer: Writer, rows: KeptRows, length: int | None, pickles: bool) -> None:
        self._writer, self._length, self._odd = writer, length, PICKLE if pickles else PLAIN
        self._segment, self._layout = len(rows.layouts) - 1, rows.layouts[-1] if rows.layouts else None
        self._lasts = rows.lasts()  # end of the last value, by column
        self._segments: list[Any] = []  # for this chunk: number, rows, and a new layout
        self._waiting: list[Columns | Examples] = []
        self._rows = self._bytes = 0  # for buffered elements
        self._since = time.monotonic()

    def add(self, values: Columns | Examples) -> None:
        """Add elements. The caller may change them afterwards.

        Raises:
            ResourceExhaustedError: The disk is full.
            TypeError: An element cannot be stored.
        """
        many = not self._waiting and len(values) >= _MANY
        size = 0 if many else _size_of(values)
        if many or (not self._waiting and size >= _BYTES >> 3):
            self._write(values)
            return
        self._waiting.append(_copied(values))
        self._rows, self._bytes = self._rows + len(values), self._bytes + size
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            values, self._waiting, self._rows, self._bytes = join_values(self._waiting), [], 0, 0
            self._write(values)

    def _write(self, values: Columns | Examples) -> None:
        structure, columns = _columns_of(values)
        kinds, before, new = [kind_of(each, self._odd) for each in columns], self._layout, None
        if before is not None and before[0] != structure:
            structure, kinds, columns = 0, [self._odd], [list(values.examples())]
        elif before is not None:
            kinds = [wider(one, other, self._odd) for one, other in zip(before[1], kinds, strict=True)]
        if before != (structure, kinds):
            self._segment, self._layout, self._lasts = self._segment + 1, (structure, kinds), {}
            new = [structure, kinds]
        count = len(values)
        for i, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
            for part, data in encoded(kind, column).items():
                name, expected = f"{self._segment}-{i}-{part}", 0
                if part == "ends":
                    data = data + self._lasts.get(name, 0)
                    self._lasts[name] = int(data[-1])
                elif self._length is not None and part == "values":
                    expected = data.nbytes // count * self._length
                if data.nbytes:
                    self._writer.append(name, data.reshape(-1).view(np.uint8), expected)
        if new is None and self._segments:
            self._segments[-1][1] += count
        else:
            self._segments.append([self._segment, count, new])

    @property
    def waits(self) -> bool:
        return bool(self._segments or self._waiting)

    @property
    def due(self) -> bool:
        """True if a chunk should be finished."""
        return self._writer.bytes >= _CHUNK or time.monotonic() - self._since >= _SECONDS

    def commit(self, state: Any, complete: bool) -> None:
        """Finish a chunk.

        Args:
            state: The input's state after the chunk.
            complete: True if these are all elements.

        Raises:
            ResourceExhaustedError: The disk is full.
        """
        self._flush()
        self._writer.commit({"segments": self._segments, "state": state, "complete": complete})
        self._segments, self._since = [], time.monotonic()

    def close(self) -> None:
        """Let other processes write; an unfinished chunk is dropped."""
        self._writer.close()


def _size_of(values: Columns | Examples) -> int:
    """Estimate the size of elements in bytes."""
    columns = values.arrays if type(values) is Columns else [values.items]
    return sum([each.nbytes if type(each) is np.ndarray else _weight_of_all(each) for each in columns])


def _weight_of_all(values: Any) -> int:
    return 64 * len(values) + sum(map(len, values) if all_of(values, _TEXTS) else map(_weight, values))


def _weight(value: Any) -> int:
    kind = type(value)
    if kind in _TEXTS or (kind is list and all_of(value, _NUMBERS)):
        return len(value)
    if kind is np.ndarray:
        return int(value.nbytes)
    parts = parts_of_value(value)
    return 0 if parts is None else _weight_of_all(parts)


def _copied(values: Columns | Examples) -> Columns | Examples:
    """Return elements as private arrays for the caller."""
    if type(values) is Columns:
        arrays = [each.copy() if type(each) is np.ndarray else _copied_all(each) for each in values.arrays]
        return Columns(arrays, len(values), values.structure)
    return Examples(_copied_all(list(values.examples())))


def _copied_all(values: list[Any]) -> list[Any]:
    return values.copy() if all_of(values, CONSTANT) else [kept(each, False) for each in values]
