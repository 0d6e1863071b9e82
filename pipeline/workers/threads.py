"""Threads: an executor with threads that end when idle. AtOnce: one without threads."""

from __future__ import annotations

import atexit
import functools
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from pipeline.diagnostics.live import Live
from pipeline.diagnostics.wording import named
from pipeline.workers.executor import Workers
from pipeline.workers.pool import GRACE, BrokenWorkers, Promise, SubmittedCall, WorkerPool, WorkerThread

# Executors that finish their submitted calls before the program exits.
_pools: Live[WorkerPool] = Live()


class Threads(Workers):
    """Worker threads; see `threads`.

    Unlike a ThreadPoolExecutor's locks, its locks are never left locked by Ctrl-C.

    Thread safety: every method may be called from any thread.
    """

    in_process = True
    made_by = "pipeline.threads"

    def __init__(self, count: int, setup: Callable[[], Any] | None = None, abandons: bool = False) -> None:
        self._made_of = count, setup, abandons
        self._max_workers = count  # same name as in the standard library's executors
        self._kept = False
        self._pool = WorkerPool(count, functools.partial(_CallingThread, setup))
        self._pool.abandons = abandons
        weakref.finalize(self, self._pool.rest).atexit = False
        _pools.add(self._pool)

    @property
    def count(self) -> int:
        return self._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a thread. The executor's own threads call it directly, to avoid deadlocks.

        Returns:
            A Future. Its exception is the function's exception.

        Raises:
            RuntimeError: After `shutdown`; a BrokenWorkers if `setup` has failed.
        """
        if getattr(threading.current_thread(), "pool", None) is self._pool:
            return AtOnce().submit(fn, *args, **kwargs)
        future = Promise()
        self._pool.put(SubmittedCall(future, fn, (args, kwargs)))
        return future

    def rest(self) -> None:
        """Let threads end when they have finished the submitted calls, except within a `with` block.

        Garbage collection may call this anywhere, because it waits for no lock.
        """
        if not self._kept:
            self._pool.rest()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end when they have finished the submitted calls.

        Args:
            wait: Return when they have ended. Called in one of its own threads, it does not wait for that thread.
            cancel_futures: Cancel calls no thread has begun.
        """
        self._pool.close(cancel_futures, wait)

    def numbers(self) -> list[int]:
        """Return the native ids of the running threads."""
        return [each.native_id for each in self._pool.threads if each.native_id is not None]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), self._made_of  # pickled as a description; threads start on demand

    def __enter__(self) -> Threads:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(cancel_futures=error is not None)

    def __repr__(self) -> str:
        return f"<pipeline.threads({self._max_workers}): {self._pool}>"


@atexit.register
def _end_all() -> None:
    for _, pool in _pools.numbered():
        # A function may wait forever for its input, so the threads are daemons and get half a second.
        pool.close(cancel=pool.abandons, wait=True, most=GRACE if pool.abandons else math.inf)


class _CallingThread(WorkerThread):
    """Makes the calls itself."""

    def __init__(self, setup: Callable[[], Any] | None, pool: WorkerPool, number: int) -> None:
        super().__init__(pool, number)
        self._setup = setup

    def work(self) -> None:
        try:
            if self._setup is not None:
                self._setup()
        except BaseException as error:
            broken = BrokenWorkers(f"setup failed in a worker thread: {named(error)}")
            broken.__cause__ = error
            self.pool.fail(broken)
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        """Handle the next call; return whether there was one. Nothing from it is left when this returns."""
        call = self.pool.take(self)
        if call is None:
            return False
        args, kwargs = call.arguments
        try:
            result = call.function(*args, **kwargs)
        except BaseException as error:
            self.sent.clear()
            call.future.set_exception(error)
            del call, args, kwargs  # the traceback keeps this frame alive
        else:
            self.sent.clear()  # before the result is set, because its receiver may submit the next call
            call.future.set_result(result)
        return True


class AtOnce(Workers):
    """Calls functions in the submitting thread.

    Thread safety: every method may be called from any thread.
    """

    _max_workers = count = 0
    chunk_seconds = 0.001  # an example's extra latency in a chunk
    in_process = True
    made_by = "None"

    def numbers(self) -> Sequence[int]:
        """Return no ids: there are no threads."""
        return ()

    def rest(self) -> None:
        """Let threads end: there are none."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function and wrap its result or Exception; a BaseException such as Ctrl-C passes through."""
        future = Promise()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
