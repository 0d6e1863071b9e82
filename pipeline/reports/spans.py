"""Spans: where threads begin and end to wait or to take an element, noted while a trace runs.

Nothing is noted without a trace: Python code looks at `on` once per element, and waits in queues look at a flag in C
(pyx/spans.pxd). The tracing thread takes the events from `events`.

An event is a tuple (thread, instant, kind, ...), with the instant by `time.monotonic_ns`:

    WAIT_BEGINS   the call's number, the queue
    WAIT_ENDS     the begin's instant or 0, the ns counted by the queue's statistics
    BEGINS        what the span is ("wait" or "next"), its name, a dict with its arguments, and the thread's name
    ENDS          the begin's instant, the next span's name or ""

Thread safety: every function may be called from every thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, TypeAlias

Event: TypeAlias = "tuple[Any, ...]"

WAIT_BEGINS, WAIT_ENDS, BEGINS, ENDS = range(4)  # the first two as in pyx/spans.pxd
MOST = 65_536  # events not yet taken by the tracing thread


class Events(deque[Event]):
    """Events not yet taken.

    Attributes:
        missed: How many spans were left out because there were too many.
    """

    missed = 0


on = False
events = Events()


def begin(kind: str, name: str, **about: Any) -> int:
    """Begin a span in this thread; return the instant, or 0 if it is left out."""
    if not on:
        return 0
    if len(events) >= MOST:
        events.missed += 1
        return 0
    thread, instant = threading.current_thread(), time.monotonic_ns()
    events.append((thread.ident, instant, BEGINS, kind, name, about, thread.name))
    return instant


def end(began: int, then: str = "") -> None:
    """End the span with this begin, and note the next span's name."""
    if on and began:
        events.append((threading.get_ident(), time.monotonic_ns(), ENDS, began, then))


def switch(to: bool) -> None:
    """Begin or end noting Python spans. The begin drops pending events."""
    global on
    if to:
        events.clear()
        events.missed = 0
    on = to
