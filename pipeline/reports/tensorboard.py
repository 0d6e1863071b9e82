"""Curves for TensorBoard: a point per second."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.dtypes import local_path
from pipeline.errors import FailedPreconditionError
from pipeline.files.event_file import EventFile
from pipeline.files.os_errors import os_error
from pipeline.logs import logger
from pipeline.proto.summary import Event
from pipeline.reports.model import UNBOUNDED, Stage
from pipeline.reports.report import Report

if TYPE_CHECKING:
    from pipeline.reports.sampler import Sampler

EVERY = 1.0  # seconds between two points: an hour of twenty curves is 4 MB

_log = logger("pipeline.monitoring")


class Curves:
    """Writes all figures as scalars named "<kind>/<name>/<figure>"; the step is the second.

    Args:
        logdir: The directory; created if it does not exist.
    """

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self._logdir = local_path(logdir, "logdir")
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
        self._step, self._ended = 0, False

    def sampled(self) -> None:
        """Write a point, if it is time to."""
        if time.monotonic() >= self._next:
            self._next += EVERY
            self._write()

    def close(self) -> None:
        """Write the last point and close the file."""
        self._write()
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:  # what could not be written before
                self._end_here(error)

    def _write(self) -> None:
        if self._ended or self._file is None:
            return
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
        """Log once that writing has failed; everything else continues."""
        if not self._ended:
            self._ended = True
            _log.error("the curves in %s end here: %s", self._logdir, error.strerror)


def curves(report: Report) -> Iterator[tuple[str, float]]:
    """Yield the tags and values at one instant."""
    if report.lock is not None:
        yield "process/interpreter_lock", report.lock
    for name, stage in report.named():
        for figure, value in _figures(stage).items():
            if value is not None:
                yield f"{stage.kind}/{name}/{figure}", value


def _figures(stage: Stage) -> dict[str, float | None]:
    """Return a stage's figures by name."""
    found: dict[str, float | None] = {
        "per_second": stage.rate,
        "busy": stage.busy,
        "waits_in": stage.waits_in,
        "waits_out": stage.waits_out,
        "processors": stage.cpu,
        "errors": stage.errors or None,
    }
    if stage.tank is not None:
        stats = stage.tank.stats
        bounded = 0 < stats.capacity < UNBOUNDED
        found |= {"size": stats.size, "fraction_full": stats.size / stats.capacity if bounded else None}
    if stage.progress is not None:
        found["position"] = stage.progress.position
    return found
