"""Thread clocks: how long a thread has run, and how long it has waited for a processor; how many there are."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import NamedTuple

_SOONEST = 0.01  # seconds between reads, each of which takes 3 us and releases the GIL


class Clocks(NamedTuple):
    """Processor time so far, in seconds.

    Attributes:
        cpu: How long they ran.
        wanted: How long they ran, or were ready to run and waited for a processor.
    """

    cpu: float = 0.0
    wanted: float = 0.0

    def plus(self, other: Clocks) -> Clocks:
        """Return the sum."""
        return Clocks(self.cpu + other.cpu, self.wanted + other.wanted)

    def since(self, other: Clocks) -> Clocks:
        """Return the time since earlier clocks."""
        return Clocks(self.cpu - other.cpu, self.wanted - other.wanted)


def clocks(native: int | None) -> Clocks | None:
    """Return a thread's clocks by its native id; None if it has ended or the system has none.

    Linux has both in a file. Its CPU clock has a number made from the native id; reading it fails if the thread ends
    meanwhile. (`time.pthread_getcpuclockid` would read freed memory.) Other systems have a clock for the calling
    thread only.
    """
    if native is None:
        return None
    if not sys.platform.startswith("linux"):
        return _own() if native == threading.get_native_id() else None
    with contextlib.suppress(OSError, ValueError):
        file = os.open(f"/proc/{native}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            cpu, waited, _ = map(int, os.read(file, 100).split())
        finally:
            os.close(file)
        return Clocks(cpu * 1e-9, (cpu + waited) * 1e-9)
    with contextlib.suppress(OSError):
        seconds = time.clock_gettime((~native << 3) | 6)
        return Clocks(seconds, seconds)
    return None


def _own() -> Clocks:
    seconds = time.thread_time()
    return Clocks(seconds, seconds)


class ThreadClocks:
    """One thread's clocks from now on, also after its end.

    Thread safety: you may call every method from every thread.

    Args:
        new: The calling thread has just begun, so all its time counts.
    """

    def __init__(self, new: bool = False) -> None:
        self._native, self._began = threading.get_native_id(), time.monotonic()
        self._before = Clocks() if new else clocks(self._native)
        self._last: Clocks | None = None
        self._ended = False

    def read(self) -> Clocks | None:
        """Return the clocks; None if the system has none, or none for a running thread that is not the calling one."""
        now = None if self._ended or self._before is None else clocks(self._native)
        if now is not None and self._before is not None:
            self._last = now.since(self._before)
        return self._last

    def end(self) -> None:
        """Stop the clocks. They stay at zero if the thread was short."""
        if time.monotonic() - self._began > _SOONEST:
            self.read()
        elif self._before is not None:
            self._last = self._last or Clocks()
        self._ended = True


class _Worker(threading.local):
    """A worker thread's last look at its clocks.

    Attributes:
        at: When, by `time.monotonic`.
        delayed: How long it had waited for a processor.
    """

    at = 0.0
    delayed: float | None = None


_worker = _Worker()


def delay() -> float:
    """Return how many seconds this thread has waited for a processor since the last call.

    It is 0 for the first call. If a call follows too soon, it returns 0 and leaves its time to the next one.
    """
    now, before = time.monotonic(), _worker.delayed
    if now - _worker.at < _SOONEST:
        return 0.0
    found = clocks(threading.get_native_id())
    if found is None:
        return 0.0
    _worker.at, _worker.delayed = now, found.wanted - found.cpu
    return 0.0 if before is None else max(0.0, _worker.delayed - before)


class Usage(NamedTuple):
    """The use of the machine's processors so far, in seconds.

    Attributes:
        at: When, by `time.monotonic`.
        idle: How long they were idle, summed.
        own: How long they ran this process, its worker processes, and its ended children.
    """

    at: float
    idle: float
    own: float

    def average(self, now: Usage) -> tuple[float, float]:
        """Return how many processors were idle, and how many ran other programs, from here to `now`."""
        seconds = max(now.at - self.at, 1e-9)
        idle, own = (now.idle - self.idle) / seconds, (now.own - self.own) / seconds
        return idle, max(0.0, (os.cpu_count() or 1) - idle - own)

    def earlier(self, begin: Usage, end: Usage) -> Usage:
        """Return a begin so much earlier that the use between `begin` and `end` counts, too."""
        return Usage(*(a - (c - b) for a, b, c in zip(self, begin, end, strict=True)))


def usage() -> Usage | None:
    """Return the use of the machine's processors; None if the system does not count it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        file = os.open("/proc/uptime", os.O_RDONLY | os.O_CLOEXEC)  # 6 us
        try:
            idle = float(os.read(file, 100).split()[1])
        finally:
            os.close(file)
        return Usage(time.monotonic(), idle, sum(os.times()[:4]) + workers.read())
    return None


class WorkerClocks:
    """The processor time of worker processes. Linux has a clock for each.

    Thread safety: you may call every method from every thread.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}  # by process id, when last read
        self._ended = 0.0

    def add(self, process: int) -> None:
        """Count a process."""
        self._seconds[process] = 0.0

    def end(self, process: int) -> None:
        """Keep the time of a process that has ended, and forget its id: another program may get it."""
        self._ended += self._seconds.pop(process, 0.0)

    def read(self) -> float:
        """Return their time in seconds."""
        for process in list(self._seconds):
            with contextlib.suppress(OSError):
                self._seconds[process] = time.clock_gettime((~process << 3) | 2)
        return self._ended + sum(self._seconds.copy().values())


workers = WorkerClocks()


def _forget() -> None:
    """Forget the parent's workers in a forked process."""
    global workers
    workers = WorkerClocks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
