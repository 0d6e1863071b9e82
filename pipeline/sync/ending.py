"""Threads that can be started, and their end waited for, where a signal handler may raise."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from pipeline.diagnostics.frames import is_running
from pipeline.sync.stop_flag import StopFlag

# Seconds between checks whether a thread has ended.
JOIN_INTERVAL = 0.02
_FIRST_PAUSE = 50e-6


class _Started(StopFlag):
    """An event from a new thread to `start`. Ctrl-C would leave the lock of an Event locked, in Python
    code of the standard library, and the thread would wait for it forever instead of starting."""

    def _at_fork_reinit(self) -> None:
        self._bells.clear()


class StartingThread(threading.Thread):
    """A thread that begins also if a signal handler raises in `start`, or was never made."""

    def __init__(self, name: str, daemon: bool | None = None) -> None:
        super().__init__(name=name, daemon=daemon)
        self._started = _Started()

    def start(self) -> None:
        try:
            super().start()
        except KeyError as error:  # of the standard library, where a handler has raised and the thread has begun
            raise (error.__context__ or error) from None


class EndingThread(StartingThread):
    """A thread whose end wakes `wait_for_end` at once. It can be given up as long as it has not begun.

    Args:
        target: Its function.
        args: Arguments of `target`.
        name: Name of the thread.
    """

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...], name: str) -> None:
        super().__init__(name=name)
        self._bodies = [functools.partial(target, *args)]  # whoever takes it out decides whether it runs
        self._at_work = threading.Lock()
        self._at_work.acquire()

    def __repr__(self) -> str:
        """Compare by name, as any thread."""
        return f"<Thread{super().__repr__().removeprefix(f'<{type(self).__name__}')}"

    def run(self) -> None:
        """Do what the thread is for."""
        try:
            body = self._bodies.pop()
        except IndexError:  # given up
            return
        try:
            body()
        finally:
            del body  # the traceback of an exception would keep what it refers to
            self._at_work.release()

    def give_up(self) -> bool:
        """Let the thread do nothing, and forget what it was for; return False if it has begun.

        A signal handler that raises inside `start` leaves a thread that will begin, or a thread that never will and is
        on a list of the interpreter's forever.
        """
        try:
            self._bodies.pop()
        except IndexError:
            return False
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until the thread has done what it is for, at most this long; return whether it has."""
        if not self._at_work.acquire(timeout=seconds):
            return False
        self._at_work.release()
        return True


def wait_for_end(thread: threading.Thread, deadline: float) -> None:
    """Wait until a thread has ended, or until an instant of `time.monotonic`. One that has not begun counts as ended.

    Up to Python 3.12 a handler that raises inside `Thread.join` makes a running thread count as ended. So `join` is
    only called for the last steps of a thread.
    """
    pause = _FIRST_PAUSE
    # In intervals: a signal that arrives just before a wait begins would not end it.
    while (running := is_running(thread)) and (left := deadline - time.monotonic()) > 0:
        if not isinstance(thread, EndingThread):
            time.sleep(min(left, pause))
            pause = min(2 * pause, JOIN_INTERVAL)
        elif thread.wait(min(left, JOIN_INTERVAL)):
            running = False
            break
    if not running and thread.ident is not None and thread is not threading.main_thread():
        thread.join(max(0.0, min(deadline - time.monotonic(), threading.TIMEOUT_MAX)))
