"""Sampler: a thread that samples all live stages; and report, with or without one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

from pipeline import dtypes
from pipeline._meter import lock_delay
from pipeline.diagnostics import live
from pipeline.diagnostics.earlier import forget_passes
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.reports.collect import collect
from pipeline.reports.looks import Look, Watch, look
from pipeline.reports.report import Report
from pipeline.sync.stop_flag import StopFlag

_NAP = 0.01  # seconds without the GIL, at most, before the sampler asks for it

_log = logger("pipeline.monitoring")

_kept: list[tuple[Look, ...]] = []  # the last monitor's looks: numbers only, no objects


class View(Protocol):
    """Shows a Sampler's samples."""

    def open(self, sampler: Sampler) -> None:
        """Begin. If it raises, it leaves nothing behind."""

    def sampled(self) -> None:
        """Show something, if it is time to: called after each sample, in the sampler's thread."""

    def close(self) -> None:
        """End. If Ctrl-C interrupts it, it is called again."""


class Sampler:
    """Samples all live stages: queue sizes, thread clocks, and the GIL.

    A context manager: the thread runs within the body. Reports use its samples meanwhile.

    Args:
        interval: Seconds between two samples.
        keep: Number of samples to keep; a report's window begins at the oldest one.
        views: They show the samples: opened before the first one, closed after the last.

    Raises:
        ValueError: `interval` is not above 0, or `keep` is below 2.
        TypeError: `interval` is not a number.

    Thread safety: you may call every method from every thread.

    Attributes:
        listeners: Called with a report after each sample, in the sampler's thread. If one raises, it is logged and
            not called again.
        port: Of the metrics, while they are served; None otherwise.
    """

    def __init__(self, interval: float = 0.1, keep: int = 600, views: Sequence[View] = ()) -> None:
        self.interval = dtypes.interval(interval, "interval")
        if keep < 2:
            raise ValueError(f"keep must be at least 2 samples, got {keep}")
        self.listeners: list[Callable[[Report], object]] = []
        self.port: int | None = None
        self._views, self._keep = views, keep
        self._looks: tuple[Look, ...] = ()  # replaced as a whole, for other threads
        self._last: Report | None = None  # from the stop
        self._watch = Watch()
        self._lock = Lock()  # guards the start and the end
        self._thread: threading.Thread | None = None  # until `stop` has done all
        self._stop = StopFlag()  # for this thread

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
                forget_passes()
                undo.callback(live.ended.leave, self)
                live.ended.enter(self)
                self._stop, self._thread = stop, thread
                undo.pop_all()

    def stop(self) -> None:
        """Take a last sample and end the thread; does nothing if it does not run. The samples stay.

        A listener may call it too. If Ctrl-C interrupts it, the next call does the rest.
        """
        thread = self._thread
        if thread is None:
            return
        self._stop.set()
        if thread is not threading.current_thread():
            thread.join()  # without the lock, because a listener may stop it too
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
        """Clean up after the thread. It can be called again after Ctrl-C."""
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
        """Return the report about all live stages, or about one iterator.

        After `stop` it is the report from that moment, with iterators since collected.

        Args:
            loop: The iterator; None for everything.
            seconds: The window's approximate length; None for all samples.
        """
        stopped = self._thread is None
        if stopped and loop is None and seconds is None and self._last is not None:
            return self._last
        looks = self._looks if stopped else (*self._looks, look(self._watch))
        if seconds is not None:
            looks = looks[-max(2, round(seconds / self.interval) + 1) :]
        return collect(looks, loop)

    def _sample(self) -> None:
        self._looks = (*self._looks, look(self._watch))[-self._keep :]

    def _run(self, stop: StopFlag) -> None:
        with self._lock:  # until `start` has noted the thread: a listener may stop it
            pass
        # Take each sample in one go: taking the GIL at all costs other threads most.
        nap, shows = min(_NAP, self.interval / 2), [view.sampled for view in self._views]
        while not stop.wait(self.interval - nap):
            self._watch.note_lock(self.interval, lock_delay(nap))
            self._sample()
            _call_each(shows)
            if self.listeners:
                _call_each(self.listeners, self.report())


def _call_each(calls: list[Any], *args: Any) -> None:
    """Call each; if one fails, log it and do not call it again."""
    for call in list(calls):
        try:
            call(*args)
        except BaseException:  # SystemExit too: the others continue
            _log.exception("a listener of the sampler failed and is called no more: %r", call)
            calls.remove(call)


def _forget() -> None:
    """Forget all monitors in a forked child: their threads are missing, and locks may stay held."""
    for sampler in live.ended.watchers:
        sampler._thread = None
        sampler._lock = Lock()
    live.ended.forget()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def report(loop: Any = None) -> Report:
    """Report on each queue, reader, thread and loop in this process, and the bottleneck.

    If nothing runs any more, it is the report on the dataset whose loops took longest since the last report, at least
    10 ms.

    `print(pipeline.report())` shows a table with a verdict for each loop. With a `monitor` running, it also knows who
    computes and who waits.

    Args:
        loop: Report only this loop and what leads to it; as `loop.report()`.

    Raises:
        TypeError: `loop` is not an iterator.

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
    if not watching:
        live.ended.note_report()
    return watching[0].report(loop) if watching else collect(_looks_at(loop), loop)


def _looks_at(loop: Any) -> tuple[Look, ...]:
    """Return the last monitor's looks if the loop ended during it."""
    looks: tuple[Look, ...] = _kept[0] if _kept else ()
    ended = None if loop is None else loop._facts().times.ended_at
    return looks if looks and ended is not None and looks[0].at <= ended <= looks[-1].at else ()
