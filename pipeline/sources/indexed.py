"""IndexedTable: the records of files by number, as an index of offsets says where each begins."""

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
    """Where the records of a file begin."""

    name: str
    identity: tuple[int, int]

    def __len__(self) -> int: ...

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the starts of records; for the index after the last one, its end."""


class IndexedParts(Parts):
    """Files whose records can be read from any of them on.

    Attributes:
        left_out: How many records at the start of each file are left out.
        encoding: Of the files; None for bytes.
        calls: True if making examples calls functions of the user's.
        joins: True if the bytes of records that are not neighbours may be read together, one after the other.
    """

    takes_index = True
    left_out = 0
    encoding: str | None = None
    calls = False
    joins = True

    def places(self, name: str, folder: str | None) -> Places:
        """Return where the records of a file begin.

        Args:
            name: The file.
            folder: Folder of the index; None for the cache folder.
        """
        raise NotImplementedError

    def piece(self, name: str, data: bytes, begin: int) -> Any:
        """Return a piece, as `read` yields them.

        Args:
            name: The file.
            data: The bytes of some neighbouring records.
            begin: Where the first of them begins in the file.
        """
        raise NotImplementedError

    def joined(self, pieces: Sequence[Any]) -> Any:
        """Return one piece of the records of several.

        Errors may name a wrong record of it: the one that fails is made again, alone.
        """
        raise NotImplementedError


def source_of(parts: IndexedParts, epochs: Epochs, index: bool, folder: Any) -> Source:
    """Return the source of some files: indexed, or as a stream.

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
    """Records that were read, neighbours together.

    Attributes:
        files, data, begins: The file, the bytes, and where they begin, of each group of neighbours.
        alone: The groups whose bytes must not be read together with others.
    """

    files: list[int]
    data: list[bytes]
    begins: list[int]
    alone: Sequence[int]


class IndexedTable(FileTable):
    """The records of files.

    Args:
        parts: The files.
        places: Where the records of each begin.
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
        """Read records: neighbours together, and those of a file one after the other."""
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
            alone += mine[ends == len(places)].tolist()  # a last line may have no end
        return _Found(which.tolist(), data.tolist(), begins.tolist(), alone if self._parts.joins else range(len(data)))

    def _neighbours(self, file: int, number: int, count: int) -> _Found:
        """Read neighbouring records of one file."""
        places, first = self._places[file], number - (int(self._ends[file - 1]) if file else 0) + self._skip
        begin, end = places.at(np.array([first, first + count])).tolist()
        return _Found([file], self._files.read(places.name, places.identity, [begin], [end]), [begin], ())


class Regular:
    """The places of records of equal size.

    Args:
        name: The file.
        identity: Its size and time.
        begin: Where the first begins.
        size: Of a record, in bytes.
        count: Their number.
    """

    def __init__(self, name: str, identity: tuple[int, int], begin: int, size: int, count: int) -> None:
        self.name, self.identity = name, identity
        self._begin, self._size, self._count = begin, size, count

    def __len__(self) -> int:
        return self._count

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._begin + numbers * self._size
