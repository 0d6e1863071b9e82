"""Spares: idle worker processes, kept for a while for the next executor."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import threading
from collections.abc import Collection
from typing import Any, NamedTuple

from pipeline.locks import Lock
from pipeline.workers import needs
from pipeline.workers.pool import GRACE, BrokenWorkers
from pipeline.workers.process import Copy, Worker
from pipeline.workers.server import Forked, descriptors

# Seconds to keep an idle worker.
KEPT = 60.0

# Bytes of unused shared memory for all idle workers together, and the seconds to keep it: fresh pages cost more than
# the copy of an array (`make bench-transport`). Only Linux takes pages back from a mapped file.
ROOM, ROOM_KEPT = 256 << 20 if hasattr(os, "memfd_create") else 0, 10.0


class ProcessKind(NamedTuple):
    """The properties that must be equal for two workers to replace each other.

    Attributes:
        method: How it was started.
        setup: Its pickled setup function.
        around: Properties inherited from the program: its folder, module path and descriptor limit; with "spawn" also
            the environment.
    """

    method: str
    setup: bytes | None
    around: Any


class Starter:
    """Starts an executor's workers, or takes spare ones.

    Args:
        method: How processes start.
        setup: Their pickled setup function.
        preload: Libraries for the fork server; None for the ones used by the functions.

    Attributes:
        ready_at: When the last worker was ready, by `time.monotonic`; 0 before.
    """

    def __init__(self, method: str, setup: bytes | None, preload: Collection[str] | None) -> None:
        self._method, self._setup, self._preload = method, setup, preload
        self._modules: set[str] = set()  # modules of its functions
        self.ready_at = 0.0

    def need(self, modules: Collection[str]) -> None:
        """Add modules that later workers import first, because they define functions."""
        self._modules.update(modules)

    def worker(self, name: str) -> Worker:
        """Return a spare worker, or a new one.

        Raises:
            BrokenWorkers: This process must not start any.
            Exception: A new Worker raised it.
        """
        self._check_program()
        mine, libraries = needs.of(self._modules.copy())  # copied in one step, because other threads add to it
        environment = dict(os.environ) if self._method == "spawn" else None
        around = _folder(), tuple(sys.path), descriptors(), environment
        kind = ProcessKind(self._method, self._setup, around)
        worker = _take(kind, mine)
        if worker is None:
            process: Any
            if self._method == "forkserver":
                wanted = libraries | {needs.OWN} if self._preload is None else {needs.OWN, *self._preload}
                process = functools.partial(Forked, wanted)
            elif self._method == "fork":
                process = Copy
            else:
                process = multiprocessing.get_context("spawn").Process
            worker = Worker(process, self._setup, name)
            worker.kind = kind
        worker.modules.update(mine)
        return worker

    def _check_program(self) -> None:
        if multiprocessing.current_process().daemon:
            raise BrokenWorkers(
                "a worker process cannot be started, as this process is daemonic: it may have no children, like all of "
                "multiprocessing.Pool, Celery's prefork pool, pipeline.processes and torch's DataLoader. Here, use "
                "pipeline.threads(n), or start it by concurrent.futures.ProcessPoolExecutor, or with daemon=False"
            )
        file = getattr(sys.modules.get("__main__"), "__file__", None)
        if self._method == "spawn" and file is not None and not needs.has_program():
            raise BrokenWorkers(
                f"a worker process cannot be started, as method='spawn' imports the program, and {file} cannot be "
                "read again: put the program into a file, or use method='forkserver'"
            )


def _folder() -> str:
    """Return the current directory, where workers start."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BrokenWorkers(
            "a worker process cannot be started, as the current directory of this program was deleted: os.chdir to one "
            "that exists"
        ) from None


_lock = Lock()
_spares: list[Worker] = []
_keeping: dict[threading.Thread, Worker] = {}  # in `keep`


def keep(worker: Worker) -> None:
    """Keep an idle worker for a while, then end it if it is not taken.

    A copy of the program ends at once: the program's variables may change before the next iterator.
    """
    if worker.kind.method == "fork":
        worker.end()
        return
    with _lock:
        others = sum(each.room for each in (*_spares, *_keeping.values()))
        worker.room = min(worker.size, max(0, ROOM - others))
        _keeping[threading.current_thread()] = worker
    try:
        if not worker.rest(KEPT, ROOM_KEPT):
            worker.end()
            return
        with _lock:
            _spares.append(worker)
        _drop_dead()
    finally:
        del _keeping[threading.current_thread()]


def _take(kind: ProcessKind, mine: dict[str, int]) -> Worker | None:
    """Return a spare worker with this kind and the program's current modules."""
    _drop_dead()
    with _lock:
        for worker in _spares:
            if worker.kind == kind and all(worker.modules.get(name, time) == time for name, time in mine.items()):
                _spares.remove(worker)
                return worker
    return None


def keep_function(digest: bytes) -> bool:
    """Return whether an idle worker keeps a function."""
    with _lock:
        return any(worker.keeps(digest) for worker in _spares)


def _drop_dead() -> None:
    with _lock:
        dead = [each for each in _spares if each.dead()]
        for each in dead:
            _spares.remove(each)
    for each in dead:
        each.end()


def end_all() -> None:
    """End all spare workers."""
    for thread in tuple(_keeping):
        thread.join(3 * GRACE)
    with _lock:
        workers, _spares[:] = list(_spares), []
    for each in workers:
        each.ask_to_stop()
    for each in workers:
        each.end()


def _forget() -> None:
    """Reset in a forked process, where the workers are the parent's."""
    global _lock
    _lock = Lock()
    _spares.clear()
    _keeping.clear()


os.register_at_fork(after_in_child=_forget)
