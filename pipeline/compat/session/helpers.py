"""Helpers: threads of a session that wait for one operation of a run while others go on; kept for later runs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from pipeline.compat.session.run import Resources

# A helper that had nothing to do for so many seconds ends.
_IDLE = 5.0


class HelperTask:
    """The task of a helper.

    Args:
        name: The name of the thread while it does it.
        work: Does it.
        report: Called with what `work` raised, or None.
    """

    def __init__(self, name: str, work: Callable[[], None], report: Callable[[BaseException | None], None]) -> None:
        self.name, self._work, self._report = name, work, report
        self._lock = threading.Lock()
        self._begun = self._withdrawn = False
        self._ended = threading.Event()

    def do(self) -> BaseException | None:
        """Do the work unless the task was withdrawn; returns what it raised."""
        with self._lock:
            if self._withdrawn:
                return None
            self._begun = True
        try:
            self._work()
        except BaseException as error:
            return error
        return None

    def end(self, error: BaseException | None) -> None:
        """Report the end of the work."""
        self._report(error)
        self._ended.set()

    def withdrawn_or_ended(self, timeout: float) -> bool:
        """Withdraw the task if no helper has begun it, else wait so many seconds for its end; whether it has ended."""
        with self._lock:
            if not self._begun:
                self._withdrawn = True
                return True
        return self._ended.wait(timeout)


class Helpers:
    """The helpers of a session.

    Thread safety: every method may be called from every thread.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[HelperTask | None]] = []
        resources.wakes(self)

    def give(self, task: HelperTask) -> None:
        """Have a helper do a task, at once."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._help, args=(inbox,), name=task.name, daemon=True).start()
        inbox.put(task)

    def _help(self, inbox: queue.SimpleQueue[HelperTask | None]) -> None:
        while not self._resources.closed:
            try:
                task = inbox.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                continue  # somebody is about to put a task there
            if task is None:
                return
            threading.current_thread().name = task.name
            error = task.do()
            with self._lock:
                self._idle.append(inbox)  # before the report, so the next run finds this thread
            task.end(error)
            task = error = None  # they may hold large values

    def _poke(self) -> None:
        """Let idle helpers end if the session is closed."""
        if self._resources.closed:
            with self._lock:
                idle, self._idle = self._idle, []
            for inbox in idle:
                inbox.put(None)
