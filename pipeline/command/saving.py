"""Where `feed` goes on from, and when it keeps its place."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.datasets.iterator import DatasetIterator
from pipeline.resume.state_file import load_state, save_state

EVERY = 100  # batches between two saves


class Saving(NamedTuple):
    """The files to go on from and to save to, and after how many batches each time; None for neither."""

    resume: str | None
    path: str | None
    every: int

    def load(self, batches: DatasetIterator[Any]) -> None:
        """Let a loop that has not begun go on from the file."""
        if self.resume is not None:
            batches.load_state_dict(load_state(self.resume))

    def after(self, taken: int, batches: DatasetIterator[Any]) -> None:
        """Save if it is time to, after so many batches."""
        if taken % self.every == 0:
            self.save(batches)

    def save(self, batches: DatasetIterator[Any]) -> None:
        """Save the place after the last batch."""
        if self.path is not None:
            save_state(self.path, batches.state_dict())
