"""FileTable: rows of several files, each with its number in its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.files.identity import LISTED, contents_of, file_identity, names_of
from pipeline.sources.nodes import Table


class FileTable(Table):
    """The rows of several files, one file after another.

    Args:
        names: The files.
        counts: Number of rows.
    """

    def __init__(self, names: Sequence[str], counts: Sequence[int]) -> None:
        self.names = names
        self._ends = np.cumsum(np.asarray(counts, np.int64))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def place(self, number: int) -> tuple[int, int]:
        """Return which file a row is in, and its number there."""
        which = int(np.searchsorted(self._ends, number, "right"))
        return which, number - (int(self._ends[which - 1]) if which else 0)

    def facts(self) -> dict[str, Any]:
        many = {"contents": contents_of(self.names)} if len(self.names) > LISTED else {}
        return {"files": len(self.names), **names_of(self.names), **many}

    def files(self) -> Sequence[str]:
        return self.names

    def identities(self) -> dict[str, Any]:
        """Return the identities of the files; None if there are many, as `facts` covers them then."""
        names = self.names if len(self.names) <= LISTED else ()
        return {name: identity for name in names if (identity := file_identity(name)) is not None}
