"""Tracebacks as users want them: from the first frame of theirs on, without ours that called it."""

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
    """Return whether a frame is of this package."""
    name = frame.f_globals.get("__name__") or ""
    return bool(name == _PACKAGE or name.startswith(_PACKAGE + "."))


def of_user(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame of the user's on, without ours that called it.

    Frames of the standard library that lead there, such as those of an executor, are left out too. A traceback with no
    frame but ours stays whole.
    """
    first: TracebackType | None = None  # that is not ours
    each = traceback
    while each is not None:
        if not is_ours(each.tb_frame):
            first = first or each
            if not is_standard(each.tb_frame):
                return each
        each = each.tb_next
    return first or traceback


class RemoteTraceback(Exception):
    """The traceback of an exception in another process, as text: the `__cause__` of that exception here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def show_users(error: BaseException) -> None:
    """Have the traceback of an error begin with the user's frames; see `of_user`.

    Errors that happened in another process have none of ours: an AbortedError, and one whose frames there are text.
    """
    traceback = of_user(error.__traceback__)
    elsewhere = isinstance(error, AbortedError) or isinstance(error.__cause__, RemoteTraceback)
    if elsewhere and traceback is not None and is_ours(traceback.tb_frame):
        traceback = None
    if traceback is not error.__traceback__:
        BaseException.with_traceback(error, traceback)


def is_standard(frame: FrameType) -> bool:
    """Return whether a frame is of the standard library."""
    name = frame.f_code.co_filename
    return name.startswith("<frozen") or (name.startswith(_STANDARD) and "-packages" not in name)


def from_handler(error: BaseException) -> BaseException | None:
    """Return what a signal handler has raised, if that is an error or its cause; else None.

    It says nothing of what the main thread was doing.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and not any(cause is each for each in seen):  # a library may make a circle of causes
        seen.append(cause)
        each = cause.__traceback__
        while each is not None:
            if each.tb_frame.f_code in codes:
                return cause
            each = each.tb_next
        cause = cause.__cause__
    return None


def _code_of(handler: Any) -> CodeType | None:
    """Return the code of a signal handler; None for what is not written in Python."""
    function = getattr(handler, "func", handler)  # of a partial
    function = getattr(function, "__func__", function)  # of a method
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
