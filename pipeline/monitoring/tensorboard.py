"""Curves: what TensorBoard draws of a run, a point a second."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pipeline.dtypes import path_text
from pipeline.errors import FailedPreconditionError
from pipeline.files.os_errors import os_error
from pipeline.logs import logger
from pipeline.monitoring.event_file import EventFile
from pipeline.monitoring.figures import figures, named_stages
from pipeline.monitoring.report import Report
from pipeline.monitoring.summary_proto import Event

if TYPE_CHECKING:
    from pipeline.monitoring.sampler import Sampler

EVERY = 1.0  # seconds between two points: an hour of twenty curves is 4 MB

_log = logger("pipeline.monitoring")


class Curves:
    """Writes the figures of all stages as scalars named "<kind>/<name>/<figure>"; the step is the second.

    Args:
        logdir: The directory; created if it does not exist.
    """

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self._logdir = path_text(logdir, "logdir")
        self._file: EventFile | None = None
        self._began = self._next = 0.0
        self._step = 0
        self._ended = False  # by an error

    def open(self, sampler: Sampler) -> None:
        """Create the file.

        Raises:
            OpError: The directory cannot be written.
        """
        try:
            self._file = EventFile(self._logdir, max_queue=1, suffix=".pipeline")
        except FileExistsError as error:
            text = f"logdir must be a directory, and {self._logdir} is a file"
            raise FailedPreconditionError(None, None, text) from error
        except OSError as error:
            raise os_error(b"logdir " + os.fsencode(self._logdir), error) from error
        self._sampler = sampler
        self._began = self._next = time.monotonic()
        self._step = 0
        self._ended = False
        sampler.listeners.append(self._on_sample)

    def close(self) -> None:
        """Write the last point and close the file."""
        if self._on_sample in self._sampler.listeners:
            self._sampler.listeners.remove(self._on_sample)
            self._write()
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:  # what could not be written before
                self._end_here(error)

    def _on_sample(self, _: Report) -> None:
        if time.monotonic() >= self._next:
            self._next += EVERY
            self._write()

    def _write(self) -> None:
        assert self._file is not None
        now = time.monotonic()
        self._step = max(self._step + 1, round(now - self._began))
        event = Event(wall_time=time.time(), step=self._step)
        for tag, value in curves(self._sampler.report(seconds=EVERY)):
            event.summary.value.add(tag=tag, simple_value=value)
        try:
            self._file.write(event.SerializeToString())
        except OSError as error:  # a full disk, for example
            self._end_here(error)

    def _end_here(self, error: OSError) -> None:
        """Say once that nothing more can be written; everything else continues."""
        if not self._ended:
            self._ended = True
            _log.error("the curves in %s end here: %s", self._logdir, error)
        if self._on_sample in self._sampler.listeners:
            self._sampler.listeners.remove(self._on_sample)


def curves(report: Report) -> list[tuple[str, float]]:
    """The tags and values of one point in time."""
    found = [
        (f"{stage.kind}/{name}/{figure}", value)
        for name, stage in named_stages(report)
        for figure, value in figures(stage)
    ]
    return found if report.lock is None else [("process/interpreter_lock", report.lock), *found]
