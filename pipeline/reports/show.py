"""Show: a monitor's view: a table in a terminal, a picture in a notebook, or lines elsewhere."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from pipeline.locks import Lock
from pipeline.reports import live_table
from pipeline.reports.report import Report
from pipeline.reports.sampler import Sampler
from pipeline.reports.screen import Screen
from pipeline.reports.words import cut, held, printable, progress, rate, unit

_WINDOW = 10.0  # seconds for rates
_OFTEN, _SELDOM = 0.5, 5.0  # seconds between two pictures, and between two lines
_COST = 500  # a redraw waits for this many times the last one's cost
_HEAD, _LINE = "pipeline: ", 100  # columns
_HINT = "pipeline: a live table needs rich: pip install rich"

_shown: list[Show] = []  # at most one in a process
_choosing = Lock()


class Show:
    """Shows a sampler's reports while it runs: a view for `pipeline.monitor`.

    A second one at the same time shows nothing. Errors from the output are ignored.

    Args:
        plain: Lines, also where there is a terminal or a notebook.
        words: Returns a report in the words of a command that prints the last one itself: nothing is left on the
            screen then. None shows reports as they are, and leaves the last one.
    """

    def __init__(self, plain: bool = False, words: Callable[[Report], Report] | None = None) -> None:
        self._plain, self._words = plain, words
        self._face: Face | None = None
        self._last: Report | None = None

    def open(self, sampler: Sampler) -> None:
        """Begin to show."""
        with _choosing:
            if _shown:
                return
            _shown.append(self)
        self._sampler = sampler
        self._face = face(self._plain)
        self._due = time.monotonic() + self._face.every
        atexit.register(sampler.stop)

    def sampled(self) -> None:
        """Show the report, if it is time to."""
        face = self._face
        if face is None:
            return
        try:
            if time.monotonic() < self._due:
                face.refresh()
                return
            begun = time.thread_time()
            report = self._sampler.report(seconds=_WINDOW)
            if self._words is not None:
                report = self._words(report)
            if report.stages:
                self._last = report
            face.show(report)
            self._due = time.monotonic() + max(face.every, _COST * (time.thread_time() - begun))
        except (OSError, ValueError):  # where it was shown is gone
            self._due = math.inf

    def close(self) -> None:
        """Show the last report; the screen is as it was, with the last picture above."""
        face = self._face
        if face is None:
            return
        atexit.unregister(self._sampler.stop)
        last = self._sampler.report()
        with contextlib.suppress(OSError, ValueError):  # where it was shown is gone
            if self._words is not None:
                face.clear()
            else:
                face.end(last if last.stages or self._last is None else self._last)
        if self in _shown:
            _shown.remove(self)
        self._face = None

    def forget(self) -> None:
        """In a forked child, write to the original streams and draw nothing."""
        if isinstance(self._face, LiveTable):
            self._face.screen.let_go()
        self._face = None


class Face:
    """Where reports are shown.

    Attributes:
        every: Seconds between two of them.
    """

    every = _OFTEN

    def show(self, report: Report) -> None:
        """Show a report instead of the last one, or after it."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the same again if it is no longer there."""

    def end(self, report: Report) -> None:
        """Show the last report, and leave things as they were."""
        self.show(report)

    def clear(self) -> None:
        """Leave things as they were, without a report."""


def face(plain: bool) -> Face:
    """Choose where reports are shown; a screen is taken at once."""
    stream = sys.stderr
    if plain or stream is None:
        return Lines(stream)
    if in_notebook():
        return CellOutput()
    if not stream.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        return Lines(stream)
    try:
        return LiveTable(stream)
    except ImportError:
        return Lines(stream, _HINT)


class LiveTable(Face):
    """A table at the bottom of a terminal, drawn again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._console = live_table.console(stream)
        self.screen = Screen(stream)
        self.screen.open()

    def show(self, report: Report) -> None:
        self.screen.show(live_table.lines(report, self._console))

    def refresh(self) -> None:
        self.screen.refresh()

    def end(self, report: Report) -> None:
        try:
            if report.stages:
                self.show(report)
        finally:
            self.screen.close()

    def clear(self) -> None:
        self.screen.show([])
        self.screen.close()


def in_notebook() -> bool:
    """Return whether this is a notebook's kernel, and not a terminal."""
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class CellOutput(Face):
    """A picture in a notebook cell's output, drawn again while the cell runs."""

    every = 2 * _OFTEN

    def __init__(self) -> None:
        self._context = contextvars.copy_context()  # it names the cell, to other threads too
        self._handle: Any = None

    def show(self, report: Report) -> None:
        if report.stages:
            self._context.copy().run(self._display, report)

    def _display(self, report: Report) -> None:
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(report, display_id=True)
        else:
            self._handle.update(report)


class Lines(Face):
    """A line from time to time, and the whole report at the end."""

    every = _SELDOM

    def __init__(self, stream: Any, hint: str = "") -> None:
        self._stream = stream
        self._hint = hint

    def show(self, report: Report) -> None:
        text = line(report)
        if text:
            self._write(f"{_HEAD}{text}")

    def end(self, report: Report) -> None:
        if report.stages:
            self._write(str(report))

    def _write(self, text: str) -> None:
        hint, self._hint = self._hint, ""
        if self._stream is not None:
            encoding = getattr(self._stream, "encoding", None) or "ascii"
            text = f"{hint}\n{text}\n".lstrip("\n")
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()


def line(report: Report) -> str:
    """Return loops, inputs and bottlenecks as one line; empty if there is nothing to say."""
    parts = []
    for stage in report.stages:
        name, note = printable(stage.name), progress(stage)
        if stage.kind == "loop":
            speed = f"{rate(stage)} {unit(stage)}/s" if stage.state == "running" else stage.state
            waiting = [f", {held(each)} ready" for each in report.before(stage) if each.tank is not None]
            parts.append(f"{name} {speed}{''.join(waiting)}")
        elif note and stage.state != "closed":
            parts.append(f"{name} {note}")
    parts += [printable(f"{verdict.called} {verdict.cause}".lstrip()) for verdict in report.verdicts]
    return cut("; ".join(parts), _LINE - len(_HEAD))


def _forget() -> None:
    for show in _shown:
        show.forget()
    _shown.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
