"""Spans: where threads begin and end to wait or to take an element, noted while a trace runs.

Nothing is noted without a trace: Python code looks at `on` once per element, and waits in queues look at a flag in C
(pyx/spans.pxd). The events are collected in `events`, which the tracing thread empties.

An event is a tuple (thread, instant, kind, ...), with the instant in ns on the clock of `time.monotonic_ns`:

    WAIT_BEGINS   the number of the call, the queue
    WAIT_ENDS     the instant of its begin or 0, the ns that the queue's statistics count
    BEGINS        what the span is ("wait" or "next"), its name, a dict with its arguments, and the thread's name
    ENDS          the instant of its begin, the name of the span that follows it or ""

Thread safety: every function may be called from every thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, TypeAlias

Event: TypeAlias = "tuple[Any, ...]"

WAIT_BEGINS, WAIT_ENDS, BEGINS, ENDS = range(4)  # the first two as in pyx/spans.pxd
MOST = 65_536  # events that the tracing thread has not taken yet


class Events(deque[Event]):
    """What was noted and not yet taken.

    Attributes:
        missed: How many spans were left out because there were too many.
    """

    missed = 0


on = False
events = Events()


def begin(kind: str, name: str, **about: Any) -> int:
    """Note the begin of a span of this thread; return the instant, or 0 if it is left out."""
    if not on:
        return 0
    if len(events) >= MOST:
        events.missed += 1
        return 0
    thread, instant = threading.current_thread(), time.monotonic_ns()
    events.append((thread.ident, instant, BEGINS, kind, name, about, thread.name))
    return instant


def end(began: int, then: str = "") -> None:
    """Note the end of a span that began then, and the name of the one that follows it."""
    if on and began:
        events.append((threading.get_ident(), time.monotonic_ns(), ENDS, began, then))


def switch(to: bool) -> None:
    """Begin or end to note spans of Python code. The begin forgets what was noted and not taken."""
    global on
    if to:
        events.clear()
        events.missed = 0
    on = to
