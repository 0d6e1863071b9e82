"""Chunks of examples in a worker: how errors are sent, and what differs in a worker process."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AbortedError, UnknownError
from pipeline.on_error import of_record, set_on
from pipeline.tracebacks import RemoteTraceback, of_user
from pipeline.workers import pickling


class FailedItem:
    """The error from a failed item, or from an item that could not be computed.

    An UnknownError replaces an exception that does not pickle, because it would break the whole executor.
    The `__cause__` of an error from another process is a RemoteTraceback.

    Attributes:
        traceback: The error's original traceback; raising the error again before it is read would change it.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.traceback = error.__traceback__

    def __repr__(self) -> str:
        return repr(self.error)

    def __reduce__(self) -> tuple[Any, ...]:
        error = self.error
        try:
            data = pickling.result(error)
        except Exception:
            data = b""
        only = "".join(traceback.format_exception_only(type(error), error)).strip()
        text = "".join(traceback.format_exception(type(error), error, of_user(self.traceback)))
        return _unpickled, (data, only, text, of_record(error))  # its cause stays in the worker


class WorkerDied(AbortedError):
    """A worker process ended in the middle of a call.

    Attributes:
        index: The item's index in the chunk; None if unknown.
        how: How it ended, as text.
    """

    def __init__(self, index: int | None, how: str) -> None:
        super().__init__(None, None, f"a worker process {how}")
        self.index = index
        self.how = how


def _unpickled(data: bytes, only: str, text: str, blamed: bool = True) -> FailedItem:
    try:
        error = pickle.loads(data)
    except Exception:
        error = None
    if not isinstance(error, BaseException):  # a user's class may unpickle as any object
        error = UnknownError(None, None, only)
    set_on(error, "__cause__", RemoteTraceback(text))
    if not blamed:
        set_on(error, "of_record", False)
    return FailedItem(error)


class _Here:
    """The operations that differ between worker kinds.

    Attributes:
        empty: Allocates arrays for results.
        at: Called with each item's index in a chunk, before the function; None if unused.
    """

    def __init__(self) -> None:
        self.empty: Callable[[Sequence[int], np.dtype[Any]], NDArray[Any]] = np.empty
        self.at: Callable[[int], object] | None = None


here = _Here()
