"""Threads that start and end reliably even if a signal handler raises."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from pipeline.diagnostics.frames import is_running
from pipeline.sync.stop_flag import StopFlag

# Seconds between checks for a thread's end.
JOIN_INTERVAL = 0.02
_FIRST_PAUSE = 50e-6


class _Started(StopFlag):
    """An event from a new thread to `start`. Ctrl-C could leave an Event's lock held, in Python code of the standard
    library; the thread would then wait for it forever instead of starting."""

    def _at_fork_reinit(self) -> None:
        self._bells.clear()


class StartingThread(threading.Thread):
    """A thread that either begins or was never made, even if a signal handler raises in `start`."""

    def __init__(self, name: str, daemon: bool | None = None) -> None:
        super().__init__(name=name, daemon=daemon)
        self._started = _Started()

    def start(self) -> None:
        try:
            super().start()
        except KeyError as error:  # in the standard library: a handler raised after the thread began
            raise (error.__context__ or error) from None


class EndingThread(StartingThread):
    """A thread whose end wakes `wait_for_end` at once. It can be cancelled before it begins.

    Args:
        target: Its function.
        args: Arguments of `target`.
        name: Name of the thread.
    """

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...], name: str) -> None:
        super().__init__(name=name)
        self._bodies = [functools.partial(target, *args)]  # taking it out decides whether it runs
        self._at_work = threading.Lock()
        self._at_work.acquire()

    def __repr__(self) -> str:
        """Return a name-based repr, as for any thread."""
        return f"<Thread{super().__repr__().removeprefix(f'<{type(self).__name__}')}"

    def run(self) -> None:
        """Run the target."""
        try:
            body = self._bodies.pop()
        except IndexError:  # cancelled
            return
        try:
            body()
        finally:
            del body  # an exception's traceback would keep its references alive
            self._at_work.release()

    def give_up(self) -> bool:
        """Cancel the target and release it; return False if the thread has begun.

        If a signal handler raises inside `start`, the thread either begins later, or it never begins and stays on an
        interpreter list forever.
        """
        try:
            self._bodies.pop()
        except IndexError:
            return False
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until the target has ended, for at most `seconds`; return whether it has."""
        if not self._at_work.acquire(timeout=seconds):
            return False
        self._at_work.release()
        return True


def wait_for_end(thread: threading.Thread, deadline: float) -> None:
    """Wait until a thread has ended, or until a `time.monotonic` deadline. A thread that has not begun counts as ended.

    Up to Python 3.12, a handler that raises inside `Thread.join` makes a running thread count as ended. So `join` only
    waits for a thread's last steps.
    """
    pause = _FIRST_PAUSE
    # In intervals: a signal arriving just before a wait begins would not end it.
    while (running := is_running(thread)) and (left := deadline - time.monotonic()) > 0:
        if not isinstance(thread, EndingThread):
            time.sleep(min(left, pause))
            pause = min(2 * pause, JOIN_INTERVAL)
        elif thread.wait(min(left, JOIN_INTERVAL)):
            running = False
            break
    if not running and thread.ident is not None and thread is not threading.main_thread():
        thread.join(max(0.0, min(deadline - time.monotonic(), threading.TIMEOUT_MAX)))
