"""OneReader: an iterator has one reader at a time, as each would take elements from the other."""

from __future__ import annotations

import weakref
from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.flow.run import Run
from pipeline.flow.stream import Stream


class OneReader:
    """Which stream reads an iterator now."""

    def __init__(self) -> None:
        self._known: list[tuple[weakref.ref[Any], Run]] = []

    def begin(self, stream: Stream, shared: Run, name: str) -> None:
        """Let a stream read.

        Raises:
            FailedPreconditionError: Another one has not ended.
        """
        if any(ref() is not None and not run.stopped for ref, run in self._known):
            text = f"{name} is an iterator, and another iterator is reading it: close that first, or pass a list"
            raise FailedPreconditionError(None, None, text)
        self._known = [(weakref.ref(stream), shared)]

    def end(self) -> None:
        """Let another stream read."""
        self._known = []

    def __reduce__(self) -> Any:
        return OneReader, ()
