"""trace: what threads do and wait for, and when, in a file for chrome://tracing and Perfetto."""

from __future__ import annotations

import atexit
import os
import threading
from types import TracebackType

from pipeline import dtypes
from pipeline._queue import note_waits
from pipeline.dtypes import integer, local_path
from pipeline.errors import FailedPreconditionError
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.reports import spans
from pipeline.reports.trace_file import TraceFile
from pipeline.reports.tracer import Tracer
from pipeline.sync.stop_flag import StopFlag

_log = logger("pipeline.monitoring")
_starting = Lock()  # guards `_running`
_running: Trace | None = None


def trace(path: str | os.PathLike[str], *, interval: float = 0.005, max_bytes: int = 256 << 20) -> Trace:
    """Trace what each thread does, and when, for Perfetto.

    ```
    with pipeline.trace("run.json.gz"):
        for batch in batches:
            train_step(batch)
    ```

    Open the file in https://ui.perfetto.dev or chrome://tracing. Waits and your calls of `next` are exact; functions
    are sampled. docs/traces.md says how to read it. An error in the trace never reaches your pipeline.

    Args:
        path: The file, in .json or .json.gz. An existing one is replaced.
        interval: Seconds between two samples.
        max_bytes: Largest size before compression; the rest is left out and counted.

    Returns:
        A Trace, which begins with `start` or `with`.

    Raises:
        ValueError, TypeError: An argument has a wrong value or type.

    Thread safety: you may call it from any thread.

    Examples:
        >>> with pipeline.trace("run.json.gz"):
        ...     batches = list(pipeline.dataset(range(4)).batch(2))
    """
    name = local_path(path, "trace: path")
    if not name.endswith((".json", ".json.gz")):
        raise ValueError(f"trace: the path must end in .json or .json.gz, got {name!r}")
    pause, most = dtypes.interval(interval, "trace: interval"), integer(max_bytes, "trace: max_bytes")
    if most < 1 << 16:
        raise ValueError(f"trace: max_bytes must be at least {1 << 16:,}, got {max_bytes!r}")
    return Trace(name, pause, most)


class Trace:
    """A trace. It can be started once, and there is one at a time.

    Attributes:
        path: The file.
    """

    def __init__(self, path: str, interval: float, max_bytes: int) -> None:
        self.path = path
        self._interval, self._max_bytes = interval, max_bytes
        self._halt = StopFlag()
        self._file: TraceFile | None = None
        self._tracer: Tracer | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """True if it traces: it has started, and neither `stop` nor an error of the file has ended it."""
        return _running is self

    def __repr__(self) -> str:
        state = "not started" if self._thread is None else "running" if self.running else "ended"
        return f"<Trace '{self.path}': {state}>"

    def start(self) -> Trace:
        """Begin to trace; the program's end stops it.

        Returns:
            The Trace itself.

        Raises:
            OpError: The file cannot be written: NotFoundError, PermissionDeniedError and others.
            FailedPreconditionError: It has been started before, or another trace is running.
        """
        global _running
        with _starting:
            if self._thread is not None:
                raise FailedPreconditionError(None, None, f"{self!r} can be started once; make another one")
            if _running is not None:
                text = f"only one trace can run at a time, and {_running!r} is: stop it first"
                raise FailedPreconditionError(None, None, text)
            self._file = TraceFile(self.path, self._max_bytes)
            self._tracer = Tracer(self._file)
            spans.switch(True)
            note_waits(spans.events)
            arguments = self._tracer, self._file
            self._thread = threading.Thread(target=self._run, args=arguments, name="trace", daemon=True)
            _running = self
            try:
                self._thread.start()
            except BaseException:  # the system has no thread for it
                _end()
                self._file.forget()
                raise
        atexit.register(self.stop)  # daemon threads are still running then
        return self

    def stop(self) -> None:
        """End the trace, and wait until the file is complete; does nothing the second time."""
        self._halt.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        atexit.unregister(self.stop)

    def __enter__(self) -> Trace:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, tracer: Tracer, file: TraceFile) -> None:
        told = False
        try:
            while not self._halt.wait(self._interval):
                tracer.round()
                told = told or self._tell_if_full(file)
            tracer.finish()
            if not told:
                self._tell_if_full(file)
        except OSError as error:
            _log.warning("trace: %s cannot be written any more (%s), so the trace has ended", self.path, error)
        except Exception:  # the pipeline continues whatever happens here
            _log.exception("trace: %s has ended because of an error of the trace itself", self.path)
        else:
            if file.dropped or spans.events.missed:
                text = "trace: %s is not whole: %s events and %s spans were left out"
                _log.warning(text, self.path, f"{file.dropped:,}", f"{spans.events.missed:,}")
        finally:
            file.forget()
            _end()

    def _tell_if_full(self, file: TraceFile) -> bool:
        if file.full:
            text = "trace: %s has its max_bytes=%s, what follows is left out: pass more, or trace less"
            _log.warning(text, self.path, f"{self._max_bytes:,}")
        return file.full


def _end() -> None:
    """Note nothing any more."""
    global _running
    note_waits(None)
    spans.switch(False)
    _running = None


def _after_fork() -> None:
    """In a forked child the trace is the parent's, and so is the file."""
    global _starting
    _starting = Lock()
    running = _running
    if running is not None:
        _end()
        if running._file is not None:
            running._file.forget()
        atexit.unregister(running.stop)


os.register_at_fork(after_in_child=_after_fork)
