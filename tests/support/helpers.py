"""Threads without sleeps: start a call, wait until it is blocked, and collect its outcome."""

import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pipeline.errors import DeadlineExceededError

LIMIT = 120.0  # seconds before a test gives up on a thread or a process, however slow the machine


class Running:
    """A call in a daemon thread."""

    def __init__(self, fn, args, kwargs):
        self._outcome = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(fn, args, kwargs), daemon=True)
        self._thread.start()

    def _run(self, fn, args, kwargs):
        try:
            self._outcome = fn(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def alive(self):
        return self._thread.is_alive()

    def wait(self, seconds):
        """Wait at most this long for the call to end."""
        self._thread.join(seconds)

    def _join(self):
        self._thread.join(LIMIT)
        if self.alive():
            pytest.fail(f"a call in a thread did not end within {LIMIT} s")

    def result(self):
        """Wait for the call; return its result or raise its error."""
        self._join()
        if self._error is not None:
            raise self._error
        return self._outcome

    def exception(self):
        """Wait for the call; return its error, or None if it had none."""
        self._join()
        return self._error


def run_in_thread(fn, *args, **kwargs):
    """Start `fn(*args, **kwargs)` in a thread; return the `Running` call."""
    return Running(fn, args, kwargs)


def wait_until(condition, what):
    """Poll until `condition()` is true; fail the test if it never is."""
    deadline = time.monotonic() + LIMIT
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {LIMIT} s for {what}")
        pause.wait(0.0005)


def waiting(queue):
    """Return how many enqueue and dequeue calls are blocked now."""
    stats = queue.stats()
    return stats.waiting_enqueues, stats.waiting_dequeues


def wait_blocked(queue, enqueues=0, dequeues=0):
    """Return as soon as exactly this many calls are blocked."""
    wait_until(lambda: waiting(queue) == (enqueues, dequeues), f"{enqueues} blocked enqueues and {dequeues} dequeues")


def start_blocked(queue, method, *args, **kwargs):
    """Start `queue.method(*args, **kwargs)` in a thread; return once it is blocked behind the earlier ones.

    A call with a timeout may be over by then if the machine is busy.
    """
    before = sum(waiting(queue))
    call = run_in_thread(getattr(queue, method), *args, **kwargs)
    wait_until(lambda: sum(waiting(queue)) > before or not call.alive(), f"{method} to block")
    if not call.alive() and not ("timeout" in kwargs and isinstance(call.exception(), DeadlineExceededError)):
        pytest.fail(f"{method} did not block: {call.exception() or call.result()!r}")
    return call


def raises(cls, text=""):
    """`pytest.raises` for an error whose message starts with `text`."""
    return pytest.raises(cls, match="^" + re.escape(text))


def check_error(error, cls, text):
    assert type(error) is cls
    assert str(error).startswith(text), str(error)


def plain(value):
    """Return a result as nested Python values, for comparison."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def told(options):
    """Return a test id for a call's options, without addresses, because these differ between processes."""
    return " ".join(f"{name}={getattr(value, 'made_by', plain_name(value))}" for name, value in options.items())


def plain_name(value):
    return getattr(value, "__name__", value)


def run_script(script, **kwargs):
    """Run Python source in a fresh interpreter; return the completed process, with its output as text."""
    return _run("-c", script, **kwargs)


def run_file(path, **kwargs):
    """As `run_script`, for a file: a program that ends has its variables until its threads are joined."""
    return _run(path, **kwargs)


def _run(*arguments, **kwargs):
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **kwargs)


def in_order(found, expected):
    """Return whether the items found are expected, in this order and without repeats; some may be missing."""
    left = iter(expected)
    return all(each in left for each in found)
