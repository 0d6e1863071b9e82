"""Definition: a function for worker processes, recognised by a digest."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.locks import Lock
from pipeline.workers import pickling
from pipeline.workers.long_lists import Snapshot, Snapshots, sha1
from pipeline.workers.pool import BrokenWorkers
from pipeline.workers.shared import SharedBytes, shared_if_large


class Definition:
    """A function for worker processes.

    Its pickle is made only if a worker lacks the function.

    Args:
        function: The function.
        kept: Returns whether a worker keeps a function, given its digest.
        snapshots: Recognises its long lists if they have not changed.

    Raises:
        TypeError: It cannot be sent.
        ImportError: cloudpickle is needed and not installed.

    Attributes:
        digest: Equal for functions with equal contents.
        modules: The modules of its functions and classes.
    """

    def __init__(self, function: Callable[..., Any], kept: Callable[[bytes], bool], snapshots: Snapshots) -> None:
        # A copy: its definition is kept for as long as the original lives.
        self._function = function
        self._parts: tuple[Any, ...] = ()
        if isinstance(function, functools.partial):
            self._function, self._parts = copy.copy(function), function.args
        self._making = Lock()
        self._pickle: bytes | SharedBytes | None = None
        self._snapshots = snapshots
        lists = snapshots.of(self._function)
        found = _digest(self._function, lists)
        if found is None or not kept(found[0]):
            data, modules = self._made(lists)
            found = found or (sha1(data).digest(), modules)
            self._pickle = shared_if_large(data)
        self.digest, self.modules = found

    def pickle(self) -> bytes | SharedBytes:
        """Return it pickled. Several threads may call this at once.

        Raises:
            BrokenWorkers: Its contents have changed since the digest was made.
        """
        with self._making:
            if self._pickle is None:
                lists = self._snapshots.of(self._function)
                if _digest(self._function, lists) != (self.digest, self.modules):
                    raise BrokenWorkers("a worker process started late, and the function has changed in the meantime")
                self._pickle = shared_if_large(self._made(lists)[0])
            return self._pickle

    def _made(self, lists: Sequence[Snapshot]) -> tuple[bytes, set[str]]:
        return pickling.pickled(self._function, "the function", self._parts, lists)


def _digest(function: Any, lists: Sequence[Snapshot]) -> tuple[bytes, set[str]] | None:
    """Return a digest of a function's contents, and its modules; None if it cannot be sent by name."""
    made = sha1()
    for each in lists:
        made.update(each.digest)
    modules = pickling.scanned(function, made.update, [each.items for each in lists])
    return None if modules is None else (made.digest(), modules)
