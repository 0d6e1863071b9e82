"""Handles: files that a library reads through an object with a position, open for as long as they are in use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.files.offsets import identity_of

# Handles that a parent process has opened. Closing them in a child could wait for threads that did not come along.
_of_the_parent: list[Any] = []


class Handles:
    """The open files of a source, each of which must not change. It pickles, and each process opens its own.

    Thread safety: you may call every method from every thread; one at a time reads.

    Args:
        kind: What errors begin with.
        opened: Opens a file by its name.
        count: How many files stay open.
    """

    def __init__(self, kind: str, opened: Callable[[str], Any], count: int) -> None:
        self._kind, self._opened, self._count = kind, opened, count
        self._open: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def use(self, name: str, identity: tuple[int, int]) -> Iterator[Any]:
        """Give an open file to a `with` block. If that raises, the file is opened anew for the next one.

        Args:
            name: Its path.
            identity: What `identity_of` returned for it when the source was made.

        Raises:
            FailedPreconditionError: It has changed since.
            NotFoundError, ...: It is no longer there.
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
                self._check(name, identity)  # a change explains what went wrong
                raise
            self._check(name, identity)
            self._open[name] = handle  # the last one
            if len(self._open) > self._count:
                del self._open[next(iter(self._open))]

    def _check(self, name: str, identity: tuple[int, int]) -> None:
        if identity_of(name) != identity:
            text = f"{self._kind}: '{name}' was changed since the dataset was made: make another one"
            raise FailedPreconditionError(None, None, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Handles, (self._kind, self._opened, self._count)
