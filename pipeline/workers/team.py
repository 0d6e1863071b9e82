"""Team: the worker processes of an executor, and the threads that keep them."""

from __future__ import annotations

import atexit
import collections
import multiprocessing
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor, Future
from multiprocessing import connection, reduction
from typing import Any, NamedTuple

from pipeline.explain.wording import named
from pipeline.workers.chunks import FailedItem, WorkerDied
from pipeline.workers.shared import Reader
from pipeline.workers.worker import BEGUN, ITEM, REMEMBERED, STOP, Page, Task, Unknown, work

# Calls that a worker has at once: it begins the next one before anybody has looked at its last result.
_AT_ONCE = 2

# Workers that die before they begin a call, until the call is at fault.
_IN_VAIN = 2

# Seconds that a worker gets to end by itself.
GRACE = 0.5

# `multiprocessing` starts processes, and sees to those that ended, in one thread at a time.
_starting = threading.Lock()

_GUARD = (
    'A worker imports the program: what the program does belongs under `if __name__ == "__main__":`. What the worker '
    "printed says more"
)


# Those that are to be stopped at exit.
_teams: weakref.WeakSet[Team] = weakref.WeakSet()


class BrokenWorkers(BrokenExecutor):
    """No worker can do the call: they cannot start, or cannot import the function."""


class Call(NamedTuple):
    """What is submitted: a function by its number, and pickled; and its arguments, pickled."""

    future: Future[Any]
    number: int
    definition: bytes
    arguments: bytes


class Team:
    """What the keepers share. They hold this, not the executor, which may become garbage.

    Args:
        count: The most workers.
        setup: The pickled function that each worker calls first.
        method: How processes are started.
    """

    def __init__(self, count: int, setup: bytes | None, method: str) -> None:
        self.setup = setup
        self.context: Any = multiprocessing.get_context(method)
        self._count = count
        self._made = 0
        self._changed = threading.Condition()
        self._calls: collections.deque[Call] = collections.deque()
        self._keepers: list[_Keeper] = []
        self._resting = self._closed = False
        self._broken: BrokenWorkers | None = None
        self.stopped = False
        _teams.add(self)

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
        keeper = None
        with self._changed:
            if self._broken is not None:
                raise self._broken
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._resting = False
            self._calls.append(call)
            if len(self._calls) > self._idle() and len(self._keepers) < self._count:
                self._made += 1
                keeper = _Keeper(self, self._made)
                self._keepers.append(keeper)
            self._changed.notify()
        if keeper is not None:  # a garbage collection in the thread that starts may call `rest`
            keeper.start()

    def put_back(self, calls: Iterable[Call]) -> None:
        """Have another worker do these calls, first."""
        with self._changed:
            self._calls.extendleft(calls)
            self._changed.notify_all()

    def take(self, keeper: _Keeper) -> Call | None:
        """The next call. None: there is none that would not better wait for an idle worker; or, for a keeper that has
        nothing to do, that it shall end."""
        with self._changed:
            while True:
                if not keeper.sent or len(self._calls) > self._idle():
                    while self._calls:
                        call = self._calls.popleft()
                        if call.future.running() or call.future.set_running_or_notify_cancel():
                            return call
                if keeper.sent:
                    return None
                if self._closed or self._resting:
                    self._keepers.remove(keeper)
                    return None
                self._changed.wait()

    def _idle(self) -> int:
        return sum(not keeper.sent for keeper in self._keepers)

    def fail(self, error: BrokenWorkers) -> None:
        """No worker can start: fail all calls, those to come too."""
        with self._changed:
            self._broken = self._broken or error
            calls, self._calls = list(self._calls), collections.deque()
            self._closed = True
            self._changed.notify_all()
        for call in calls:
            if call.future.running() or call.future.set_running_or_notify_cancel():
                call.future.set_exception(error)

    def rest(self) -> None:
        """Let workers end that have nothing to do."""
        with self._changed:
            self._resting = True
            self._changed.notify_all()

    def close(self, cancel: bool, wait: bool) -> None:
        """Let workers end when all is done; with `cancel`, without what is not begun."""
        with self._changed:
            self._closed = True
            keepers, calls = list(self._keepers), list(self._calls) if cancel else []
            self._changed.notify_all()
        for call in calls:
            call.future.cancel()
        if wait:
            for keeper in keepers:
                if keeper.ident is not None:  # else `put` is about to start it, and it ends at once
                    keeper.join()

    def stop(self) -> None:
        """Stop all workers, whatever they are doing: those in the middle of an item get half a second."""
        self.stopped = True
        here = threading.current_thread()
        keepers = [keeper for keeper in self._keepers if keeper is not here and keeper.ident is not None]
        self.close(True, False)
        for keeper in keepers:
            keeper.ask_to_stop()
        end = time.monotonic() + GRACE
        for keeper in keepers:
            keeper.join(max(0, end - time.monotonic()))
        for keeper in keepers:
            keeper.kill()
        for keeper in keepers:
            keeper.join(GRACE)


@atexit.register  # after multiprocessing has registered what kills its processes, and so before that is called
def _stop_all() -> None:
    for team in list(_teams):
        team.stop()


class _Worker:
    """A worker process, seen from here.

    Raises:
        OSError, RuntimeError, AssertionError: It cannot be started.
    """

    def __init__(self, team: Team, name: str) -> None:
        self.connection, there = multiprocessing.Pipe()
        self.process = team.context.Process(target=work, args=(there, team.setup), name=name, daemon=True)
        self.done = 0
        self.page: Any = None
        self._how = ""
        self._reader = Reader()
        self._known: collections.deque[int] = collections.deque(maxlen=REMEMBERED)
        try:
            with _starting:
                self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            there.close()

    def wait(self) -> None:
        """Wait until it is ready.

        Raises:
            BrokenWorkers: It will never be, and neither will another.
            OSError: It was killed.
        """
        try:
            failed = pickle.loads(self.connection.recv_bytes())
            if failed is None:
                self.page = Page(reduction.recv_handle(self.connection)).numbers
                return
        except (EOFError, OSError):
            how = self.end()
            if "killed" in how:
                raise ConnectionResetError(how) from None
            raise BrokenWorkers(f"a worker process {how} while it started. {_GUARD}") from None
        self.end()
        raise BrokenWorkers(f"setup failed in a worker process: {named(failed.error)}") from failed.error

    def send(self, call: Call) -> None:
        """Send a call; OSError if the worker is dead."""
        definition = None if call.number in self._known else call.definition
        if definition is not None:
            self._known.append(call.number)
        task = Task(call.number, definition, call.arguments, self._reader.freed())
        self.connection.send_bytes(pickle.dumps(task))

    def receive(self) -> Any:
        """The next result; EOFError or OSError if the worker is dead."""
        reply = pickle.loads(self.connection.recv_bytes())
        for number, size in reply.made:
            self._reader.add(number, size, reduction.recv_handle(self.connection))
        self.done += 1
        return self._reader.result(reply)

    @property
    def begun(self) -> bool:
        """Whether it has begun a call whose result has not come."""
        return self.page is not None and self.page[BEGUN] > self.done

    def at(self) -> int:
        """Which item of this call it is at."""
        return int(self.page[ITEM]) if self.begun else 0

    def end(self) -> str:
        """Let it end, if it has not; how it ended, as text."""
        if self._how:
            return self._how
        self.connection.close()
        if not connection.wait([self.process.sentinel], GRACE):
            self.process.kill()
        with _starting:
            self.process.join()
            code = self.process.exitcode
        if code is None or code >= 0:
            self._how = f"ended with exit status {code}"
        else:
            hint = " (perhaps by the system, for lack of memory)" if code == -signal.SIGKILL else ""
            self._how = f"was killed by {signal.Signals(-code).name}{hint}"
        return self._how


class _Keeper(threading.Thread):
    """Keeps one worker: starts it, hands it calls and takes its results; starts another one if it dies.

    Attributes:
        sent: The calls that the worker has.
    """

    def __init__(self, team: Team, number: int) -> None:
        super().__init__(name=f"pipeline-worker-{number}", daemon=True)
        self.sent: collections.deque[Call] = collections.deque()
        self._team = team
        self.worker: _Worker | None = None
        self._in_vain = 0  # how many workers in a row have died before they began a call

    def run(self) -> None:
        while self._fill():
            self._receive()
        if self.worker is not None:
            self.worker.end()

    def ask_to_stop(self) -> None:
        """Let the worker end before its next item. From another thread."""
        worker = self.worker
        if worker is not None and worker.page is not None:
            worker.page[STOP] = 1

    def kill(self) -> None:
        """Kill the worker if it still runs. From another thread."""
        worker = self.worker
        if self.is_alive() and worker is not None:
            worker.process.kill()

    def _fill(self) -> bool:
        """Send calls; whether there is one whose result is to be received."""
        while len(self.sent) < _AT_ONCE:
            call = self._team.take(self)
            if call is None:
                break
            self.sent.append(call)
            try:
                (self.worker or self._start()).send(call)
            except BrokenWorkers as error:
                self.sent.clear()
                call.future.set_exception(error)
                self._team.fail(error)
            except OSError:
                self._died()
        return bool(self.sent)

    def _receive(self) -> None:
        assert self.worker is not None
        try:
            result = self.worker.receive()
        except (EOFError, OSError):
            self._died()
            return
        except Exception as error:  # it cannot be unpickled
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

    def _start(self) -> _Worker:
        try:
            worker = self.worker = _Worker(self._team, self.name)
        except (OSError, RuntimeError, AssertionError) as error:
            raise BrokenWorkers(f"a worker process cannot be started: {named(error)}") from error
        try:
            worker.wait()
        except BrokenWorkers:
            self.worker = None
            raise
        return worker

    def _died(self) -> None:
        """The worker is dead. The call that it was at has failed; others may do what it had not begun."""
        worker, calls = self.worker, list(self.sent)
        assert worker is not None
        self.worker = None
        begun, index, how = worker.begun, worker.at(), worker.end()
        self._in_vain += not begun
        self.sent.clear()
        failed = len(calls) if self._team.stopped else int(begun or self._in_vain > _IN_VAIN)
        self._team.put_back(reversed(calls[failed:]))
        for call in calls[:failed]:
            call.future.set_exception(WorkerDied(index, how))
