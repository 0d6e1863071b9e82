"""Team: the threads that keep the worker processes of an executor."""

from __future__ import annotations

import atexit
import collections
import itertools
import multiprocessing
import os
import threading
import time
import weakref
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple

from pipeline.explain.wording import named
from pipeline.runners.stop_flag import StopFlag
from pipeline.workers.chunks import FailedItem, WorkerDied
from pipeline.workers.process import GRACE, BrokenWorkers, Worker
from pipeline.workers.worker import Unknown

# Calls that a worker has at once: it begins the next one before anybody has looked at its last result.
_AT_ONCE = 2

# Workers that die before they begin a call, until the call is at fault.
_IN_VAIN = 2

# Seconds between two looks of a keeper that waits: Ctrl-C may strike between a change and the bell for it.
_CHECK_INTERVAL = 1.0

# Those that are to be stopped at exit.
_teams: weakref.WeakSet[Team] = weakref.WeakSet()


class Call(NamedTuple):
    """What is submitted: a function by its number, and pickled; and its arguments, pickled.

    Attributes:
        begun: Whether a worker has had it; then it can no longer be cancelled.
    """

    future: Future[Any]
    number: int
    definition: bytes
    arguments: bytes
    begun: bool = False

    def begin(self) -> bool:
        """Whether it is to be done: not if it was cancelled."""
        return self.begun or self.future.set_running_or_notify_cancel()

    def cancel(self) -> None:
        """Let it end without a result."""
        if self.begun:
            self.future.set_exception(WorkerDied(None, "was stopped"))
        elif self.future.cancel():
            self.future.set_running_or_notify_cancel()


class Team:
    """What the keepers share. They hold this, not the executor, which may become garbage.

    Nobody waits for anything while holding the lock, least of all for a future, whose lock a thread may hold that waits
    for this one. `rest` and `stop` do not take it: a garbage collection may call them anywhere.

    Args:
        count: The most workers.
        setup: The pickled function that each worker calls first.
        method: How processes are started.
    """

    def __init__(self, count: int, setup: bytes | None, method: str) -> None:
        self.setup = setup
        self.context: Any = multiprocessing.get_context(method)
        self._count = count
        self._numbers = itertools.count(1)
        self.forget()
        self._resting = self._closed = False
        self._broken: BrokenWorkers | None = None
        self.stopped = False
        _teams.add(self)

    def forget(self) -> None:
        """Have no keepers, whoever holds the lock: in a forked process they are its parent's."""
        self._lock = threading.RLock()  # no Condition: Ctrl-C in its `__enter__`, in Python, would leave it locked
        self._calls: collections.deque[Call] = collections.deque()
        self._keepers: list[_Keeper] = []

    def __str__(self) -> str:
        if self._closed:
            return "shut down"
        return f"{len(self._keepers)} running" if self._keepers else "not running"

    def pids(self) -> list[int]:
        """Return the numbers of the processes that run."""
        workers = [keeper.worker for keeper in tuple(self._keepers)]
        return [each.process.pid for each in workers if each is not None and each.process.pid is not None]

    def put(self, call: Call) -> None:
        """Have a worker do a call; start one if all are busy and there may be more."""
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._resting = False
            self._calls.append(call)
            more = self._wake()
        if more:
            keeper = _Keeper(self, next(self._numbers))
            keeper.start()
            keeper.entered.wait()  # whoever calls `close` now finds it

    def put_back(self, calls: Iterable[Call]) -> None:
        """Have another worker do these calls, which have begun, first."""
        with self._lock:
            self._calls.extendleft(call._replace(begun=True) for call in calls)
            for _ in self._calls:
                self._wake()

    def _wake(self) -> bool:
        """Wake a keeper for a call; whether there should be another keeper. The caller holds the lock."""
        for keeper in self._keepers:
            if not keeper.sent and not keeper.bell.is_set():
                keeper.bell.set()
                break
        return len(self._calls) > self._idle() and len(self._keepers) < self._count

    def enter(self, keeper: _Keeper) -> bool:
        """Count a keeper; it calls this when it runs. Whether there is room for it."""
        with self._lock:
            fits = len(self._keepers) < self._count
            if fits:
                self._keepers.append(keeper)
        keeper.entered.set()
        return fits

    def take(self, keeper: _Keeper) -> Call | None:
        """The next call. None: there is none that would not better wait for an idle worker; or, for a keeper that has
        nothing to do, that it shall end."""
        while True:
            keeper.bell.clear()
            with self._lock:
                call = None
                if self._calls and (not keeper.sent or len(self._calls) > self._idle()):
                    call = self._calls.popleft()
                    keeper.sent.append(call)  # from now on it is not idle
                elif keeper.sent:
                    return None
                elif self._closed or self._resting:
                    self._keepers.remove(keeper)
                    return None
            if call is None:
                keeper.bell.wait(_CHECK_INTERVAL)
                continue
            if self.stopped:
                call.cancel()
            elif call.begin():
                return call
            keeper.sent.pop()

    def _idle(self) -> int:
        return sum(not keeper.sent for keeper in self._keepers)

    def fail(self, error: BrokenWorkers) -> None:
        """No worker can start: fail all calls, those to come too."""
        with self._lock:
            self._broken = self._broken or error
            calls, self._calls = list(self._calls), collections.deque()
            self._closed = True
            self._ring()
        for call in calls:
            if call.begin():
                call.future.set_exception(error)

    def rest(self) -> None:
        """Let workers end that have nothing to do."""
        self._resting = True
        self._ring()

    def close(self, cancel: bool, wait: bool) -> None:
        """Let workers end when all is done; with `cancel`, without what is not begun."""
        with self._lock:
            self._closed = True
            keepers, calls = list(self._keepers), list(self._calls) if cancel else []
            self._ring()
        for call in calls:
            call.future.cancel()
        if wait:
            for keeper in keepers:
                keeper.join()

    def stop(self, wait: bool = False) -> None:
        """Stop all workers, whatever they are doing: those in the middle of an item get half a second."""
        self.stopped = self._closed = True
        keepers = tuple(self._keepers)
        for keeper in keepers:
            if keeper.worker is not None:
                keeper.worker.ask_to_stop()
        self._ring()
        if wait:
            end = time.monotonic() + 3 * GRACE
            for keeper in keepers:
                if keeper is not threading.current_thread():
                    keeper.join(max(0, end - time.monotonic()))

    def _ring(self) -> None:
        for keeper in tuple(self._keepers):
            keeper.bell.set()


@atexit.register  # after multiprocessing has registered what kills its processes, and so before that is called
def _stop_all() -> None:
    for team in list(_teams):
        team.stop(wait=True)


def _forget_all() -> None:
    for team in list(_teams):
        team.forget()


os.register_at_fork(after_in_child=_forget_all)


class _Keeper(threading.Thread):
    """Keeps one worker: starts it, hands it calls and takes its results; starts another one if it dies.

    Attributes:
        sent: The calls that the worker has, or is about to get.
        bell: Set when there may be something to do, or nothing any more.
        entered: Set when it is one of its team, or turned away.
    """

    def __init__(self, team: Team, number: int) -> None:
        super().__init__(name=f"pipeline-worker-{number}", daemon=True)
        self.sent: collections.deque[Call] = collections.deque()
        self.bell, self.entered = StopFlag(), StopFlag()
        self._team = team
        self.worker: Worker | None = None
        self._in_vain = 0  # how many workers in a row have died before they began a call

    def run(self) -> None:
        if not self._team.enter(self):
            return
        while self._fill():
            self._receive()
        if self.worker is not None:
            self.worker.end()

    def _fill(self) -> bool:
        """Send calls; whether there is one whose result is to be received."""
        while len(self.sent) < _AT_ONCE:
            call = self._team.take(self)
            if call is None:
                break
            try:
                (self.worker or self._start()).send(call.number, call.definition, call.arguments)
            except BrokenWorkers as error:
                self.sent.clear()
                call.future.set_exception(error)
                self._team.fail(error)
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
        except Exception as error:
            result = FailedItem(error)
        self._in_vain = 0
        future = self.sent.popleft().future
        if not isinstance(result, FailedItem):
            future.set_result(result[0])
        elif isinstance(result.error, Unknown):
            broken = BrokenWorkers(f"a worker process cannot make the function: {result.error}")
            broken.__cause__ = result.error.__cause__
            future.set_exception(broken)
        else:
            future.set_exception(result.error)

    def _start(self) -> Worker:
        try:
            worker = self.worker = Worker(self._team.context, self._team.setup, self.name)
        except (OSError, RuntimeError, AssertionError) as error:
            raise BrokenWorkers(f"a worker process cannot be started: {named(error)}") from error
        if self._team.stopped:  # it may have come too late to be asked
            worker.ask_to_stop()
        try:
            worker.wait()
        except BrokenWorkers:
            self.worker = None
            raise
        return worker

    def _died(self, error: Exception) -> None:
        """The worker is dead, or lost. The call that it was at has failed; others may do what it had not begun."""
        worker, calls = self.worker, list(self.sent)
        assert worker is not None
        self.worker = None
        lost = None if isinstance(error, (EOFError, ConnectionError)) else error
        begun, index, how = worker.begun, worker.at(), worker.end(lost)
        self._in_vain += not begun
        self.sent.clear()
        failed = len(calls) if self._team.stopped else int(begun or self._in_vain > _IN_VAIN)
        self._team.put_back(reversed(calls[failed:]))
        for call in calls[:failed]:
            call.future.set_exception(WorkerDied(index, how))
