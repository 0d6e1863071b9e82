"""The library's loggers, by their public names. Repeated warnings from one place are limited."""

from __future__ import annotations

import logging
import time
from collections import deque

from pipeline.locks import Lock

# docs/monitoring.md lists them too.
NAMES = {
    "pipeline.batches": "iterators: what was dropped, what costs more than it seems, states of other sources",
    "pipeline.cluster": "workers on other machines: resources that no node has",
    "pipeline.compat": "the drop-in: queue runners that are missing or have failed",
    "pipeline.queues": "queues: buffers that take long to fill",
    "pipeline.readers": "readers: options that cannot be used, TFRecord files that are cut short",
    "pipeline.runners": "coordinators and queue runners: errors of threads, threads that still run",
    "pipeline.sources": "sources: dtypes of CSV columns, and fields that make them strings; empty files",
    "pipeline.workers": "workers that are chosen while a loop runs; functions that use shared random generators",
    "pipeline.monitoring": "monitors and traces: files that cannot be written any more, what a trace left out",
}
MOST = 5  # warnings per place
SECONDS = 10.0  # within this time


class Limit(logging.Filter):
    """Pass MOST warnings per source place in SECONDS; the next warning reports how many were left out.

    Thread safety: any thread may log; a lock guards the counts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._places: dict[tuple[str, int], tuple[deque[float], list[int]]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record passes. Errors always do, because each ends something and none repeats."""
        if record.levelno != logging.WARNING:
            return True
        now = time.monotonic()
        with self._lock:
            times, held = self._places.setdefault((record.pathname, record.lineno), (deque(maxlen=MOST), [0]))
            if len(times) == MOST and now - times[0] < SECONDS:
                held[0] += 1
                return False
            times.append(now)
            left_out, held[0] = held[0], 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out:,} more of these were left out)", None
        return True

    def forget(self) -> None:
        """Restart the counts."""
        with self._lock:
            self._places.clear()


limit = Limit()


def logger(name: str) -> logging.Logger:
    """Return the logger for a name in NAMES. The library never sets a level, nor a handler that writes."""
    if name not in NAMES:
        raise ValueError(f"no public logger: {name!r}")
    found = logging.getLogger(name)
    found.addFilter(limit)  # a second time changes nothing
    return found


def is_heard(log: logging.Logger) -> bool:
    """Return whether the program has a handler for this logger's records."""
    while not any(not isinstance(handler, logging.NullHandler) for handler in log.handlers):
        if log.parent is None or not log.propagate:
            return False
        log = log.parent
    return True


logging.getLogger("pipeline").addHandler(logging.NullHandler())
