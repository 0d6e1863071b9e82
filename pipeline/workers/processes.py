"""Processes: an executor whose workers are processes that give results back through shared memory."""

from __future__ import annotations

import _thread
import collections
import functools
import itertools
import os
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any

from pipeline.workers.team import Call, Team


class _Condition(_thread.RLock, threading.Condition):  # type: ignore[misc]
    """A Condition that is its own lock, so that `with` enters it in C.

    The `__enter__` of a Condition is Python code: Ctrl-C there, when the lock is taken and the `with` has not begun,
    leaves it locked for ever. The thread that has a result for a future would wait for it.
    """

    def __init__(self) -> None:
        self._waiters: collections.deque[Any] = collections.deque()


class _Future(Future[Any]):
    def __init__(self) -> None:
        super().__init__()
        self._condition = _Condition()


class Processes(Executor):
    """Worker processes. Made by `processes`, which see.

    Thread safety: every method may be called from every thread.
    """

    made_by = "pipeline.processes"  # for advice that can be typed

    def __init__(self, count: int, setup: Callable[[], Any] | None, method: str) -> None:
        self._max_workers = self._processes = count  # by these names executors of the standard library have them too
        self._pid = os.getpid()
        self._kept = False
        self._numbers = itertools.count()
        self._known: weakref.WeakKeyDictionary[functools.partial[Any], tuple[int, bytes]] = weakref.WeakKeyDictionary()
        self._team = Team(count, None if setup is None else _pickled(setup, "setup"), method)
        weakref.finalize(self, self._team.stop).atexit = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker call a function.

        Returns:
            A Future. Its exception is what the function raised, with the worker's traceback as its `__cause__`;
            a WorkerDied, which is an AbortedError, if the worker died; or a BrokenWorkers if none can start.

        Raises:
            TypeError: Processes cannot import the function.
            RuntimeError: After `shutdown`, or in a forked process.
        """
        if os.getpid() != self._pid:
            raise RuntimeError("these processes belong to the process that this one was forked from")
        number, definition = self._defined(fn)
        future = _Future()
        try:
            arguments = pickle.dumps((args, kwargs), 5)
        except Exception as error:
            future.set_running_or_notify_cancel()
            future.set_exception(error)
            return future
        self._team.put(Call(future, number, definition, arguments))
        return future

    def check(self, function: Callable[..., Any]) -> None:
        """Raise TypeError for a function that processes cannot import."""
        _pickled(function, "the function")

    def rest(self) -> None:
        """Let workers that have nothing to do end, but not within a `with` block. `submit` starts others."""
        if not self._kept:
            self._team.rest()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers end when they have done what was submitted.

        Args:
            wait: Return when they have.
            cancel_futures: Cancel what no worker has begun.
        """
        self._team.close(cancel_futures, wait)

    def numbers(self) -> list[int]:
        """Return the numbers of the processes that run."""
        return self._team.pids()

    def __enter__(self) -> Processes:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Shut down. After an error nobody wants the results, so workers that are still at work are stopped."""
        if error is None:
            self.shutdown()
        else:
            self._team.stop(wait=True)

    def __repr__(self) -> str:
        return f"<pipeline.processes({self._max_workers}): {self._team}>"

    def _defined(self, function: Callable[..., Any]) -> tuple[int, bytes]:
        """The number of a function and its pickle; a function that comes again and again is pickled once."""
        if not isinstance(function, functools.partial):
            return next(self._numbers), _pickled(function, "the function")
        known = self._known.get(function)
        if known is None:
            known = self._known[function] = next(self._numbers), _pickled(function, "the function", function.args)
        return known


def _pickled(function: Any, what: str, parts: tuple[Any, ...] = ()) -> bytes:
    """A function as it is sent to a process; TypeError if it cannot be, or could not be found there."""
    named = next((part for part in (*parts, function) if callable(part)), function)
    try:
        data = pickle.dumps(function, 5)
    except Exception as error:
        raise TypeError(
            f"{named!r:.80} cannot be sent to other processes ({error}): {what} must be defined at the top level of a "
            "module, not be a lambda or defined in a function"
        ) from error
    main = sys.modules.get("__main__")
    if getattr(named, "__module__", None) == "__main__" and not (
        getattr(main, "__file__", None) or getattr(main, "__spec__", None)
    ):
        raise TypeError(
            f"{named!r:.80} cannot be sent to other processes, which cannot import what an interactive session "
            f"defines: put {what} into a module (a file) and import it from there, or use pipeline.threads"
        )
    return data
