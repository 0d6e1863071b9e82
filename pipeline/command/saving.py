"""Save and load the state of `feed`."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.datasets.iterator import DatasetIterator
from pipeline.resume.state_file import load_state, save_state

EVERY = 100  # batches between two saves


class Saving(NamedTuple):
    """Files to resume from and to save to, and the number of batches between saves; None for neither."""

    resume: str | None
    path: str | None
    every: int

    def load(self, batches: DatasetIterator[Any]) -> None:
        """Resume a new iterator from the file."""
        if self.resume is not None:
            batches.load_state_dict(load_state(self.resume))

    def after(self, taken: int, batches: DatasetIterator[Any]) -> None:
        """Save the state if it is due after this many batches."""
        if taken % self.every == 0:
            self.save(batches)

    def save(self, batches: DatasetIterator[Any]) -> None:
        """Save the state after the last batch."""
        if self.path is not None:
            save_state(self.path, batches.state_dict())
