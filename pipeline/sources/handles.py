"""Handles: open files for libraries with a stateful reader, kept open while in use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.files.offsets import identity_of
from pipeline.locks import Lock

# Handles opened by a parent process. Closing them in a child could wait for threads lost in the fork.
_of_the_parent: list[Any] = []


class Handles:
    """A source's open files. None may change. It pickles, and each process opens its own.

    Thread safety: every method may be called from any thread; one at a time reads.

    Args:
        kind: Prefix for error messages.
        opened: Opens a file by name.
        count: Number of files to keep open.
    """

    def __init__(self, kind: str, opened: Callable[[str], Any], count: int) -> None:
        self._kind, self._opened, self._count = kind, opened, count
        self._open: dict[str, Any] = {}
        self._lock = Lock()
        self._process = os.getpid()

    @contextmanager
    def use(self, name: str, identity: tuple[int, int]) -> Iterator[Any]:
        """Yield an open file. If the `with` block raises, the file is reopened for the next one.

        Args:
            name: Its path.
            identity: The result of `identity_of` when the source was made.

        Raises:
            FailedPreconditionError: The file was changed afterwards.
            NotFoundError, ...: It no longer exists.
        """
        with self._lock:
            if self._process != os.getpid():
                _of_the_parent.append(self._open)
                self._open, self._process = {}, os.getpid()
            handle = self._open.pop(name, None)
            if handle is None:
                self._check(name, identity)
                handle = self._opened(name)
            try:
                yield handle
            except Exception:
                self._check(name, identity)  # a change explains the failure
                raise
            self._check(name, identity)
            self._open[name] = handle  # most recently used
            if len(self._open) > self._count:
                del self._open[next(iter(self._open))]

    def _check(self, name: str, identity: tuple[int, int]) -> None:
        if identity_of(name) != identity:
            text = f"{self._kind}: '{name}' has changed since the dataset was made: make a new dataset"
            raise FailedPreconditionError(None, None, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Handles, (self._kind, self._opened, self._count)
