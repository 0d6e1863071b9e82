"""FileTable: rows from several files, each with its index in its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.files.identity import LISTED, contents_of, file_identity, names_of
from pipeline.sources.nodes import Table


class FileTable(Table):
    """Rows from several files, one file after another.

    Args:
        names: The files.
        counts: Rows per file.
    """

    def __init__(self, names: Sequence[str], counts: Sequence[int]) -> None:
        self.names = names
        self._ends = np.cumsum(np.asarray(counts, np.int64))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def place(self, number: int) -> tuple[int, int]:
        """Return a row's file, and its index there."""
        which = int(np.searchsorted(self._ends, number, "right"))
        return which, number - (int(self._ends[which - 1]) if which else 0)

    def by_file(self, numbers: NDArray[np.int64], read: Callable[[int, NDArray[np.int64]], Sequence[Any]]) -> list[Any]:
        """Return rows in the order of their numbers, reading each file's rows together.

        Args:
            numbers: The numbers.
            read: Returns a file's rows, given the file's index and the rows' indices in it.
        """
        files = np.searchsorted(self._ends, numbers, "right")
        inside = numbers - np.concatenate(([0], self._ends))[files]
        if files[0] == files[-1] and (files == files[0]).all():
            return list(read(int(files[0]), inside))
        found: list[Any] = [None] * len(numbers)
        for file in dict.fromkeys(files.tolist()):
            mine = np.flatnonzero(files == file)
            for place, row in zip(mine.tolist(), read(file, inside[mine]), strict=True):
                found[place] = row
        return found

    def facts(self) -> dict[str, Any]:
        many = {"contents": contents_of(self.names)} if len(self.names) > LISTED else {}
        return {"files": len(self.names), **names_of(self.names), **many}

    def files(self) -> Sequence[str]:
        return self.names

    def identities(self) -> dict[str, Any]:
        """Return the files' identities; None if there are many, because `facts` covers them then."""
        names = self.names if len(self.names) <= LISTED else ()
        return {name: identity for name in names if (identity := file_identity(name)) is not None}
