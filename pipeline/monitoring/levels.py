"""Levels: how full each queue was at the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Emit = Callable[..., None]  # as TraceFile.write


class LevelTrack:
    """One queue.

    Args:
        name: Under which it is shown.
        emit: Takes the events.
        process: Its id.
        start: The instant of the trace's begin, in ns.
    """

    def __init__(self, name: str, emit: Emit, process: int, start: int) -> None:
        self.name = name
        self._emit = emit
        self._process = process
        self._start = start
        self._size = -1

    def sample(self, instant: int, size: int) -> None:
        """Note the size of the queue at an instant."""
        if size != self._size:
            self._size = size
            about: dict[str, Any] = {"ph": "C", "name": f"elements in '{self.name}'", "pid": self._process}
            self._emit({**about, "ts": (instant - self._start) / 1000, "args": {"elements": size}})
