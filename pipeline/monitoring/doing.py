"""What threads are doing, seen from outside: by their stacks and CPU clocks. The threads themselves do nothing."""

from __future__ import annotations

import contextlib
import sys
import time
from types import FrameType
from typing import NamedTuple

from pipeline.diagnostics.frames import waiting_in
from pipeline.readers.base import ReaderBase
from pipeline.runners.runner import QueueRunner
from pipeline.tracebacks import is_ours, is_standard

DOINGS = "calling", "reading", "moving", "turn", "in", "out"

_RUNNER = QueueRunner._fill.__code__
_READ = ReaderBase._read_up_to.__code__
_READING = "pipeline.readers.", "pipeline.files."


def doing(ident: int, frame: FrameType) -> str:
    """Return what a thread of a queue runner is doing, one of DOINGS; `frame` is its innermost frame."""
    wait = waiting_in(ident, frame)
    if wait is not None:
        _, call = wait
        return "in" if call.startswith("dequeue") else "out"
    each: FrameType | None = frame
    while each is not None and is_standard(each):
        each = each.f_back
    if each is not None and each.f_code is _READ:  # whoever reads is further in
        return "turn"
    while each is not None and each.f_code is not _RUNNER:
        if not is_ours(each):
            if not is_standard(each):
                return "calling"
        elif each.f_globals["__name__"].startswith(_READING):
            return "reading"
        each = each.f_back
    return "moving"


class Clocks(NamedTuple):
    """What a thread had of the processors so far, in seconds.

    Attributes:
        cpu: It ran so long.
        wanted: It ran, or could have run and waited for a processor.
    """

    cpu: float
    wanted: float


def clocks(native: int | None) -> Clocks | None:
    """Return the clocks of a thread, by its native number; None if it has ended, or the system cannot say.

    The number of a process stands for its main thread.

    Linux gives both in a file. Its number also makes the number of its CPU clock, so that asking for a thread that ends
    meanwhile is an error. (`time.pthread_getcpuclockid` would read memory that is no longer the thread's.)
    """
    if native is None or not sys.platform.startswith("linux"):
        return None
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{native}/schedstat") as file:
        cpu, waited, _ = map(int, file.read().split())
        return Clocks(cpu * 1e-9, (cpu + waited) * 1e-9)
    with contextlib.suppress(OSError):
        seconds = time.clock_gettime((~native << 3) | 6)
        return Clocks(seconds, seconds)
    return None
