"""Screen: a picture at the bottom of a terminal, below the program's output."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from pipeline.locks import Lock
from pipeline.reports.words import cells, cut

SOONEST = 0.05  # seconds between two redraws caused by output

_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")  # control codes


class Screen:
    """Keeps a picture at the bottom of a terminal, below all output to stdout and stderr.

    Output is written unchanged and at once. For a line without an end, such as a progress bar, the latest state stands
    above the picture. The cursor is never hidden, and there is nothing to restore if the process is killed.
    (rich.Live hides it, and shows each state of a progress bar as another line.)

    Args:
        stream: The terminal.

    Thread safety: you may call every method from every thread, and from a signal handler.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()
        self._picture: list[str] = []
        self._drawn: list[int] = []  # the width of each drawn line
        self._line = ""  # the last output line, if it has no end
        self._at = 0.0  # when the picture was drawn
        self._taken: dict[str, _Above] = {}
        self._open = False

    def open(self) -> None:
        """Begin: stdout and stderr go through this screen if they are this terminal."""
        self._open = True
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if _same_terminal(stream, self._stream):
                self._taken[name] = _Above(self, stream)
                setattr(sys, name, self._taken[name])
        _redirect({id(each.stream): each for each in self._taken.values()})

    def close(self) -> None:
        """End; the last picture stays, and later output comes below it."""
        self.let_go()
        with self._lock, contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            if not self._open:
                return
            self._open = False
            kept = f"{self._line}\n" if self._line else ""
            self._put(self._erased() + kept + "".join(f"{line}\n" for line in self._picture))
            self._drawn, self._line = [], ""

    def let_go(self) -> None:
        """Restore stdout and stderr, unless the program has changed them meanwhile."""
        for name, above in self._taken.items():
            if getattr(sys, name) is above:
                setattr(sys, name, above.stream)
        _redirect({id(above): above.stream for above in self._taken.values()})

    def show(self, picture: Sequence[str]) -> None:
        """Draw another picture: lines with colours, none wider than the terminal."""
        with self._lock:
            self._picture = list(picture)
            if self._open:
                self._draw()

    def refresh(self) -> None:
        """Draw the picture again if fast output has left it out."""
        with self._lock:
            if self._open and not self._drawn:
                self._draw()

    def write(self, stream: Any, text: str) -> int:
        """Write output to its stream, above the picture."""
        with self._lock:
            if not self._open:
                return int(stream.write(text))
            whole, end, rest = text.rpartition("\n")
            soon = time.monotonic() < self._at + SOONEST
            if not end:
                self._line = _latest(self._line + text)
                if not soon:
                    self._draw()
                return len(text)
            self._put(self._erased())
            self._drawn = []
            stream.write(self._line + whole + end)
            stream.flush()
            self._line = _latest(rest)
            if not soon:
                self._draw()
            return len(text)

    def _draw(self) -> None:
        width = self._width()
        lines = [cut(_CODES.sub("", self._line), width - 1)] if self._line else []
        lines += self._picture
        self._put(self._erased() + "\n".join(lines))
        self._drawn = [cells(_CODES.sub("", line)) for line in lines]
        self._at = time.monotonic()

    def _erased(self) -> str:
        """Return the codes to erase the picture, which a narrower terminal may have wrapped."""
        if not self._drawn:
            return ""
        width = self._width()
        rows = sum(max(1, -(-line // width)) for line in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\x1b[J"

    def _width(self) -> int:
        try:
            return max(1, os.get_terminal_size(self._stream.fileno()).columns or 80)
        except (OSError, ValueError):
            return 80

    def _put(self, text: str) -> None:
        if text:
            encoding = self._stream.encoding or "ascii"
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()


class _Above:
    """Stands for stdout or stderr: output goes above the picture. Otherwise it is the stream."""

    def __init__(self, screen: Screen, stream: Any) -> None:
        self.stream = stream
        self._screen = screen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stream)

    def write(self, text: str) -> int:
        return self._screen.write(self.stream, text)

    def writelines(self, lines: Sequence[str]) -> None:
        self.write("".join(lines))


def _latest(line: str) -> str:
    """Return the visible part of a line with carriage returns."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def _same_terminal(stream: Any, other: TextIO) -> bool:
    try:
        numbers = stream.fileno(), other.fileno()
        return os.isatty(numbers[0]) and os.fstat(numbers[0]).st_rdev == os.fstat(numbers[1]).st_rdev
    except (AttributeError, OSError, ValueError):  # closed, None, or not a system file
        return False


def _redirect(streams: dict[int, Any]) -> None:
    """Redirect all log handlers from these streams, by `id`, to the others."""
    if not streams:
        return
    loggers = [logging.root, *logging.Logger.manager.loggerDict.values()]
    for logger in loggers:
        for handler in [*getattr(logger, "handlers", ())]:
            if isinstance(handler, logging.StreamHandler) and id(handler.stream) in streams:
                handler.setStream(streams[id(handler.stream)])
