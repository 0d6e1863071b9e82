"""Processes: an executor of processes with results in shared memory."""

from __future__ import annotations

import atexit
import errno
import functools
import multiprocessing
import os
import sys
import time
import weakref
from collections.abc import Callable, Collection
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from pipeline.diagnostics.live import Live
from pipeline.diagnostics.wording import named
from pipeline.errors import invalid
from pipeline.tracebacks import from_handler
from pipeline.workers import pickling, spares
from pipeline.workers.chunks import FailedItem, WorkerDied
from pipeline.workers.definition import Definition
from pipeline.workers.executor import Workers
from pipeline.workers.long_lists import Snapshots, sha1
from pipeline.workers.pickling import pickled
from pipeline.workers.pool import BrokenWorkers, Promise, SubmittedCall, WorkerPool, WorkerThread
from pipeline.workers.process import UNGUARDED, Worker
from pipeline.workers.worker import Unknown, Unreadable

# Calls per worker: it starts the next call before its last result is collected.
_AT_ONCE = 2

# Number of workers that may die before a call starts; after this, the call or the setup is the cause.
_IN_VAIN = 2

# Seconds between attempts to start a worker after the fork server has ended.
_PAUSE = 0.05

# Executors to stop at exit.
_pools: Live[WorkerPool] = Live()


class Processes(Workers):
    """Worker processes; see `processes`.

    Thread safety: every method may be called from any thread.
    """

    made_by = "pipeline.processes"

    def __init__(
        self, count: int, setup: Callable[[], Any] | None, method: str, preload: Collection[str] | None = None
    ) -> None:
        self._made_of = count, setup, method, preload
        self._max_workers = self._processes = count  # same name as in the standard library's executors
        self._pid = os.getpid()
        self._kept = False
        self._snapshots = Snapshots()
        sha1()  # imports hashlib while files can still be opened
        self._known: weakref.WeakKeyDictionary[functools.partial[Any], Definition] = weakref.WeakKeyDictionary()
        first, modules = (None, set[str]()) if setup is None else pickled(setup, "setup")
        self._starter = spares.Starter(method, first, preload)
        self._starter.need(modules)
        self._pool = WorkerPool(count, functools.partial(_ProcessThread, self._starter))
        weakref.finalize(self, self._pool.drop).atexit = False
        _pools.add(self._pool)

    @property
    def count(self) -> int:
        return self._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker call a function.

        Returns:
            A Future. Its exception is the function's exception, with the worker's traceback as its `__cause__`;
            a WorkerDied (an AbortedError) if the worker died; or a BrokenWorkers if none can start.

        Raises:
            TypeError: The function cannot be sent to processes.
            ImportError: cloudpickle is needed and not installed.
            RuntimeError: After `shutdown`, or in a forked process.
        """
        here = multiprocessing.current_process()
        if getattr(here, "_inheriting", False) and here.name.startswith("pipeline-worker-"):  # a worker importing it
            sys.stdout.flush()
            os._exit(UNGUARDED)  # an exception would print a traceback from each worker
        if os.getpid() != self._pid:
            raise RuntimeError("these processes belong to the process that this one was forked from")
        defined = self._defined(fn)
        future = Promise()
        try:
            arguments = pickling.arguments((args, kwargs))
        except Exception as error:
            if from_handler(error):
                raise
            future.set_running_or_notify_cancel()
            future.set_exception(error)
            return future
        self._pool.put(SubmittedCall(future, defined, arguments))
        return future

    def check(self, function: Callable[..., Any]) -> None:
        """Raise TypeError for a function that does not pickle; ImportError without cloudpickle."""
        pickling.check(function)

    def rest(self) -> None:
        """Release idle workers, except within a `with` block. `submit` takes others."""
        if not self._kept:
            self._pool.rest()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers end when they have finished the submitted calls.

        Args:
            wait: Return when they have ended.
            cancel_futures: Cancel calls no worker has begun.
        """
        self._pool.close(cancel_futures, wait)

    def numbers(self) -> list[int]:
        """Return the ids of the running processes."""
        workers = [thread.worker for thread in self._pool.threads if isinstance(thread, _ProcessThread)]
        return [each.process.pid for each in workers if each is not None and each.process.pid is not None]

    @property
    def ready_at(self) -> float:  # type: ignore[override]
        """When the last process was ready, by `time.monotonic`; now while one is starting."""
        starting = any(thread.starting for thread in self._pool.threads if isinstance(thread, _ProcessThread))
        return time.monotonic() if starting else self._starter.ready_at

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), self._made_of  # pickled as a description; processes start on demand

    def __enter__(self) -> Processes:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Shut down; after an error stop busy workers, because their results are not needed."""
        if error is None:
            self.shutdown()
        else:
            self._pool.stop(wait=True)

    def __repr__(self) -> str:
        return f"<pipeline.processes({self._max_workers}): {self._pool}>"

    def _defined(self, function: Callable[..., Any]) -> Definition:
        """Return a function's definition; a repeated one is made once."""
        known = self._known.get(function) if isinstance(function, functools.partial) else None
        if known is None:
            known = Definition(function, self._is_kept, self._snapshots)
            self._starter.need(known.modules)
            if isinstance(function, functools.partial):
                self._known[function] = known
        return known

    def _is_kept(self, digest: bytes) -> bool:
        """Return whether a worker keeps a function."""
        workers = [thread.worker for thread in self._pool.threads if isinstance(thread, _ProcessThread)]
        return any(each is not None and each.keeps(digest) for each in workers) or spares.keep_function(digest)


@atexit.register  # registered after multiprocessing's own handler, so it runs first, before the processes are killed
def _stop_all() -> None:
    for _, pool in _pools.numbered():
        pool.stop(wait=True)
    spares.end_all()


def _unreadable(error: Unreadable) -> Exception:
    """Return the error for arguments that do not unpickle."""
    unreadable = invalid(
        f"a worker process cannot unpickle an example: {error}. Its classes must be at the top level of a module, and "
        "unpickle from what they pickle; dicts and arrays do"
    )
    unreadable.__cause__ = error.__cause__
    return unreadable


class _ProcessThread(WorkerThread):
    """Keeps one worker: starts it, sends it calls and takes its results; starts another one if it dies."""

    def __init__(self, starter: spares.Starter, pool: WorkerPool, number: int) -> None:
        super().__init__(pool, number)
        self._starter = starter
        self.worker: Worker | None = None
        self.starting = False
        self._in_vain = 0  # workers in a row that died before a call started

    def work(self) -> None:
        while self._fill():
            self._receive()
        worker, self.worker = self.worker, None
        if worker is not None and self.pool.closed:
            worker.end()
        elif worker is not None:
            spares.keep(worker)

    def abandon(self, error: BaseException) -> None:
        if self.worker is not None:
            self.worker.end(error)

    def ask_to_stop(self) -> None:
        worker = self.worker
        if worker is not None:
            worker.ask_to_stop()

    def _fill(self) -> bool:
        """Send calls; return whether a result is due."""
        while len(self.sent) < _AT_ONCE:
            call = self.pool.take(self)
            if call is None:
                break
            try:
                (self.worker or self._start()).send(call.function, call.arguments)
            except BrokenWorkers as error:
                self.sent.clear()
                call.future.set_exception(error)
                self.pool.fail(error)
            except (EOFError, OSError) as error:
                self._died(error)
        return bool(self.sent)

    def _receive(self) -> None:
        assert self.worker is not None
        try:
            message = self.worker.receive()
        except Exception as error:
            self._died(error)
            return
        try:
            result = self.worker.result(message)
        except BaseException as error:  # unpickling user classes may raise anything
            result = FailedItem(error)  # type: ignore[arg-type]
        self._in_vain = 0
        failure: BaseException | None = None
        if isinstance(result, FailedItem):
            failure = result.error
        if isinstance(failure, Unknown):
            self.worker.forget(self.sent[0].function.digest)  # it may succeed with the next iterator
            broken = BrokenWorkers(f"a worker process cannot make the function: {failure}")
            broken.__cause__, failure = failure.__cause__, broken
        elif isinstance(failure, Unreadable):
            failure = _unreadable(failure)
        future = self.sent.popleft().future
        if failure is None:
            future.set_result(result[0])
        else:
            future.set_exception(failure)

    def _start(self) -> Worker:
        self.starting = True
        worker = self._ready_worker()
        self._starter.ready_at, self.starting = time.monotonic(), False
        return worker

    def _ready_worker(self) -> Worker:
        try:
            worker = self.worker = self._starter.worker(self.name)
        except (EOFError, ConnectionError) as error:  # the fork server may have just died
            if self._in_vain < _IN_VAIN or self.pool.stopped:
                time.sleep(_PAUSE)
                raise
            times = self._in_vain + 1
            raise BrokenWorkers(
                f"worker processes cannot be started: the process that starts them ended {times} times "
                f"({named(error)}), as when the system has no room for another"
            ) from error
        except BrokenWorkers:
            raise
        except (OSError, RuntimeError) as error:
            many = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
            hint = ": raise the limit by `ulimit -n`" if many else ""
            raise BrokenWorkers(f"a worker process cannot be started: {named(error)}{hint}") from error
        if self.pool.stopped:  # it may have started too late to be stopped with the others
            worker.ask_to_stop()
        try:
            worker.wait()
        except BrokenWorkers:
            self.worker = None
            raise
        except ConnectionError as error:
            if self._in_vain < _IN_VAIN or self.pool.stopped:
                raise
            self.worker = None
            raise BrokenWorkers(f"worker processes cannot get ready: the last of {self._in_vain + 1} {error}") from None
        return worker

    def _died(self, error: Exception) -> None:
        """Handle a dead or lost worker, or one that did not start.

        Its current call fails, and others may take the calls it had not begun.
        """
        worker, calls = self.worker, list(self.sent)
        self.worker = None
        lost = None if isinstance(error, (EOFError, ConnectionError)) else error
        if worker is None:
            begun, index, how = False, None, f"could not be started: {named(error)}"
        else:
            begun, index, how = worker.begun, worker.at(), worker.end(lost)
        self._in_vain += not begun
        self.sent.clear()
        failed = len(calls) if self.pool.stopped else int(begun or self._in_vain > _IN_VAIN)
        self.pool.put_back(reversed(calls[failed:]))
        for call in calls[:failed]:
            call.future.set_exception(WorkerDied(index, how))
