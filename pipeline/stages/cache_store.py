"""Store: a cache's elements and the stream that adds to them; one per folder and process."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Protocol

from pipeline.files.shelf import Folder, Memory, Shelf
from pipeline.stages.kept_rows import KeptRows


class Writes(Protocol):
    """A writing stream."""

    def stop_writing(self) -> None:
        """Keep what was computed, and write no more."""


class Store:
    """The elements of a cache, one store per folder and process; a pickled one becomes another.

    Args:
        shelf: Storage of the elements.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._rows: KeptRows | None = None
        self._filling: weakref.ref[Writes] | None = None

    @classmethod
    def of(cls, path: str) -> Store:
        """Return the one of a folder."""
        folder = Folder(path, "cache")
        with _guard:
            found = _of_folders.get(folder.path)
            if found is None or found.is_old():
                found = _of_folders[folder.path] = cls(folder)
            return found

    def is_old(self) -> bool:
        """Return whether it has all elements, and the folder has others by now, or none."""
        rows = self._rows
        return rows is not None and rows.complete and rows.lines is not self.shelf.lines()

    def __reduce__(self) -> Any:
        return (Store.of, (self.shelf.path,)) if isinstance(self.shelf, Folder) else (Store, (Memory(),))

    def rows(self) -> KeptRows:
        """Return what is there now, in whole chunks."""
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
        """Let a stream of this process write no more: it keeps what it has computed, and goes on without."""
        filling = None if self._filling is None else self._filling()
        if filling is not None:
            filling.stop_writing()


_of_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
_guard = threading.RLock()
