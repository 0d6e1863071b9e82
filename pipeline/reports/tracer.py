"""Tracer: makes a trace's events from samples and noted spans.

A thread has a track with its noted spans, which are exact: waits, and taking an element. Another track shows
what it does at the samples; one sample counts until the next.
"""

from __future__ import annotations

import collections
import itertools
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from pipeline._meter import frames_now
from pipeline._queue import CALLS
from pipeline.diagnostics import live
from pipeline.reports import spans
from pipeline.reports.activities import Activity, activities_of
from pipeline.reports.trace_file import TraceFile

# Other threads run while one walks through their frames if there is no GIL.
_SAMPLES_STACKS = getattr(sys, "_is_gil_enabled", lambda: True)()
_FLUSH_NS = 1_000_000_000
_CALL_NAMES = {number: name for name, number in CALLS.items()}


class Track:
    """One thread's activities.

    Args:
        file: Takes the events.
        thread: The thread; None if it had ended before anybody looked.
        numbers: The tracks for exact spans and for samples.
        name: Of the thread.

    Attributes:
        thread: The thread.
    """

    def __init__(self, file: TraceFile, thread: threading.Thread | None, numbers: tuple[int, int], name: str) -> None:
        self.thread = thread
        self._file = file
        self._exact, self._samples = numbers
        self._name = name
        self._open: list[int] = []  # begins of open spans
        self._between = False  # whether the innermost one lies between two elements
        self._sampled: list[tuple[Activity, int]] = []  # what the thread does, with the instant since when

    def note(self, event: spans.Event) -> None:
        """Begin or end an exact span."""
        _, instant, kind, first, *more = event
        if kind == spans.WAIT_BEGINS:
            call, queue = _CALL_NAMES[first], more[0]
            side = "dequeue" if call.startswith("dequeue") else "enqueue"
            about = {"queue": queue.name, "kind": queue._kind_name, "call": call, "side": side}
            self._begin(instant, "wait", f"wait: {call} of '{queue.name}'", about)
        elif kind == spans.BEGINS:
            if first == "next" and self._between:
                self._end(instant, self._open[-1])
            self._begin(instant, first, *more[:2])
        elif first in self._open and kind == spans.WAIT_ENDS:
            self._end(instant, first, waited_us=more[0] / 1000)
        elif first in self._open:
            self._end(instant, first)
            if more[0]:
                self._begin(instant, "consumer", more[0], {})
                self._between = True

    def _begin(self, instant: int, kind: str, name: str, about: dict[str, Any]) -> None:
        if not self._open:
            self._file.name_thread(self._exact, self._name)
        self._open.append(instant)
        self._between = False
        self._file.write({"ph": "B", "name": name, "cat": kind, "ns": instant, "tid": self._exact, "args": about})

    def _end(self, instant: int, began: int, **about: Any) -> None:
        """End a span, and those within it."""
        self._between, ended = False, 0
        while ended != began:
            ended = self._open.pop()
            more = {"args": about} if ended == began and about else {}
            self._file.write({"ph": "E", "ns": instant, "tid": self._exact, **more})

    def show(self, seen: Sequence[Activity], instant: int) -> None:
        """Show these activities from this instant on; continued ones are written later."""
        same = 0
        while same < min(len(seen), len(self._sampled)) and self._sampled[same][0] == seen[same]:
            same += 1
        while len(self._sampled) > same:
            activity, since = self._sampled.pop()
            inset = len(self._sampled) + 1  # a viewer cannot nest two equal spans
            if instant - since > 2 * inset:
                self._file.name_thread(self._samples, f"{self._name}: samples")
                about = {"sampled": True} | ({"place": activity.place} if activity.place else {})
                span = {"ns": since + inset, "duration": instant - since - 2 * inset}
                kind = {"ph": "X", "name": activity.name, "cat": activity.kind, "tid": self._samples}
                self._file.write({**kind, **span, "args": about})
        self._sampled += [(activity, instant) for activity in seen[same:]]

    def finish(self, instant: int) -> None:
        """End all spans: the trace, or the thread, has ended."""
        self.show((), instant)
        if self._open:
            self._end(instant, self._open[0])


class Tracer:
    """Makes the events. One thread at a time may use it.

    Args:
        file: The output.

    Attributes:
        samples: How many were taken.
    """

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self.samples = 0
        self._start = self._last = self._flushed = time.monotonic_ns()
        self._numbers = itertools.count(1)
        self._tracks: dict[int, Track] = {}  # by thread ident
        self._levels: dict[int, tuple[str, int]] = {}  # name and last level, by queue number
        self._over: set[int] = set()  # queues already ended before the trace
        self._names: collections.Counter[str] = collections.Counter()
        self._later: list[spans.Event] = []  # what was noted after the last sample
        self._look_at_queues(self._start, known=True)

    def round(self) -> None:
        """Take a sample, and write what has happened since the last one. OSError if the file cannot be written."""
        seen = _sampled(self._tracks)
        instant = time.monotonic_ns()
        threads = {thread.ident: thread for thread in threading.enumerate() if thread.ident is not None}
        self._look_at_queues(instant)
        for event in self._noted(instant):
            name = event[-1] if event[2] == spans.BEGINS else ""
            self._track(event[0], threads, name).note(event)
        for ident, activities in seen.items():
            self._track(ident, threads).show(activities, instant)
        for ident in self._tracks.keys() - threads.keys():
            self._tracks.pop(ident).finish(instant)
        self._last = instant
        self.samples += 1
        if instant - self._flushed > _FLUSH_NS:
            self._file.flush(self._about())
            self._flushed = instant

    def finish(self) -> None:
        """End all spans and the file. OSError if the file cannot be written."""
        self.round()
        for track in self._tracks.values():
            track.finish(self._last)
        self._file.flush(self._about())

    def _about(self) -> dict[str, Any]:
        """Return notes for readers of the file."""
        return {
            "samples": self.samples,
            "events left out because of max_bytes": self._file.dropped,
            "spans left out because there were too many at once": spans.events.missed,
            "seconds": round((time.monotonic_ns() - self._start) / 1e9, 6),
        }

    def _noted(self, instant: int) -> Iterator[spans.Event]:
        """Yield what threads have noted until an instant."""
        events, self._later = self._later, []
        events += [spans.events.popleft() for _ in range(len(spans.events))]
        for event in events:
            if event[1] > instant:
                self._later.append(event)
            elif event[1] >= self._start:
                yield event

    def _track(self, ident: int, threads: Mapping[int, threading.Thread], name: str = "") -> Track:
        """Return a thread's track; `name` is its name, if it may have ended."""
        track, thread = self._tracks.get(ident), threads.get(ident)
        if track is not None and None not in (thread, track.thread) and thread is not track.thread:
            track.finish(self._last)  # another one has its ident now
            track = None
        if track is None:
            name = name or (f"thread {ident}" if thread is None else thread.name)
            track = Track(self._file, thread, (next(self._numbers), next(self._numbers)), name)
            self._tracks[ident] = track
        return track

    def _look_at_queues(self, instant: int, known: bool = False) -> None:
        """Note the queues' sizes. `known`: at the trace's begin; others are new."""
        alive = {number: (name, size, over) for number, name, size, over in _queues()}
        for number in self._levels.keys() - alive.keys():
            del self._levels[number]
        for number, (name, size, over) in alive.items():
            if known and over:
                self._over.add(number)
            if number in self._over:
                continue
            if number not in self._levels:
                self._names[name] += 1
                self._levels[number] = name if self._names[name] == 1 else f"{name} #{self._names[name]}", -1
                if not known:
                    self._note_level(number, self._last, 0)
            self._note_level(number, instant, size)

    def _note_level(self, number: int, instant: int, size: int) -> None:
        name, last = self._levels[number]
        if size != last:
            self._levels[number] = name, size
            self._file.write({"ph": "C", "name": f"elements in '{name}'", "ns": instant, "args": {"elements": size}})


def _sampled(known: Mapping[int, Track]) -> dict[int, tuple[Activity, ...]]:
    """Return the activities per thread, if it uses the library or has a track."""
    seen: dict[int, tuple[Activity, ...]] = {}
    frames: dict[int, FrameType] = frames_now() if _SAMPLES_STACKS else {}
    for ident, frame in frames.items():
        activities, ours = activities_of(frame)
        if ident in known or (ours and activities):
            seen[ident] = activities
    frames.clear()  # another watcher's may hold this one
    return seen


def _queues() -> Iterator[tuple[int, str, int, bool]]:
    """Yield each queue's number, name, size, and whether it has ended."""
    for number, queue in live.queues.numbered():
        try:
            stats = queue.stats()
        except RuntimeError:  # it was made before a fork, or is not ready
            continue
        yield number, queue.name, stats.size, stats.closed and not stats.size
    for _, loop in live.loops.numbered():
        facts = loop._facts()
        for part in facts.parts:
            if part.ahead is not None:
                yield part.number, f"{facts.name}/prefetch", part.ahead.size, facts.state in ("ended", "closed")
