"""Cell: holds a variable's value in one session."""

from __future__ import annotations

from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.locks import Lock


class Cell:
    """A variable's value; None until the variable is initialised.

    Thread safety: a read sees a whole value. Hold `lock` from a read to the write that depends on it.
    """

    __slots__ = ("__weakref__", "lock", "name", "value")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.lock = Lock()

    def read(self) -> Any:
        """Return the value; FailedPreconditionError if there is none yet."""
        value = self.value
        if value is None:
            text = f"Attempting to use uninitialized value {self.name}"
            if self.name.rpartition("/")[2].startswith("epochs"):  # num_epochs's counter
                text += "\nRun tf.local_variables_initializer() before the threads start: it sets the epoch count."
            error = FailedPreconditionError(None, None, text)
            error.uninitialized = self.name
            raise error
        return value

    def write(self, value: Any) -> None:
        """Replace the value. An array is kept without a copy, as a read-only view."""
        if getattr(value, "ndim", 0):
            if value.flags.writeable:
                value = value.view()
            value.flags.writeable = False
        self.value = value
