"""Store: a cache's elements and the stream writing them; one per folder and process."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from pipeline.files.shelf import Folder, Memory, Shelf
from pipeline.locks import Lock
from pipeline.stages.kept_rows import KeptRows


class Writes(Protocol):
    """A stream that writes elements into the cache."""

    def stop_writing(self) -> None:
        """Keep all computed elements, and stop writing."""


class Store:
    """A cache's elements: one store per folder and process, so a pickled one becomes the other process's store.

    Args:
        shelf: Stores the elements.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._rows: KeptRows | None = None
        self._filling: weakref.ref[Writes] | None = None

    @classmethod
    def of(cls, path: str) -> Store:
        """Return the folder's store."""
        folder = Folder(path, "cache")
        with _guard:
            found = _of_folders.get(folder.path)
            if found is None or found.is_old():
                found = _of_folders[folder.path] = cls(folder)
            return found

    def is_old(self) -> bool:
        """Return whether it is complete, but the folder now has other elements or none."""
        rows = self._rows
        return rows is not None and rows.complete and rows.lines is not self.shelf.lines()

    def __reduce__(self) -> Any:
        return (Store.of, (self.shelf.path,)) if isinstance(self.shelf, Folder) else (Store, (Memory(),))

    def rows(self) -> KeptRows:
        """Return the rows stored so far, in whole chunks."""
        rows = self._rows
        if rows is None or not rows.complete:
            lines = self.shelf.lines()
            if rows is None or rows.lines is not lines:
                rows = self._rows = KeptRows(self.shelf)
        return rows

    def fills(self, filling: Writes) -> None:
        """Record the writing stream."""
        self._filling = weakref.ref(filling)

    def stop_filling(self) -> None:
        """Stop the writing stream in this process: it keeps its computed elements, and continues without writing."""
        filling = None if self._filling is None else self._filling()
        if filling is not None:
            filling.stop_writing()


_of_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
_guard = Lock()
