"""WorkerForkServer: a process that has imported libraries and forks workers that need not import them again."""

from __future__ import annotations

import contextlib
import io
import os
import weakref
from collections.abc import Collection
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from typing import Any


class WorkerForkServer(forkserver.ForkServer):
    """A fork server of ours: that of `multiprocessing` is the program's, and imports nothing more once it runs.

    It ends when nothing refers to it any more and the processes that it forked have ended.

    Args:
        modules: What it imports before it forks, as far as it can.
    """

    def __init__(self, modules: Collection[str]) -> None:
        super().__init__()
        self.modules = frozenset(modules)
        self._preload_modules = sorted(modules)
        self._forked = False
        weakref.finalize(self, _leave, self.__dict__).atexit = False

    @property
    def pid(self) -> int | None:
        """Its number; None if it does not run."""
        found: int | None = self.__dict__["_forkserver_pid"]
        return found

    def forked(self, succeeded: bool) -> None:
        """Note whether a process was forked. A server that ended before the first one imports nothing from now on."""
        if succeeded:
            self._forked = True
        elif not self._forked:
            self._preload_modules = []


def _leave(server: dict[str, Any]) -> None:
    """Let a server end with its processes."""
    alive, server["_forkserver_alive_fd"] = server["_forkserver_alive_fd"], None
    if alive is not None:
        with contextlib.suppress(OSError):
            os.close(alive)


_current = WorkerForkServer(())


def server_of(modules: Collection[str]) -> WorkerForkServer:
    """Return a server that has imported these modules, at the latest when it forks. For one thread at a time."""
    global _current
    if not _current.modules.issuperset(modules):
        _current = WorkerForkServer(_current.modules.union(modules))
    return _current


def _forget() -> None:
    """In a forked process: the server is its parent's."""
    global _current
    _current = WorkerForkServer(())


os.register_at_fork(after_in_child=_forget)


def _close(*descriptors: int) -> None:
    for each in descriptors:
        os.close(each)


class _Popen(popen_forkserver.Popen):
    """A process that a server of ours forks. As its base, but for the server."""

    def _launch(self, process_obj: Any) -> None:
        data = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(spawn.get_preparation_data(process_obj.name), data)
            reduction.dump(process_obj, data)
        finally:
            context.set_spawning_popen(None)
        server = server_of(process_obj.modules)
        self._server = server  # else it ends with its last process, and may not tell how that ended
        try:
            self.sentinel, end = server.connect_to_new_process(self.__dict__["_fds"])
            kept = os.dup(end)  # its end tells the process that this one has ended
            self.finalizer = util.Finalize(self, _close, (kept, self.sentinel))
            with open(end, "wb", closefd=True) as file:
                file.write(data.getbuffer())
            self.pid = forkserver.read_signed(self.sentinel)
        except (EOFError, ConnectionError):
            server.forked(False)
            raise
        server.forked(True)


class Forked(context.ForkServerProcess):
    """A process that a server of ours forks.

    Args:
        modules: Libraries that the server is to have imported.
        options: Those of a process of `multiprocessing`.
    """

    def __init__(self, modules: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self.modules = modules

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, as `multiprocessing` calls it
        return _Popen(process_obj)
