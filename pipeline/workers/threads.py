"""Threads: an executor whose threads end when nobody needs them. AtOnce: one without threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

# Those that are to have other threads in a forked process, which has none of its parent's.
_executors: weakref.WeakSet[Threads] = weakref.WeakSet()


class Threads(Executor):
    """Worker threads. Made by `threads`, which see.

    Thread safety: every method may be called from every thread.
    """

    made_by = "pipeline.threads"  # for advice that can be typed

    def __init__(self, count: int, setup: Callable[[], Any] | None = None) -> None:
        self._max_workers = count  # by this name executors of the standard library have it too
        self._setup = setup
        self._kept = self._closed = False
        self._forget()
        _executors.add(self)

    def _forget(self) -> None:
        """Have no threads, whoever holds the lock."""
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a thread call a function; RuntimeError after `shutdown`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._pool is None:
                setup = () if self._setup is None else (self._setup,)
                self._pool = ThreadPoolExecutor(self._max_workers, "pipeline-worker", *setup)
            return self._pool.submit(fn, *args, **kwargs)

    def rest(self) -> None:
        """Let threads end when they have done what was submitted, but not within a `with` block.

        A garbage collection may call this anywhere, also in a thread that `submit` starts and waits for. So it waits
        for no lock; whoever holds it needs the threads.
        """
        if not self._kept and self._lock.acquire(blocking=False):
            try:
                pool, self._pool = self._pool, None
            finally:
                self._lock.release()
            if pool is not None:
                pool.shutdown(wait=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end when they have done what was submitted; see `concurrent.futures.Executor.shutdown`."""
        self._closed = True
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait, cancel_futures=cancel_futures)

    def numbers(self) -> list[int]:
        """Return the native numbers of the threads that run."""
        pool = self._pool
        return [] if pool is None else [each.native_id for each in tuple(pool._threads) if each.native_id is not None]

    def __enter__(self) -> Threads:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(cancel_futures=error is not None)

    def __repr__(self) -> str:
        state = "shut down" if self._closed else "not running" if self._pool is None else "running"
        return f"<pipeline.threads({self._max_workers}): {state}>"


def _forget_all() -> None:
    for each in list(_executors):
        each._forget()


os.register_at_fork(after_in_child=_forget_all)


class AtOnce(Executor):
    """Calls a function as it is submitted, in the thread that submits it.

    Thread safety: every method may be called from every thread.
    """

    _max_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function; the result says what it returned. What is no Exception, such as Ctrl-C, goes through."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
