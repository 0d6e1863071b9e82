"""Tracer: takes samples, and what threads have noted, and makes the events of a trace."""

from __future__ import annotations

import collections
import itertools
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

from pipeline import spans
from pipeline._next import frames_now
from pipeline.diagnostics import live
from pipeline.diagnostics.frames import waiting_in
from pipeline.monitoring.activities import Activity, activities_of
from pipeline.monitoring.levels import LevelTrack
from pipeline.monitoring.trace_file import TraceFile
from pipeline.monitoring.tracks import Track

# Other threads run while one walks through their frames if there is no lock of the interpreter.
_SAMPLES_STACKS = getattr(sys, "_is_gil_enabled", lambda: True)()
_FLUSH_NS = 1_000_000_000


class Tracer:
    """Makes the events. One thread at a time may use it.

    Args:
        file: Where they go.

    Attributes:
        samples: How many were taken.
    """

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self.samples = 0
        self._process = os.getpid()
        self._start = self._last = self._flushed = time.monotonic_ns()
        self._numbers = itertools.count(1)
        self._tracks: dict[int, tuple[Track, threading.Thread | None]] = {}  # by the ident of the thread
        self._levels: dict[int, LevelTrack] = {}  # by the number of the queue
        self._over: set[int] = set()  # queues that had come to their end before the trace
        self._names: collections.Counter[str] = collections.Counter()
        self._later: list[spans.Event] = []  # what was noted after the last sample
        self._meta("process_name", 0, f"pipeline: {os.path.basename(sys.argv[0]) or 'python'}")
        self._look_at_queues(self._start, known=True)
        # Threads that wait since before the trace.
        self._waited = {ident for ident, frame in self._frames().items() if waiting_in(ident, frame) is not None}

    def round(self) -> None:
        """Take a sample, and write what has happened since the last one. OSError if the file cannot be written."""
        seen = self._sampled()
        instant = time.monotonic_ns()
        noted = self._noted(instant)
        threads = {thread.ident: thread for thread in threading.enumerate() if thread.ident is not None}
        self._look_at_queues(instant)
        for ident in [*dict.fromkeys([*self._tracks, *noted, *seen])]:
            self._advance(ident, threads.get(ident), noted.get(ident, []), instant, seen.get(ident, ()))
        self._last = instant
        self.samples += 1
        if instant - self._flushed > _FLUSH_NS:
            self._file.flush()
            self._flushed = instant

    def finish(self) -> None:
        """End all spans. OSError if the file cannot be written."""
        self.round()
        instant = time.monotonic_ns()
        for track, _ in self._tracks.values():
            track.finish(instant)

    def about(self) -> dict[str, Any]:
        """What a reader should know of the file."""
        return {
            "events left out because of max_bytes": self._file.dropped,
            "spans left out because there were too many at once": spans.events.missed,
            "seconds": round((time.monotonic_ns() - self._start) / 1e9, 6),
        }

    def _sampled(self) -> dict[int, tuple[Activity, ...]]:
        """What each thread is at that has to do with the library."""
        seen: dict[int, tuple[Activity, ...]] = {}
        frames = self._frames()
        for ident, frame in frames.items():
            wait = waiting_in(ident, frame) if ident in self._waited else None
            if wait is not None:
                queue, call = wait
                seen[ident] = (Activity(f"wait: {call} of '{queue.name}'", "wait", "", queue.name),)
                continue
            activities, ours = activities_of(frame)
            if ident in self._tracks or (ours and activities):
                seen[ident] = activities
        frames.clear()  # another watcher's may hold this one
        return seen

    def _frames(self) -> dict[int, FrameType]:
        return frames_now() if _SAMPLES_STACKS else {}

    def _noted(self, instant: int) -> dict[int, list[spans.Event]]:
        """What threads have noted until an instant, by thread."""
        noted: dict[int, list[spans.Event]] = {}
        events, self._later = self._later, []
        for _ in range(len(spans.events)):
            events.append(spans.events.popleft())
        for event in events:
            if event[1] > instant:
                self._later.append(event)
            elif event[1] >= self._start:
                self._waited.discard(event[0])
                noted.setdefault(event[0], []).append(event)
        return noted

    def _advance(
        self,
        ident: int,
        thread: threading.Thread | None,
        noted: list[spans.Event],
        instant: int,
        seen: tuple[Activity, ...],
    ) -> None:
        """Go on with the track of a thread."""
        track, known = self._tracks.get(ident, (None, thread))
        if track is not None and known is not None and thread is not None and known is not thread:
            track.finish(self._last)  # another one has its ident now
            track = None
        if track is None:
            number = next(self._numbers)
            track = Track(number, self._file.write, self._process, self._start, self._last)
            self._meta("thread_name", number, f"thread {ident}" if thread is None else thread.name)
        self._tracks[ident] = track, thread or known
        track.advance(noted, instant, seen)
        if thread is None:  # it has ended
            track.finish(instant)
            del self._tracks[ident]

    def _look_at_queues(self, instant: int, known: bool = False) -> None:
        """Note the numbers of all queues. `known`: at the begin of the trace; others have come since the last time."""
        alive = live.queues.numbered()
        for number in self._levels.keys() - {number for number, _ in alive}:
            del self._levels[number]
        for number, queue in alive:
            try:
                stats = queue.stats()
            except RuntimeError:  # it was made before a fork, or is not ready
                continue
            level = self._levels.get(number)
            if known and stats.closed and not stats.size:
                self._over.add(number)
            if number in self._over:
                continue
            if level is None:
                level = LevelTrack(self._unique(queue.name), self._file.write, self._process, self._start)
                self._levels[number] = level
                if not known:
                    level.sample(self._last, 0)
            level.sample(instant, stats.size)

    def _unique(self, name: str) -> str:
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name} #{self._names[name]}"

    def _meta(self, what: str, number: int, name: str) -> None:
        self._file.write({"ph": "M", "name": what, "pid": self._process, "tid": number, "args": {"name": name}})

    def _relative(self, instant: int) -> float:
        return (instant - self._start) / 1000
