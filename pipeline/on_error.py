"""on_error="skip": examples that fail are left out, counted, and kept for a look."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from pipeline.errors import CancelledError, OutOfRangeError

KEPT = 100  # errors; later ones are only counted

# What a call gives that was skipped.
SKIPPED = object()


class Skips:
    """The count of examples that were left out, and their errors.

    Args:
        on_error: "raise" or "skip".
        max_errors: How many may be skipped; None is without limit.

    Raises:
        ValueError: Arguments other than these.

    Thread safety: a lock guards the count and the list.
    """

    def __init__(self, on_error: str, max_errors: int | None) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        if max_errors is not None and on_error == "raise":
            raise ValueError("max_errors is for on_error='skip'")
        if max_errors is not None and max_errors < 0:
            raise ValueError(f"max_errors must be >= 0, got {max_errors}")
        self.active = on_error == "skip"
        self._most = max_errors
        self._lock = threading.Lock()
        self.count = 0
        self.errors: list[Exception] = []

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with SKIPPED as the result of a call that failed; itself where errors are to be raised."""
        if not self.active:
            return function

        @functools.wraps(function)
        def guarded(*args: Any) -> Any:
            try:
                return function(*args)
            except (StopIteration, OutOfRangeError, CancelledError):
                raise
            except Exception as error:
                self.note(error)
                return SKIPPED

        return guarded

    def note(self, error: Exception) -> None:
        """Count an error that is being handled; raises it if there were too many."""
        with self._lock:
            if self._most is not None and self.count >= self._most:
                raise error
            self.count += 1
            if len(self.errors) < KEPT:
                self.errors.append(error)
