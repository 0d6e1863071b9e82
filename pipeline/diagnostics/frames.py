"""Places in the user's source: who called the library, and what a thread is doing at this moment."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any, TypeAlias

from pipeline._meter import frames_now
from pipeline.logs import is_heard
from pipeline.tracebacks import is_ours, is_standard

Place: TypeAlias = "tuple[str, int]"  # file and line

# Modules of the standard library between the user's call and this package.
_BETWEEN = frozenset({"contextlib", "threading", "weakref"})


def caller() -> Place | None:
    """Return the user's line of the current call; None in one of our own threads."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame) and frame.f_globals.get("__name__") not in _BETWEEN:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def warn(text: str) -> None:
    """Show a warning, visible without logging, at the user's line."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)


def tell(log: logging.Logger, text: str, place: Place | None = None) -> None:
    """Log a warning; or show it, if the program has no handler for it: at `place`, or at the user's line."""
    if is_heard(log):
        log.warning("%s", text, stacklevel=2)
    elif place is not None:
        warnings.warn_explicit(text, RuntimeWarning, *place)
    else:
        warn(text)


def shown(place: Place) -> str:
    """Return a place as `file:line`; the file is relative to the current directory if it lies below it."""
    name, line = place
    with contextlib.suppress(OSError):
        name = name.removeprefix(os.path.join(os.getcwd(), ""))
    return f"{name}:{line}"


# By thread: the queue it last waited for, the call, and the calling frame and instruction. The end of a wait
# is not recorded; a reader compares the frame instead. Thread identifiers are reused, which keeps this small.
_waits: dict[int, tuple[weakref.ref[Any], str, int, int]] = {}


def note_wait(queue: Any, call: str) -> None:
    """Record that this thread is about to wait in `call` of `queue`.

    Call it directly from the engine's method: the user's call is two frames up.
    """
    frame = sys._getframe(2)
    _waits[threading.get_ident()] = weakref.ref(queue), call, id(frame), frame.f_lasti


def is_running(thread: threading.Thread) -> bool:
    """Return whether a thread has begun and not ended.

    Up to Python 3.12 a signal handler raising inside `Thread.is_alive` makes a running thread count as ended for
    good. So the main thread must not ask it of others.
    """
    if thread is threading.main_thread() or not isinstance(thread, threading.Thread):  # not on the list, or forever
        return thread.is_alive()
    return thread.ident is not None and thread in threading.enumerate()


def whereabouts(thread: threading.Thread) -> str:
    """Return a thread's activity for a message: its blocking queue call, or its source line."""
    name, number = repr(thread.name), thread.ident
    own = number == threading.get_ident()
    frame = sys._getframe(1) if own else None if number is None else frames_now().get(number)
    if number is None or frame is None:
        return f"{name} has just ended"
    wait = waiting_in(number, frame)
    if wait is not None:
        queue, call = wait
        return f"{name} is blocked in {call} of {queue._kind_name} '{queue.name}'"
    frame = next((each for each in _outwards(frame) if not is_ours(each) and not is_standard(each)), frame)
    return f"{name} is in {frame.f_code.co_name}() at {shown((frame.f_code.co_filename, frame.f_lineno))}"


def waiting_in(number: int, frame: FrameType) -> tuple[Any, str] | None:
    """Return the queue and call blocking the thread with this innermost frame; None if there are none."""
    ref, call, frame_id, instruction = _waits.get(number, (None, "", 0, 0))
    if ref is None or (id(frame), frame.f_lasti) != (frame_id, instruction):
        return None
    queue = ref()
    if queue is None:
        return None
    # The instruction may belong to compiled code, which enqueues many examples and reads their source, too.
    stats = queue.stats()
    waiting = stats.waiting_dequeues if call.startswith("dequeue") else stats.waiting_enqueues
    return (queue, call) if waiting else None


def _outwards(frame: FrameType) -> Iterator[FrameType]:
    each: FrameType | None = frame
    while each is not None:
        yield each
        each = each.f_back
