"""IndexedTable: the records of files by number, as an index of offsets says where each begins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import path_text, truth
from pipeline.errors import invalid
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

    def part(self, first: int, end: int) -> NDArray[np.int64]:
        """Return the offsets of records from one up to another, and where the last of these ends."""


class IndexedParts(Parts):
    """Files whose records can be read from any of them on.

    Attributes:
        left_out: How many records at the start of each file are left out.
        encoding: Of the files; None if they are read as they are.
        calls: Whether making examples calls functions of the user's.
    """

    left_out = 0
    encoding: str | None = None
    calls = False

    def places(self, name: str, folder: str | None) -> Places:
        """Return where the records of a file begin.

        Args:
            name: The file.
            folder: Where the index is kept; None for the cache folder.
        """
        raise NotImplementedError

    def piece(self, name: str, data: bytes, offsets: NDArray[np.int64]) -> Any:
        """Return a piece, as `read` yields them.

        Args:
            name: The file.
            data: The bytes of some neighbouring records.
            offsets: Where each begins in the file, and where the last one ends.
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
    name = None if folder is None else path_text(folder, f"{parts.kind}: index_folder")
    if not truth(index, f"{parts.kind}: index"):
        if name is not None:
            raise invalid(f"{parts.kind}: index_folder= is for index=True: leave it out, or pass that too")
        return PartsSource(parts, epochs, PartsStream)
    if parts.encoding is not None:
        text = f"{parts.kind}: index=True takes files in UTF-8, and encoding= is {parts.encoding!r}: leave out index="
        raise invalid(text)
    parts.names = [os.fsdecode(each).removeprefix("file://") for each in parts.names]
    refuse_others(parts.names, parts.kind)
    return TableSource(IndexedTable(parts, [parts.places(each, name) for each in parts.names]), epochs)


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
        pieces = []
        runs = list(self._runs(numbers))
        for (which, first, end), following in zip(runs, [*runs[1:], None], strict=True):
            pieces.append(self._piece(which, first, end))
            if following is None or following[0] != which:  # once for neighbours: a call takes longer than a short read
                self._files.check(self._places[which].name, self._places[which].identity)
        return self._parts.rows(pieces[0] if len(pieces) == 1 else self._parts.joined(pieces))

    def named(self, number: int) -> str | None:
        which, inside = self.place(number)
        return self._parts.named(self._piece(which, inside, inside + 1), 0)

    def facts(self) -> dict[str, Any]:
        return {**self._parts.facts(), **super().facts(), "index": True, "records": len(self)}

    def _runs(self, numbers: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
        """Return the files of some records, and their numbers there: neighbours together."""
        files = np.searchsorted(self._ends, numbers, "right")
        cuts = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(files) != 0)) + 1
        begins = np.concatenate(([0], cuts))
        counts = np.diff(np.concatenate((begins, [len(numbers)])))
        which = files[begins]
        inside = numbers[begins] - np.concatenate(([0], self._ends))[which]
        return zip(which.tolist(), inside.tolist(), (inside + counts).tolist(), strict=True)

    def _piece(self, which: int, first: int, end: int) -> Any:
        places = self._places[which]
        offsets = places.part(first + self._skip, end + self._skip)
        data = self._files.read(places.name, places.identity, int(offsets[0]), int(offsets[-1]))
        return self._parts.piece(places.name, data, offsets)


class Regular:
    """The places of records of equal size.

    Args:
        name: The file.
        identity: Its size and time.
        begin: Where the first begins.
        size: Of a record, in bytes.
        count: How many there are.
    """

    def __init__(self, name: str, identity: tuple[int, int], begin: int, size: int, count: int) -> None:
        self.name, self.identity = name, identity
        self._begin, self._size, self._count = begin, size, count

    def __len__(self) -> int:
        return self._count

    def part(self, first: int, end: int) -> NDArray[np.int64]:
        return self._begin + np.arange(first, end + 1) * self._size
