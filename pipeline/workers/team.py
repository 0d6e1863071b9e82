"""Team: the threads that see to the calls of an executor. Each makes them itself, or keeps a process that does."""

from __future__ import annotations

import _thread
import collections
import contextlib
import itertools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from concurrent.futures._base import CANCELLED_AND_NOTIFIED
from typing import Any, NamedTuple

from pipeline.diagnostics.wording import named
from pipeline.runners.ending import StartingThread
from pipeline.runners.stop_flag import StopFlag
from pipeline.workers.chunks import WorkerDied

# Seconds that a worker process gets to end by itself.
GRACE = 0.5

# Seconds between two looks of a keeper that waits: Ctrl-C may strike between a change and the bell for it.
_CHECK_INTERVAL = 1.0

_teams: weakref.WeakSet[Team] = weakref.WeakSet()


class BrokenWorkers(BrokenExecutor):
    """No worker can do the call: they cannot start, or cannot import the function."""


class _Condition(_thread.RLock, threading.Condition):  # type: ignore[misc]
    """A Condition that is its own lock, so that `with` enters it in C.

    The `__enter__` of a Condition is Python code: Ctrl-C there, when the lock is taken and the `with` has not begun,
    leaves it locked for ever. The thread that has a result for a future would wait for it.
    """

    def __init__(self) -> None:
        self._waiters: collections.deque[Any] = collections.deque()


class Promise(Future[Any]):
    """A Future that Ctrl-C leaves unlocked."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = _Condition()

    def forsake(self) -> None:
        """Count as cancelled, in a forked process: whoever was to give the result is not there, and may have been
        within the lock."""
        self._condition = _Condition()
        if not self.done():
            self._state = CANCELLED_AND_NOTIFIED


class Call(NamedTuple):
    """What is submitted.

    Attributes:
        future: Gets the result.
        function: What to call, as the keepers of the team take it.
        arguments: What to call it with, likewise.
        begun: Whether a worker has had it; then it can no longer be cancelled.
    """

    future: Promise
    function: Any
    arguments: Any
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
        count: The most keepers.
        keeper: Makes one, of this team and with this number.

    Attributes:
        stopped: Whether calls that have not begun are not to be.
        abandons: Whether nobody wants the results of such calls once the program ends.
    """

    abandons = False

    def __init__(self, count: int, keeper: Callable[[Team, int], Keeper]) -> None:
        self._count = count
        self._keeper = keeper
        self._numbers = itertools.count(1)
        self._calls: collections.deque[Call] = collections.deque()
        self._keepers: list[Keeper] = []
        self.forget()
        self._resting = self._closed = False
        self._broken: BrokenWorkers | None = None
        self.stopped = False
        _teams.add(self)

    def forget(self) -> None:
        """Have no keepers, whoever holds the lock: in a forked process they are its parent's, and so are all calls."""
        self._lock = threading.RLock()  # no Condition: Ctrl-C in its `__enter__`, in Python, would leave it locked
        calls = [*self._calls, *(call for keeper in self._keepers for call in keeper.sent)]
        self._calls, self._keepers = collections.deque(), []
        for call in calls:
            call.future.forsake()

    def __str__(self) -> str:
        if self._closed:
            return "shut down"
        return f"{len(self._keepers)} running" if self._keepers else "not running"

    @property
    def keepers(self) -> tuple[Keeper, ...]:
        """Those that run."""
        return tuple(self._keepers)

    @property
    def closed(self) -> bool:
        """Whether nothing is submitted any more."""
        return self._closed

    def put(self, call: Call) -> None:
        """Have a call done; start another keeper if all are busy and there may be more."""
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._resting = False
            self._calls.append(call)
            more = self._wake()
        if more:
            keeper = self._keeper(self, next(self._numbers))
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

    def enter(self, keeper: Keeper) -> bool:
        """Count a keeper; it calls this when it runs. Whether there is room for it."""
        try:
            with self._lock:
                fits = len(self._keepers) < self._count
                if fits:
                    self._keepers.append(keeper)
        finally:
            keeper.entered.set()  # whoever called `put` waits for it
        return fits

    def take(self, keeper: Keeper) -> Call | None:
        """The next call. None: there is none that would not better wait for an idle worker; or, for a keeper that has
        nothing to do, that it shall end."""
        while True:
            keeper.bell.clear()
            with self._lock:
                call = None
                if self._calls and (not keeper.sent or len(self._calls) > self._idle()):
                    call = self._calls.popleft()
                    keeper.sent.append(call)  # from now on it is not idle
                    if self._calls:  # its bell may have rung for the next call too, before it took this one
                        self._wake()
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

    def lose(self, keeper: Keeper, error: BaseException) -> None:
        """A keeper ends by an error that none should end by: fail its calls, and all others."""
        broken = BrokenWorkers(f"the thread that sees to a worker ended: {named(error)}")
        broken.__cause__ = error
        with self._lock:
            if keeper in self._keepers:
                self._keepers.remove(keeper)
        for call in keeper.sent:
            with contextlib.suppress(InvalidStateError):  # it has a result already, or was cancelled
                call.future.set_exception(broken)
        keeper.sent.clear()
        self.fail(broken)

    def rest(self) -> None:
        """Let workers end that have nothing to do."""
        self._resting = True
        self._ring()

    def close(self, cancel: bool, wait: bool, most: float = math.inf) -> None:
        """Let workers end when all is done; with `cancel`, without what is not begun. Wait for them, `most` seconds."""
        with self._lock:
            self._closed = True
            keepers, calls = list(self._keepers), list(self._calls) if cancel else []
            self._ring()
        for call in calls:
            call.future.cancel()
        if wait:
            _join(keepers, most)

    def stop(self, wait: bool = False) -> None:
        """Stop all workers, whatever they are doing: those in the middle of an item get half a second."""
        self.stopped = self._closed = True
        keepers = tuple(self._keepers)
        for keeper in keepers:
            keeper.ask_to_stop()
        self._ring()
        if wait:
            _join(keepers, 3 * GRACE)

    def _ring(self) -> None:
        for keeper in tuple(self._keepers):
            keeper.bell.set()


def _join(keepers: Iterable[Keeper], most: float) -> None:
    end = time.monotonic() + most
    for keeper in keepers:
        if keeper is not threading.current_thread():
            keeper.join(None if most == math.inf else max(0, end - time.monotonic()))


class Keeper(StartingThread):
    """One of a team: takes calls and sees to them, until there is nothing to do any more.

    Args:
        team: The team.
        number: Its number there.

    Attributes:
        sent: The calls that it is at, or about to be.
        bell: Set when there may be something to do, or nothing any more.
        entered: Set when it is one of its team, or turned away.
    """

    def __init__(self, team: Team, number: int) -> None:
        super().__init__(name=f"pipeline-worker-{number}", daemon=True)
        self.sent: collections.deque[Call] = collections.deque()
        self.bell, self.entered = StopFlag(), StopFlag()
        self.team = team

    def run(self) -> None:
        """Do what the thread is for. However it ends, no future is left open."""
        if not self.team.enter(self):
            return
        try:
            self.work()
        except BaseException as error:
            self.team.lose(self, error)
            self.abandon(error)

    def work(self) -> None:
        """Take calls, until there are none to come."""
        raise NotImplementedError

    def abandon(self, error: BaseException) -> None:
        """Let go of what it has, as it has failed by this error."""

    def ask_to_stop(self) -> None:
        """Let what it is at end soon, if it can. From any thread or finalizer."""


def _forget_all() -> None:
    for team in list(_teams):
        team.forget()


os.register_at_fork(after_in_child=_forget_all)
