"""Show: what a monitor shows to a person, as a table in a terminal, a picture in a notebook, or lines elsewhere."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from typing import Any, Protocol, TextIO

from pipeline.monitoring import live_table
from pipeline.monitoring.lines import line
from pipeline.monitoring.notebook import CellOutput, in_notebook
from pipeline.monitoring.report import Report
from pipeline.monitoring.sampler import Sampler
from pipeline.monitoring.screen import Screen
from pipeline.runners.stop_flag import StopFlag

WINDOW = 10.0  # seconds that rates are about
BETWEEN = 0.2  # seconds between two looks whether something is to be drawn
OFTEN = 0.5  # seconds between two pictures
SELDOM = 5.0  # seconds between two lines
COST = 500  # a picture is drawn no sooner than after so many times what the last one took
HINT = "pipeline: a live table needs rich: pip install 'queue-runner[monitor]'"

_shown: list[Show] = []  # at most one in a process
_choosing = threading.Lock()


class Face(Protocol):
    """Where reports are shown."""

    every: float

    def show(self, report: Report) -> None:
        """Show a report instead of the last one, or after it."""

    def refresh(self) -> None:
        """Show the same again if it is no longer there."""

    def end(self, report: Report) -> None:
        """Show the last report, and leave things as they were."""


class Show:
    """Shows the reports of a sampler while it runs: a view of `pipeline.monitor`.

    A second one at the same time shows nothing. It never raises for what it shows or where.

    Args:
        plain: Lines, also where there is a terminal or a notebook.
    """

    def __init__(self, plain: bool = False) -> None:
        self._plain = plain
        self._stop = StopFlag()
        self._thread: threading.Thread | None = None
        self._face: Face | None = None
        self._last: Report | None = None

    def open(self, sampler: Sampler) -> None:
        """Begin to show, in a thread of its own."""
        with _choosing:
            if _shown:
                return
            _shown.append(self)
        self._sampler = sampler
        self._stop.clear()
        self._face = face(self._plain)
        self._thread = threading.Thread(target=self._run, name="pipeline-show", daemon=True)
        self._thread.start()
        atexit.register(sampler.stop)

    def close(self) -> None:
        """Show the last report; the screen is as it was, with the last picture above."""
        thread = self._thread
        if thread is None or self._face is None:
            return
        self._stop.set()
        atexit.unregister(self._sampler.stop)
        try:
            thread.join()
        finally:  # Ctrl-C may strike meanwhile
            if self in _shown:
                _shown.remove(self)
            last = self._sampler.report()
            with contextlib.suppress(OSError, ValueError):  # where it was shown is gone
                self._face.end(last if last.stages or self._last is None else self._last)
            self._thread = None  # all is done; else the next call does it

    def _run(self) -> None:
        face = self._face
        assert face is not None
        due = time.monotonic() + face.every
        while not self._stop.wait(BETWEEN):
            try:
                if time.monotonic() < due:
                    face.refresh()
                    continue
                begun = time.thread_time()
                face.show(self._report())
            except (OSError, ValueError):  # where it was shown is gone
                return
            due = time.monotonic() + max(face.every, COST * (time.thread_time() - begun))

    def _report(self) -> Report:
        report = self._sampler.report(seconds=WINDOW)
        if report.stages:
            self._last = report
        return report

    def forget(self) -> None:
        """In the child of a fork: write to the streams as they were, and draw nothing."""
        self._thread = None
        if isinstance(self._face, LiveTable):
            self._face.screen.let_go()


def face(plain: bool) -> Face:
    """Choose where reports are shown; a screen is taken at once."""
    stream = sys.stderr
    if plain or stream is None:
        return Lines(stream)
    if in_notebook():
        return Picture()
    if not stream.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        return Lines(stream)
    try:
        return LiveTable(stream)
    except ImportError:
        return Lines(stream, HINT)


class LiveTable:
    """A table that is drawn anew at the lower end of a terminal."""

    every = OFTEN

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


class Picture:
    """A picture in the output of a notebook's cell."""

    every = 2 * OFTEN

    def __init__(self) -> None:
        self._output = CellOutput()

    def show(self, report: Report) -> None:
        if report.stages:
            self._output.show(report)

    def refresh(self) -> None:
        pass

    end = show


class Lines:
    """A line from time to time, and the whole report at the end."""

    every = SELDOM

    def __init__(self, stream: Any, hint: str = "") -> None:
        self._stream = stream
        self._hint = hint

    def show(self, report: Report) -> None:
        text = line(report)
        if text:
            self._write(f"pipeline: {text}")

    def refresh(self) -> None:
        pass

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


def _forget() -> None:
    for show in _shown:
        show.forget()
    _shown.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
