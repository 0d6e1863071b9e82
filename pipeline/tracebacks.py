"""Tracebacks for users: they start at the first user frame, without our calling frames."""

from __future__ import annotations

import os
import signal
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

from pipeline.errors import AbortedError

_PACKAGE = __name__.partition(".")[0]
_STANDARD = os.path.dirname(os.__file__)


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame belongs to this package."""
    name = frame.f_globals.get("__name__") or ""
    return bool(name == _PACKAGE or name.startswith(_PACKAGE + "."))


def of_user(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first user frame on, without our frames before it.

    Standard-library frames on the way there, such as an executor's, are left out too. A traceback with only our frames
    stays whole.
    """
    first: TracebackType | None = None  # not ours
    each = traceback
    while each is not None:
        if not is_ours(each.tb_frame):
            first = first or each
            if not is_standard(each.tb_frame):
                return each
        each = each.tb_next
    return first or traceback


class RemoteTraceback(Exception):
    """A traceback from another process, as text: used as the exception's `__cause__` here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def show_users(error: BaseException) -> None:
    """Start an error's traceback at the user's frames; see `of_user`.

    Errors from another process have no frames from this package: an AbortedError, or an error with frames as text.
    """
    traceback = of_user(error.__traceback__)
    elsewhere = isinstance(error, AbortedError) or isinstance(error.__cause__, RemoteTraceback)
    if elsewhere and traceback is not None and is_ours(traceback.tb_frame):
        traceback = None
    if traceback is not error.__traceback__:
        BaseException.with_traceback(error, traceback)


def is_standard(frame: FrameType) -> bool:
    """Return whether a frame belongs to the standard library."""
    name = frame.f_code.co_filename
    return name.startswith("<frozen") or (name.startswith(_STANDARD) and "-packages" not in name)


def from_handler(error: BaseException) -> BaseException | None:
    """Return an error raised by a signal handler, if it is `error` or its cause; else None.

    Such an error is unrelated to the main thread's work.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and not any(cause is each for each in seen):  # a library may create a cycle of causes
        seen.append(cause)
        each = cause.__traceback__
        while each is not None:
            if each.tb_frame.f_code in codes:
                return cause
            each = each.tb_next
        cause = cause.__cause__
    return None


def _code_of(handler: Any) -> CodeType | None:
    """Return a signal handler's code; None if it is not written in Python."""
    function = getattr(handler, "func", handler)  # for a partial
    function = getattr(function, "__func__", function)  # for a method
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
