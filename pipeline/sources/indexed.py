"""IndexedTable: file records by index, with an index of their offsets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import local_path, truth
from pipeline.errors import invalid
from pipeline.files.encoding import is_converted
from pipeline.files.random_file import RandomFiles
from pipeline.files.scans import refuse_others
from pipeline.sources.file_table import FileTable
from pipeline.sources.nodes import Parts, PartsStream
from pipeline.sources.order import Epochs
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import PartsSource
from pipeline.stages.block import Columns, Examples


class Places(Protocol):
    """The positions of a file's records."""

    name: str
    identity: tuple[int, int]

    def __len__(self) -> int: ...

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return record starts; for the index after the last record, its end."""


class IndexedParts(Parts):
    """Files readable from any record on.

    Attributes:
        left_out: Records skipped at the start of each file.
        encoding: The files' encoding; None for bytes.
        calls: True if making examples calls user functions.
        joins: True if the bytes of separate records may be concatenated and read together.
    """

    takes_index = True
    left_out = 0
    encoding: str | None = None
    calls = False
    joins = True

    def places(self, name: str, folder: str | None) -> Places:
        """Return the positions of a file's records.

        Args:
            name: The file.
            folder: Folder of the index; None for the cache folder.
        """
        raise NotImplementedError

    def piece(self, name: str, data: bytes, begin: int) -> Any:
        """Return a piece, in the form yielded by `read`.

        Args:
            name: The file.
            data: The bytes of neighbouring records.
            begin: The first record's offset in the file.
        """
        raise NotImplementedError

    def joined(self, pieces: Sequence[Any]) -> Any:
        """Join the records of several pieces in one.

        Errors may name a wrong record in it: a failing record is made again, alone.
        """
        raise NotImplementedError


def source_of(parts: IndexedParts, epochs: Epochs, index: bool, folder: Any) -> Source:
    """Return a source for files: indexed, or as a stream.

    Raises:
        InvalidArgumentError: There is an `index_folder` without an index, or files cannot be indexed.
        TypeError: An option has a wrong type.
    """
    name = None if folder is None else local_path(folder, f"{parts.kind}: index_folder")
    if not truth(index, f"{parts.kind}: index"):
        if name is not None:
            raise invalid(f"{parts.kind}: index_folder= is for index=True: leave it out, or pass that too")
        return PartsSource(parts, epochs, PartsStream)
    if is_converted(parts.encoding):
        text = f"{parts.kind}: index=True takes files in UTF-8, and encoding= is {parts.encoding!r}: leave out index="
        raise invalid(text)
    parts.names = [os.fsdecode(each).removeprefix("file://") for each in parts.names]
    refuse_others(parts.names, parts.kind)
    return TableSource(IndexedTable(parts, [parts.places(each, name) for each in parts.names]), epochs)


class _Found(NamedTuple):
    """Records read from files, in groups of neighbours.

    Attributes:
        files, data, begins: Each group's file, bytes, and start offset.
        alone: The groups with bytes that must not be read together with others.
    """

    files: list[int]
    data: list[bytes]
    begins: list[int]
    alone: Sequence[int]


class IndexedTable(FileTable):
    """Records in files.

    Args:
        parts: The files.
        places: The record positions per file.
    """

    unit = "records"

    def __init__(self, parts: IndexedParts, places: Sequence[Places]) -> None:
        self.kind, self.most, self.one_by_one = parts.kind, parts.most, parts.one_by_one
        self.ahead = not parts.calls
        self._parts, self._places, self._skip = parts, places, parts.left_out
        self._files = RandomFiles(parts.kind)
        super().__init__(parts.names, [max(0, len(each) - self._skip) for each in places])

    def functions(self) -> tuple[Any, ...]:
        return self._parts.functions()

    def rows(self, numbers: NDArray[np.int64]) -> Columns | Examples:
        found = self._read(numbers)
        cuts = [0, *sorted({at for i in found.alone for at in (i, i + 1)} - {0, len(found.data)}), len(found.data)]
        pieces = [self._piece(found, low, high) for low, high in itertools.pairwise(cuts)]
        return self._parts.rows(pieces[0] if len(pieces) == 1 else self._parts.joined(pieces))

    def _piece(self, found: _Found, low: int, high: int) -> Any:
        data = found.data[low] if high == low + 1 else b"".join(found.data[low:high])
        return self._parts.piece(self.names[found.files[low]], data, found.begins[low])

    def named(self, number: int) -> str | None:
        return self._parts.named(self._piece(self._read(np.array([number], np.int64)), 0, 1), 0)

    def facts(self) -> dict[str, Any]:
        return {**self._parts.facts(), **super().facts(), "index": True, "records": len(self)}

    def _read(self, numbers: NDArray[np.int64]) -> _Found:
        """Read records: neighbours together, and each file's records in sequence."""
        files = np.searchsorted(self._ends, numbers, "right")
        cuts = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(files) != 0)) + 1
        if not len(cuts):
            return self._neighbours(int(files[0]), int(numbers[0]), len(numbers))
        firsts = np.concatenate(([0], cuts))
        counts = np.diff(firsts, append=len(numbers))
        which = files[firsts]
        inside = numbers[firsts] - np.concatenate(([0], self._ends))[which] + self._skip
        data, begins, alone = np.empty(len(firsts), object), np.empty(len(firsts), np.int64), []
        order = which.argsort(kind="stable")
        borders = np.flatnonzero(np.diff(which[order])) + 1
        for low, high in itertools.pairwise([0, *borders.tolist(), len(order)]):
            mine = order[low:high]
            places, ends = self._places[which[mine[0]]], inside[mine] + counts[mine]
            begins[mine] = places.at(inside[mine])
            data[mine] = self._files.read(places.name, places.identity, begins[mine].tolist(), places.at(ends).tolist())
            alone += mine[ends == len(places)].tolist()  # a last line may lack an end
        return _Found(which.tolist(), data.tolist(), begins.tolist(), alone if self._parts.joins else range(len(data)))

    def _neighbours(self, file: int, number: int, count: int) -> _Found:
        """Read neighbouring records from one file."""
        places, first = self._places[file], number - (int(self._ends[file - 1]) if file else 0) + self._skip
        begin, end = places.at(np.array([first, first + count])).tolist()
        return _Found([file], self._files.read(places.name, places.identity, [begin], [end]), [begin], ())


class Regular:
    """Positions of records with equal size.

    Args:
        name: The file.
        identity: Its size and time.
        begin: The first record's offset.
        size: Bytes per record.
        count: Number of records.
    """

    def __init__(self, name: str, identity: tuple[int, int], begin: int, size: int, count: int) -> None:
        self.name, self.identity = name, identity
        self._begin, self._size, self._count = begin, size, count

    def __len__(self) -> int:
        return self._count

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._begin + numbers * self._size
