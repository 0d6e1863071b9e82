"""WorkerPool: an executor's threads. Each runs calls itself, or in its own process."""

from __future__ import annotations

import collections
import contextlib
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from concurrent.futures._base import CANCELLED_AND_NOTIFIED
from typing import Any, NamedTuple

from pipeline.conditions import ReentrantCondition
from pipeline.diagnostics.live import Live
from pipeline.diagnostics.wording import named
from pipeline.errors import ResourceExhaustedError
from pipeline.locks import Lock
from pipeline.sync.ending import StartingThread, wait_for_end
from pipeline.sync.stop_flag import StopFlag
from pipeline.workers.chunks import WorkerDied

LIMIT_OF_THREADS = "the system allows this user, or this container, no more threads"

# Seconds for a worker process to exit by itself.
GRACE = 0.5

# Seconds between checks in a waiting thread, because Ctrl-C may prevent its wake-up.
_CHECK_INTERVAL = 1.0

_pools: Live[WorkerPool] = Live()


class BrokenWorkers(BrokenExecutor):
    """No worker can do the call: they cannot start, or cannot import the function."""


class Promise(Future[Any]):
    """A Future with a lock that Ctrl-C never leaves locked."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = ReentrantCondition()

    def forsake(self) -> None:
        """Cancel the future after a fork: its worker does not exist in the child, and may have held the lock."""
        self._condition = ReentrantCondition()
        if not self.done():
            self._state = CANCELLED_AND_NOTIFIED


class SubmittedCall(NamedTuple):
    """A submitted call.

    Attributes:
        future: For the result.
        function: The function, in the form used by the pool's threads.
        arguments: Its arguments, in the same form.
        begun: True if a worker has received it; then it can no longer be cancelled.
    """

    future: Promise
    function: Any
    arguments: Any
    begun: bool = False

    def begin(self) -> bool:
        """Return whether to run it: False if it was cancelled."""
        return self.begun or self.future.set_running_or_notify_cancel()

    def cancel(self) -> None:
        """End it without a result."""
        if self.begun:
            self.future.set_exception(WorkerDied(None, "was stopped"))
        elif self.future.cancel():
            self.future.set_running_or_notify_cancel()


class WorkerPool:
    """State shared by the threads. They hold this, not the executor, which may become garbage.

    No thread waits while holding the lock, especially not for a future: its lock may belong to a thread waiting
    for this one. `rest`, `drop` and `stop` do not take it, because garbage collection may call them anywhere.

    Args:
        count: The most threads.
        new_thread: Makes a thread for this pool, with this number.

    Attributes:
        stopped: True if no more calls may start.
        abandons: True if the results are not needed once the program ends.
    """

    abandons = False

    def __init__(self, count: int, new_thread: Callable[[WorkerPool, int], WorkerThread]) -> None:
        self._count = count
        self._new_thread = new_thread
        self._numbers = itertools.count(1)
        self._calls: collections.deque[SubmittedCall] = collections.deque()
        self._threads: list[WorkerThread] = []
        self._asleep: dict[WorkerThread, None] = {}  # sleeping threads not woken yet
        self._idle = 0  # idle threads: asleep, just woken, or just started
        self.forget()
        self._resting = self._closed = False
        self._broken: BrokenWorkers | None = None
        self.stopped = False
        _pools.add(self)

    def forget(self) -> None:
        """Forget all threads, even if the lock is held: in a forked process they and all calls are the parent's."""
        self._lock = Lock()
        calls = [*self._calls, *(call for thread in self._threads for call in thread.sent)]
        self._calls, self._threads = collections.deque(), []
        self._asleep, self._idle = {}, 0
        for call in calls:
            call.future.forsake()

    def __str__(self) -> str:
        if self._closed:
            return "shut down"
        return f"{len(self._threads)} running" if self._threads else "not running"

    @property
    def threads(self) -> tuple[WorkerThread, ...]:
        """Return the running threads."""
        return tuple(self._threads)

    @property
    def closed(self) -> bool:
        """True if it accepts no more calls."""
        return self._closed

    def put(self, call: SubmittedCall) -> None:
        """Add a call; start another thread if all are busy and there may be more.

        Raises:
            RuntimeError: It accepts no more calls.
            ResourceExhaustedError: The system starts no thread, and there is none.
        """
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._resting = False
            self._calls.append(call)
            woken = self._woken()
            more = self._wants_another()
        if woken is not None:
            woken.bell.set()
        if more:
            thread = self._new_thread(self, next(self._numbers))
            try:
                thread.start()
            except RuntimeError as error:
                self._go_without(call, error)
            else:
                thread.entered.wait()  # from now on, `close` finds it

    def _go_without(self, call: SubmittedCall, error: RuntimeError) -> None:
        """Leave a call to the running threads, because the system starts no more; raise if there are none."""
        with self._lock:
            if self._threads or call not in self._calls:
                return
            self._calls.remove(call)
        raise ResourceExhaustedError(None, None, f"no worker can start: {error}: {LIMIT_OF_THREADS}") from error

    def put_back(self, calls: Iterable[SubmittedCall]) -> None:
        """Requeue these started calls in front."""
        with self._lock:
            self._calls.extendleft(call._replace(begun=True) for call in calls)
            woken = [self._woken() for _ in self._calls]
        for thread in woken:
            if thread is not None:
                thread.bell.set()

    def _woken(self) -> WorkerThread | None:
        """Return a sleeping thread to wake for a call, if any. The caller holds the lock."""
        return self._asleep.popitem()[0] if self._asleep else None

    def _wants_another(self) -> bool:
        """Return whether there should be another thread. The caller holds the lock."""
        if len(self._threads) >= self._count:
            return False
        return len(self._calls) > sum(not thread.sent for thread in self._threads)

    def enter(self, thread: WorkerThread) -> bool:
        """Register a running thread; return whether there is room for it."""
        try:
            with self._lock:
                fits = len(self._threads) < self._count
                if fits:
                    self._threads.append(thread)
                    self._count_idle(thread, True)
        finally:
            thread.entered.set()  # the caller of `put` waits for this
        return fits

    def take(self, thread: WorkerThread) -> SubmittedCall | None:
        """Return the next call, or None if an idle worker should take it or this thread should exit."""
        while True:
            thread.bell.clear()
            call = woken = None
            with self._lock:
                if self._calls and (not thread.sent or len(self._calls) > self._idle):
                    call = self._calls.popleft()
                    thread.sent.append(call)
                    self._count_idle(thread, False)
                    if self._calls:  # it may have been woken for the next call as well
                        woken = self._woken()
                elif thread.sent:
                    return None
                elif self._closed or self._resting:
                    self._remove(thread)
                    return None
                else:
                    self._count_idle(thread, True)
                    self._asleep[thread] = None
            if woken is not None:
                woken.bell.set()
            if call is None:
                thread.bell.wait(_CHECK_INTERVAL)
                continue
            if self.stopped:
                call.cancel()
            elif call.begin():
                return call
            thread.sent.pop()

    def _count_idle(self, thread: WorkerThread, idle: bool) -> None:
        """Note whether a thread is idle. The caller holds the lock."""
        self._idle += idle - thread.idle
        thread.idle = idle
        if not idle:
            self._asleep.pop(thread, None)

    def _remove(self, thread: WorkerThread) -> None:
        """Forget an ending thread. The caller holds the lock."""
        self._count_idle(thread, False)
        self._threads.remove(thread)

    def fail(self, error: BrokenWorkers) -> None:
        """Fail all current and future calls, because no worker can start."""
        with self._lock:
            self._broken = self._broken or error
            calls, self._calls = list(self._calls), collections.deque()
            self._closed = True
            self._ring()
        for call in calls:
            if call.begin():
                call.future.set_exception(error)

    def lose(self, thread: WorkerThread, error: BaseException) -> None:
        """Fail all calls after an unexpected error in a thread."""
        broken = BrokenWorkers(f"the thread that manages a worker ended: {named(error)}")
        broken.__cause__ = error
        with self._lock:
            if thread in self._threads:
                self._remove(thread)
        for call in thread.sent:
            with contextlib.suppress(InvalidStateError):  # already done or cancelled
                call.future.set_exception(broken)
        thread.sent.clear()
        self.fail(broken)

    def rest(self) -> None:
        """Let idle workers end."""
        self._resting = True
        self._ring()

    def close(self, cancel: bool, wait: bool, most: float = math.inf) -> None:
        """Let workers end when all is done; with `cancel`, drop calls not begun. Wait for them, `most` seconds."""
        with self._lock:
            self._closed = True
            threads, calls = list(self._threads), list(self._calls) if cancel else []
            self._ring()
        for call in calls:
            call.future.cancel()
        if wait:
            _join(threads, most)

    def stop(self, wait: bool = False) -> None:
        """Stop all workers, even busy ones: those in the middle of an item get half a second."""
        self.stopped = self._closed = True
        threads = tuple(self._threads)
        for thread in threads:
            thread.ask_to_stop()
        self._ring()
        if wait:
            _join(threads, 3 * GRACE)

    def drop(self) -> None:
        """Stop busy workers, because their results are not needed, and let idle ones end, as by `rest`."""
        self.stopped = self._resting = True
        for thread in tuple(self._threads):
            if thread.sent:
                thread.ask_to_stop()
        self._ring()

    def _ring(self) -> None:
        for thread in tuple(self._threads):
            thread.bell.set()


def _join(threads: Iterable[WorkerThread], most: float) -> None:
    end = time.monotonic() + most
    for thread in threads:
        if thread is not threading.current_thread():
            wait_for_end(thread, end)


class WorkerThread(StartingThread):
    """A pool's thread: takes calls and handles them until none are left.

    Args:
        pool: The pool.
        number: Its number in the pool.

    Attributes:
        sent: Its current and next calls.
        idle: True if it is counted as idle.
        bell: Set when there may be a call, or when the pool has ended.
        entered: Set when it is registered in its pool, or rejected.
    """

    def __init__(self, pool: WorkerPool, number: int) -> None:
        super().__init__(name=f"pipeline-worker-{number}", daemon=True)
        self.sent: collections.deque[SubmittedCall] = collections.deque()
        self.idle = False
        self.bell, self.entered = StopFlag(), StopFlag()
        self.pool = pool

    def run(self) -> None:
        """Run the thread's loop. However it ends, no future is left open."""
        if not self.pool.enter(self):
            return
        try:
            self.work()
        except BaseException as error:
            self.pool.lose(self, error)
            self.abandon(error)

    def work(self) -> None:
        """Take calls until there are no more."""
        raise NotImplementedError

    def abandon(self, error: BaseException) -> None:
        """Release its calls after it failed with this error."""

    def ask_to_stop(self) -> None:
        """End its current work soon, if possible. From any thread or finalizer."""


def _forget_all() -> None:
    for _, pool in _pools.numbered():
        pool.forget()


os.register_at_fork(after_in_child=_forget_all)
