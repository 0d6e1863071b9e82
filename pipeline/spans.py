"""Spans: where threads begin and end to wait or to take an element, noted for whoever traces the run.

Nothing is noted while nobody traces: `on` is looked at once for each element, and waits in queues look at
a flag of their own (pyx/spans.pxd). What is noted goes into `events`, which the tracing thread empties.

An event is a tuple (thread, instant, kind, ...), with the instant in ns on the clock of `time.monotonic_ns`:

    WAIT_BEGINS   the number of the call, the queue
    WAIT_ENDS     the instant of its begin or 0, the ns that the queue's statistics count
    NEXT_BEGINS   the name of the loop
    NEXT_ENDS     the instant of its begin, whether there was an element
    CALL_BEGINS   a function's name
    CALL_ENDS     the instant of its begin, whether the next call of the thread is noted too

Thread safety: every function may be called from every thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Event: TypeAlias = "tuple[Any, ...]"

WAIT_BEGINS, WAIT_ENDS = range(2)  # as in pyx/spans.pxd
NEXT_BEGINS, NEXT_ENDS, CALL_BEGINS, CALL_ENDS = range(2, 6)
MOST = 65_536  # events that nobody has taken yet
SHORT_NS = 200_000  # calls of a function below this are not noted one by one
SHORT_CALLS = 31  # of these, between two looks at the clock


class Events(deque[Event]):
    """What was noted and not yet taken.

    Attributes:
        missed: How many spans were left out because there were too many.
    """

    missed = 0


on = False
events = Events()


def begin(kind: int, *what: Any) -> int:
    """Note the begin of a span of this thread; return the instant, or 0 if it is left out."""
    if not on:
        return 0
    if len(events) >= MOST:
        events.missed += 1
        return 0
    instant = time.monotonic_ns()
    events.append((threading.get_ident(), instant, kind, *what))
    return instant


def end(kind: int, began: int, *about: Any) -> None:
    """Note the end of a span that began then."""
    if on and began:
        events.append((threading.get_ident(), time.monotonic_ns(), kind, began, *about))


def switch(to: bool) -> None:
    """Begin or end to note spans of Python code. What was noted and not taken is forgotten at the begin."""
    global on
    if to:
        events.clear()
        events.missed = 0
    on = to


def noted(call: Callable[[], T], name: str) -> Callable[[], T]:
    """Return `call` with a span for each call, unless calls take less than SHORT_NS on average.

    Of short calls only one in SHORT_CALLS looks at the clock, as that takes longer than to make a number.
    """
    mean, unseen = 2 * SHORT_NS, 0

    def noting() -> T:
        nonlocal mean, unseen
        if unseen:
            unseen -= 1
            return call()
        if not on:
            return call()
        began = begin(CALL_BEGINS, name) if mean >= SHORT_NS else 0
        at = began or time.monotonic_ns()
        try:
            return call()
        finally:
            mean += (time.monotonic_ns() - at - mean) // 8
            unseen = 0 if mean >= SHORT_NS else SHORT_CALLS
            if began:
                end(CALL_ENDS, began, not unseen)

    return noting
