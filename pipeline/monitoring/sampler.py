"""Sampler: one thread that looks at everything that is alive, while somebody wants to know."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

from pipeline import dtypes
from pipeline._next import lock_delay
from pipeline.diagnostics import live
from pipeline.logs import logger
from pipeline.monitoring.collect import collect
from pipeline.monitoring.look import Look, Seen, look
from pipeline.monitoring.report import Report
from pipeline.runners.stop_flag import StopFlag

_log = logger("pipeline.monitoring")

_kept: list[tuple[Look, ...]] = []  # the looks of the monitor that ended last: numbers only, of no object
NAP = 0.01  # seconds without the GIL, at most, before it is asked for


class View(Protocol):
    """What shows the samples of a Sampler."""

    def open(self, sampler: Sampler) -> None:
        """Begin, and listen to the sampler; raises if that is not possible, and then nothing is left behind."""

    def close(self) -> None:
        """End."""


class Sampler:
    """Samples what is alive: how full queues are, what threads do, and who holds the GIL.

    A context manager: the thread runs within the body. Reports that anybody asks for meanwhile use its samples.

    Args:
        interval: Seconds between two samples.
        keep: How many samples are kept; the oldest one is where the window of a report begins.
        views: What shows the samples: opened before the first one, closed after the last.

    Raises:
        ValueError: `interval` is not above 0, or `keep` is below 2.
        TypeError: `interval` is not a number.

    Thread safety: you may call every method from every thread.

    Attributes:
        listeners: Called with a report after each sample, in the thread of the sampler. One that raises is logged, and
            called no more.
        port: Of the metrics, while they are served; None otherwise.
    """

    def __init__(self, interval: float = 0.1, keep: int = 600, views: Sequence[View] = ()) -> None:
        self.interval = dtypes.interval(interval, "interval")
        if keep < 2:
            raise ValueError(f"keep must be at least 2 samples, got {keep}")
        self.listeners: list[Callable[[Report], object]] = []
        self.port: int | None = None
        self._views = views
        self._keep = keep
        self._looks: tuple[Look, ...] = ()  # replaced as a whole, so that other threads see it whole
        self._last: Report | None = None  # of when it was stopped
        self._seen = Seen()
        self._lock = threading.Lock()  # guards the start and the end
        self._thread: threading.Thread | None = None  # until `stop` has done all
        self._stop = StopFlag()  # of that thread

    def start(self) -> None:
        """Start the thread; does nothing if it runs.

        Raises:
            Exception: A view could not begin; nothing runs then.
        """
        with self._lock:
            if self._thread is not None:
                return
            with contextlib.ExitStack() as undo:
                for view in self._views:
                    view.open(self)
                    undo.callback(view.close)
                self._sample()
                stop = StopFlag()
                undo.callback(stop.set)
                thread = threading.Thread(target=self._run, args=(stop,), name="pipeline-sampler", daemon=True)
                thread.start()
                undo.callback(live.ended.leave, self)
                live.ended.watchers.append(self)
                self._stop, self._thread = stop, thread
                undo.pop_all()

    def stop(self) -> None:
        """Take a last sample and end the thread; does nothing if it does not run. The samples stay.

        A listener may call it too. Where Ctrl-C strikes it, the next call does the rest.
        """
        thread = self._thread
        if thread is None:
            return
        self._stop.set()
        if thread is not threading.current_thread():
            thread.join()  # without the lock, which a listener needs that stops it too
        with self._lock:
            if thread is not self._thread:  # another call was faster
                return
            try:
                self._end()
            except Exception:
                self._thread = None
                raise
            self._thread = None

    def _end(self) -> None:
        """What comes after the thread. Ctrl-C may strike, so all of it can be done again."""
        with contextlib.ExitStack() as closing:
            closing.callback(live.ended.leave, self)  # last
            for view in self._views:
                closing.callback(view.close)
            self._sample()
            self._last = collect(self._looks)
            _kept[:] = [self._looks]

    def __enter__(self) -> Sampler:
        if self._thread is not None:
            raise RuntimeError("this monitor runs already: the end of an inner `with` would end it for the outer one")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def report(self, loop: Any = None, *, seconds: float | None = None) -> Report:
        """Return the model of all that is alive, or of what leads to one loop.

        After `stop` it is the model of that moment, so that a loop which is gone since then is still in it.

        Args:
            loop: The loop; None for everything.
            seconds: Let the window be about as long; None for all samples.
        """
        stopped = self._thread is None
        if stopped and loop is None and seconds is None and self._last is not None:
            return self._last
        looks = self._looks if stopped else (*self._looks, look(self._seen))
        if seconds is not None:
            looks = looks[-max(2, round(seconds / self.interval) + 1) :]
        return collect(looks, loop)

    def _sample(self) -> None:
        self._looks = (*self._looks, look(self._seen))[-self._keep :]

    def _run(self, stop: StopFlag) -> None:
        with self._lock:  # until `start` has noted the thread: a listener may stop it
            pass
        # A sample is taken in one go: what costs the others most is that somebody else takes the lock at all.
        nap = min(NAP, self.interval / 2)
        while not stop.wait(self.interval - nap):
            self._seen.note_lock(self.interval, lock_delay(nap))
            self._seen.look_at_threads()
            self._sample()
            self._tell()

    def _tell(self) -> None:
        if not self.listeners:
            return
        report = self.report()
        for listener in list(self.listeners):
            try:
                listener(report)
            except BaseException:  # SystemExit too: the others go on
                _log.exception("a listener of the sampler failed and is called no more: %r", listener)
                self.listeners.remove(listener)


def _forget() -> None:
    """In the child of a fork nobody watches: the thread is not there, and the lock may be held for ever."""
    for sampler in live.ended.watchers:
        sampler._thread = None
        sampler._lock = threading.Lock()
    live.ended.forget()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def report(loop: Any = None) -> Report:
    """Report what each queue, reader, thread and loop of this process does, and what is slow.

    `print(pipeline.report())` shows a table with a verdict for each loop. With a `monitor` running, it also knows who
    computes and who waits.

    Args:
        loop: Report only this loop and what leads to it; as `loop.report()`.

    Raises:
        TypeError: `loop` is no iterator.

    Thread safety: you may call it from any thread, at any time.

    Examples:
        >>> batches = iter(pipeline.arrays(np.arange(100)).batch(10))
        >>> _ = next(batches)
        >>> [stage.name for stage in pipeline.report(batches).stages]
        ['arrays', 'batch(10)', 'arrays']
    """
    if loop is not None and not hasattr(loop, "_facts"):
        raise TypeError(f"report: loop must be an iterator over a dataset or None, got {loop!r:.80}")
    watching: list[Sampler] = live.ended.watchers[-1:]
    return watching[0].report(loop) if watching else collect(_looks_at(loop), loop)


def _looks_at(loop: Any) -> tuple[Look, ...]:
    """What the last monitor saw of a loop that ended while it ran: that is all of its end, and nothing came later."""
    looks: tuple[Look, ...] = _kept[0] if _kept else ()
    ended = None if loop is None else loop._facts().times.ended_at
    return looks if looks and ended is not None and looks[0].at <= ended <= looks[-1].at else ()
