"""Cell: the place of a variable's value in a session."""

from __future__ import annotations

import threading
from typing import Any

from pipeline.errors import FailedPreconditionError


class Cell:
    """Holds the value of a variable; empty until it is initialised.

    Thread safety: reads see a whole value; hold `lock` for a read that a write depends on.
    """

    __slots__ = ("__weakref__", "lock", "name", "value")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.lock = threading.RLock()

    def read(self) -> Any:
        """Return the value; FailedPreconditionError if there is none yet."""
        value = self.value
        if value is None:
            raise FailedPreconditionError(None, None, f"Attempting to use uninitialized value {self.name}")
        return value

    def write(self, value: Any) -> None:
        """Replace the value; arrays are kept as they are, and are not written to from now on."""
        if getattr(value, "ndim", 0):
            if value.flags.writeable:
                value = value.view()
            value.flags.writeable = False
        self.value = value
