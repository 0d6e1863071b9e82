"""Lock: never left locked by Ctrl-C."""

from __future__ import annotations

import _thread
import sys

if sys.version_info < (3, 14):
    Lock = _thread.RLock
else:

    class Lock(_thread.RLock):  # type: ignore[misc]
        """A lock that its thread may take again, as a signal handler or a finalizer does.

        From Python 3.14 on, `with` checks for signals between a compiled `__enter__` and the block: Ctrl-C there would
        leave the lock locked forever. Python does not check after an operator, or when a Python function returns.
        """

        __pos__ = _thread.RLock.acquire

        def __enter__(self) -> bool:  # type: ignore[override]
            return +self
