"""Definition: a function for worker processes, recognised by a digest."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Callable
from typing import Any

from pipeline.locks import Lock
from pipeline.workers import pickling
from pipeline.workers.pool import BrokenWorkers

# Twice as fast as blake2b on processors with instructions for it.
_hash = functools.partial(hashlib.sha1, usedforsecurity=False)


class Definition:
    """A function for worker processes.

    Its pickle is made only if a worker lacks the function: with 128 MiB of strings this takes 0.6 s, and the digest
    0.25 s.

    Args:
        function: The function.
        kept: Returns whether a worker keeps a function, given its digest.

    Raises:
        TypeError: It cannot be sent.
        ImportError: cloudpickle is needed and not installed.

    Attributes:
        digest: Equal for functions with equal contents.
        modules: The modules of its functions and classes.
    """

    def __init__(self, function: Callable[..., Any], kept: Callable[[bytes], bool]) -> None:
        # A copy: its definition is kept for as long as the original lives.
        self._function = function
        self._parts: tuple[Any, ...] = ()
        if isinstance(function, functools.partial):
            self._function, self._parts = copy.copy(function), function.args
        self._making = Lock()
        self._pickle: bytes | None = None
        found = _digest(self._function)
        if found is None or not kept(found[0]):
            self._pickle, modules = self._made()
            found = found or (_hash(self._pickle).digest(), modules)
        self.digest, self.modules = found

    def pickle(self) -> bytes:
        """Return it pickled. Several threads may call this at once.

        Raises:
            BrokenWorkers: Its contents have changed since the digest was made.
        """
        with self._making:
            if self._pickle is None:
                if _digest(self._function) != (self.digest, self.modules):
                    raise BrokenWorkers("a worker process started late, and the function has changed in the meantime")
                self._pickle, _ = self._made()
            return self._pickle

    def _made(self) -> tuple[bytes, set[str]]:
        return pickling.pickled(self._function, "the function", self._parts)


def _digest(function: Any) -> tuple[bytes, set[str]] | None:
    """Return a digest of a function's contents, and its modules; None if it cannot be sent by name."""
    made = _hash()
    modules = pickling.scanned(function, made.update)
    return None if modules is None else (made.digest(), modules)
