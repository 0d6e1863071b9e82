"""Levels: how full each queue was at the samples, when its elements went in, and so each batch's way through it."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

from pipeline import spans

Emit = Callable[..., None]  # as TraceFile.write

# Samples of a queue that are kept for elements that are still in it; of more, every second one is.
_MOST_SAMPLES = 4096
# Batches that have left a queue and were not seen to: of more, somebody else has taken elements.
_FAR = 64


class Level:
    """One queue.

    Args:
        name: Under which it is shown.
        emit: Takes the events.
        process: Its id.
        start: The instant of the trace's begin, in ns.
        held_back: How many elements the queue holds back while it is open.
    """

    def __init__(self, name: str, emit: Emit, process: int, start: int, held_back: int) -> None:
        self.name = name
        self._held_back = held_back
        self._emit = emit
        self._process = process
        self._start = start
        self._size = -1
        self._instants: list[int] = []
        self._entered: list[int] = []  # how many elements had gone in by then
        self._batches = 0
        self._seen = -1  # how many elements have left the queue, in batches that were written or before the trace

    def sample(self, instant: int, size: int, enqueued: int, dequeued: int) -> None:
        """Note the numbers of the queue at an instant; first of all those that it had at the begin."""
        if self._seen < 0:
            self._seen = dequeued
        if size != self._size:
            self._size = size
            self._emit(self._event("C", f"elements in '{self.name}'", instant, {"elements": size}))
        if not self._entered or enqueued != self._entered[-1]:
            self._instants.append(instant)
            self._entered.append(enqueued)
        gone = bisect.bisect_right(self._entered, dequeued) - 1  # the last before the oldest that is there
        if gone > _MOST_SAMPLES // 16:
            del self._instants[:gone], self._entered[:gone]
        if len(self._entered) > _MOST_SAMPLES:
            del self._instants[1:-1:2], self._entered[1:-1:2]

    def batch(self, loop: str, at: int, taken: spans.Taken, alone: bool) -> None:
        """Write the way of a batch: from when its first element went in to when it was handed over.

        Args:
            loop: The name of the loop.
            at: When it was handed over.
            taken: What is known of it.
            alone: Only one thread takes batches from the loop.
        """
        first, count = self._elements_of(taken, alone)
        known = taken.arrivals(first, count)
        self._batches += 1
        about: dict[str, Any] = {"batch": self._batches, "loop": loop, "queue": self.name, "elements": count}
        about["first_to_leave"] = first
        if known is None:
            # Which elements a shuffle queue gave is not known. It could give them once so many had come.
            begin = end = self._when(first + count + self._held_back)
            about["begins"] = "when the queue could give the batch"
        else:
            begin, end = self._when(known[0] + 1), self._when(known[1] + 1)
            about |= {"begins": "when its first element went in", "first_arrival": known[0], "last_arrival": known[1]}
        begin, end = min(begin, at), min(end, at)
        about["within_us"] = self._precision(begin) / 1000
        number = f"{self.name}/{self._batches}"
        name = f"batches of '{loop}'"
        told: list[tuple[str, int, dict[str, Any]]]
        told = [("b", begin, about), ("n", end, {"all elements": "in the queue"}), ("e", at, {})]
        way = {"cat": "batch", "id2": {"local": number}, "tid": 0}
        self._emit(*({**self._event(phase, name, instant, more), **way} for phase, instant, more in told))

    def _elements_of(self, taken: spans.Taken, alone: bool) -> tuple[int, int]:
        """Which elements a batch was, in the order of leaving: the first, and how many.

        With one consumer `taken.end` says it. That of several counts what the others were given meanwhile, so they are
        counted in the order in which they were handed over, unless somebody else takes from the queue.
        """
        first = taken.end - taken.size
        if not alone and first - self._seen < _FAR * taken.size:
            first = self._seen
        first = max(first, self._seen)
        count = max(1, min(taken.size, taken.end - first))
        self._seen = first + count
        return first, count

    def _when(self, entered: int) -> int:
        """The instant at which so many elements had gone in, as far as the samples tell."""
        place = bisect.bisect_left(self._entered, entered)
        if place == len(self._entered):
            return self._instants[-1] if self._instants else self._start
        if place == 0:
            return self._instants[0]
        (early, late), (few, many) = (each[place - 1 : place + 1] for each in (self._instants, self._entered))
        return early + (late - early) * (entered - few) // (many - few)

    def _precision(self, instant: int) -> int:
        """The time between the samples around an instant."""
        place = bisect.bisect_left(self._instants, instant)
        around = self._instants[max(0, place - 1) : place + 1]
        return around[-1] - around[0] if around else 0

    def _event(self, phase: str, name: str, instant: int, about: dict[str, Any]) -> dict[str, Any]:
        return {"ph": phase, "name": name, "ts": (instant - self._start) / 1000, "pid": self._process, "args": about}
