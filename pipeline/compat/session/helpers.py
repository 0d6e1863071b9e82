"""Helpers: session threads that wait for one operation in a run while others continue; reused by later runs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from pipeline.compat.session.run import Resources
from pipeline.locks import Lock

# A helper idle for this many seconds ends.
_IDLE = 5.0


class HelperTask:
    """A helper's task.

    Args:
        name: The thread's name during the task.
        work: Function that does the task.
        report: Called with the exception from `work`, or None.
    """

    def __init__(self, name: str, work: Callable[[], None], report: Callable[[BaseException | None], None]) -> None:
        self.name, self._work, self._report = name, work, report
        self._lock = Lock()
        self._begun = self._withdrawn = False
        self._ended = threading.Event()

    def do(self) -> BaseException | None:
        """Do the work unless the task was withdrawn; return its exception."""
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
        """Report the task's end."""
        self._report(error)
        self._ended.set()

    def withdrawn_or_ended(self, timeout: float) -> bool:
        """Withdraw a task not yet begun, else wait up to `timeout` seconds for its end; return whether it has ended."""
        with self._lock:
            if not self._begun:
                self._withdrawn = True
                return True
        return self._ended.wait(timeout)


class Helpers:
    """A session's helpers.

    Thread safety: all methods may be called from any thread.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lock = Lock()
        self._idle: list[queue.SimpleQueue[HelperTask | None]] = []
        resources.wakes(self)

    def give(self, task: HelperTask) -> None:
        """Start a task in a helper at once."""
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
                continue  # a task is about to be added
            if task is None:
                return
            threading.current_thread().name = task.name
            error = task.do()
            with self._lock:
                self._idle.append(inbox)  # before the report, so that the next run finds this thread
            task.end(error)
            task = error = None  # they may hold large values

    def _poke(self) -> None:
        """Let idle helpers end if the session is closed."""
        if self._resources.closed:
            with self._lock:
                idle, self._idle = self._idle, []
            for inbox in idle:
                inbox.put(None)
