"""Auto: an executor with no threads, threads or processes; kind and number change during a run."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

from pipeline import logs
from pipeline.diagnostics.clocks import processors
from pipeline.errors import ResourceExhaustedError
from pipeline.workers import needs
from pipeline.workers.executor import Workers
from pipeline.workers.judge import HERE, PROCESSES, THREADS, Choice, Chosen, Judge, Period
from pipeline.workers.pickling import importable
from pipeline.workers.processes import Processes
from pipeline.workers.threads import AtOnce, Threads

# A period's length in seconds, and in chunks per worker.
_SECONDS, _CHUNKS = 0.25, 4


class Auto(Workers):
    """Calls a function in as many threads or processes as the loop's waiting time justifies.

    A change is tried if a loop waits, and undone if it does not help; running calls stay in their workers. Processes
    need an importable function, a program with a guarded main part, and enough memory.

    Args:
        name: The function's name.
        function: The function.
        chosen: The starting choice; better ones are noted in it.

    Attributes:
        executor: The current workers.

    Thread safety: one thread at a time calls `note` and `submit`; others may read.
    """

    def __init__(self, name: str, function: Callable[..., Any], chosen: Chosen) -> None:
        self._name, self._chosen = name, chosen
        self._judge = Judge(chosen, processors(), functools.partial(_processes_for, function))
        # Keeps each pending call's executor alive, because processes stop when their executor is collected.
        self._doing: weakref.WeakKeyDictionary[Future[Any], Workers] = weakref.WeakKeyDictionary()
        self._getting_ready: tuple[Processes, list[Future[Any]]] | None = None
        self.executor = self._made(chosen.choice)
        self.worker_seconds: float = 0.0  # total for all workers, up to the last results
        self._noted = time.perf_counter()
        self._begin()

    def _made(self, choice: Choice) -> AtOnce | Threads | Processes:
        if choice.kind == HERE:
            return AtOnce()
        if choice.kind == THREADS:
            return Threads(choice.number, abandons=True)
        kept: Processes | None = self._chosen.processes
        if kept is None or (kept._max_workers, kept._pid) != (choice.number, os.getpid()):
            kept = self._chosen.processes = Processes(choice.number, None, "forkserver")
        return kept

    def _refuse(self, executor: Processes) -> None:
        """Stop using processes, because they do not start."""
        self._judge.refuse(PROCESSES)
        self._chosen.processes = None
        _let_go(executor)
        self._begin(settling=False)

    @property
    def is_empty(self) -> bool:
        """True if there are no workers."""
        return type(self.executor) is AtOnce

    @property
    def choice(self) -> Choice:
        """The current workers."""
        if self.is_empty:
            return Choice(HERE, 1)
        return Choice(THREADS if isinstance(self.executor, Threads) else PROCESSES, self._max_workers)

    @property
    def _max_workers(self) -> int:
        return self.executor._max_workers

    @property
    def count(self) -> int:
        return self.executor.count

    @property
    def chunk_seconds(self) -> float:
        return self.executor.chunk_seconds

    @property
    def in_process(self) -> bool:  # type: ignore[override]
        return self.executor.in_process

    @property
    def made_by(self) -> str:  # type: ignore[override]
        """The user's code for these workers."""
        return self.executor.made_by

    def recovers(self, error: BaseException) -> bool:
        self.go_without(error)  # type: ignore[arg-type]
        return True

    def numbers(self) -> Sequence[int]:
        """Return the ids of the running threads or processes."""
        return self.executor.numbers()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker call a function."""
        future = self.executor.submit(fn, *args, **kwargs)
        self._doing[future] = self.executor
        return future

    def go_without(self, error: Exception) -> None:
        """Call functions in the submitting thread from now on, because an error prevents workers."""
        if self.is_empty:
            return
        logs.logger("pipeline.workers").warning("%s continues without workers: %s", self._name, error)
        self._judge.refuse_all()
        self._chosen.processes = None
        self._change(AtOnce())

    def note(self, examples: int, seconds: float, cpu: float, waited: float) -> None:
        """Record results: how many examples, the function's duration and processor time, the loop's waiting time."""
        self._examples += examples
        self._work += seconds
        self._cpu += cpu
        self._waited += waited + (seconds if self.is_empty else 0.0)
        self._chunks += 1
        now = time.perf_counter()
        self.worker_seconds += self.choice.number * (now - self._noted)
        self._noted = now
        if self._getting_ready is not None:
            self._look()
            return
        if now - self._began < _SECONDS or self._chunks < _CHUNKS * self._max_workers:
            return
        if self._settling:  # some of the first results are from the previous workers
            self._begin(settling=False)
            return
        span = now - self._began
        work = max(self._work, 1e-9)
        self._turn(Period(self._examples / span, self._waited / span, self._work / span, self._cpu / work))

    def _begin(self, settling: bool = True) -> None:
        self._began = time.perf_counter()
        self._examples = self._chunks = 0
        self._work = self._cpu = self._waited = 0.0
        self._settling = settling

    def _turn(self, period: Period) -> None:
        before = self.choice
        after = self._judge.after(period)
        if after == before:
            self._begin(settling=False)
            return
        executor = self._made(after)
        if isinstance(executor, Processes):  # processes start slowly
            try:
                self._getting_ready = executor, [executor.submit(_ready) for _ in range(after.number)]
            except (ResourceExhaustedError, BrokenExecutor):
                self._refuse(executor)
        else:
            self._change(executor)

    def _look(self) -> None:
        """Use processes once they have started."""
        assert self._getting_ready is not None
        executor, futures = self._getting_ready
        if not all(future.done() for future in futures):
            return
        self._getting_ready = None
        if any(future.cancelled() or future.exception() for future in futures):  # cancelled in a forked process
            self._refuse(executor)
        else:
            self._change(executor)

    def _change(self, executor: AtOnce | Threads | Processes) -> None:
        before, self.executor = self.executor, executor
        _let_go(before)
        logs.logger("pipeline.workers").info("%s: workers=%s", self._name, self.choice)
        self._begin()

    def rest(self) -> None:
        """Let idle workers end. Garbage collection may call this anywhere."""
        self.executor.rest()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Release the workers. Processes are kept for the next loop for a while."""
        if self._getting_ready is not None:
            self._getting_ready[0].rest()
        _let_go(self.executor)


def _let_go(executor: AtOnce | Threads | Processes) -> None:
    if isinstance(executor, Processes):
        executor.rest()
    else:
        executor.shutdown(wait=False)


def _ready() -> None:
    """Do nothing: a result proves that the process has started."""


def _processes_for(function: Callable[..., Any]) -> int:
    """Return the most processes that may call a function; 0 if none can."""
    return _room() if _is_guarded() and importable(function) else 0


def _is_guarded() -> bool:
    """Return whether processes can start without running the program: it checks its `__name__`, or is not imported."""
    if not needs.has_program():
        return True
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        return file is not None and re.search(r"^if .*\b__name__\b", Path(file).read_text(), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False


def _room() -> int:
    """Return how many processes with this one's size fit in half of the free memory."""
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        free = {line[0]: int(line[1]) << 10 for line in lines}["MemAvailable:"]
        own = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return int(free // 2 // max(own, 1))
    return processors()
