"""WorkerForkServer: a process with libraries imported; its forked workers need not import them again."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator
from multiprocessing import context, forkserver, popen_forkserver, process, reduction, spawn, util
from typing import Any

from pipeline.workers import needs

# Limit for a socket's path in bytes; Linux allows a few more.
_LONGEST_PATH = 100

# The suffix `multiprocessing` adds to the temporary folder's path.
_FOLDER, _SOCKET = "pymp-12345678", "listener-12345678"


class WorkerForkServer(forkserver.ForkServer):
    """Our own fork server, because the one in `multiprocessing` imports nothing more once it runs.

    It ends once it is unreferenced and its processes have ended.

    Args:
        modules: Modules to import before it forks; failures are ignored.

    Attributes:
        limit: The descriptor limit for it and its processes; None before it runs.
    """

    def __init__(self, modules: Collection[str]) -> None:
        super().__init__()
        self.modules = frozenset(modules)
        self.limit: Any = None
        self._preload_modules = sorted(modules)
        self._forked = False
        weakref.finalize(self, _leave, self.__dict__).atexit = False

    @property
    def pid(self) -> int | None:
        """Its process id; None if it does not run."""
        found: int | None = self.__dict__["_forkserver_pid"]
        return found

    def ensure_running(self) -> None:
        """Start it if it does not run."""
        with _short_paths():
            super().ensure_running()

    def forked(self) -> None:
        """Record a forked process."""
        self._forked = True

    def successor(self, alive: bool) -> WorkerForkServer:
        """Return the server to use when this one has failed, alive or not.

        If it ended before its first fork, an import caused it.
        """
        other = WorkerForkServer(self.modules)
        other._forked = self._forked
        if not (self._forked or alive):
            other._preload_modules = []
        return other


def _leave(server: dict[str, Any]) -> None:
    """Let a server end with its processes."""
    alive, server["_forkserver_alive_fd"] = server["_forkserver_alive_fd"], None
    if alive is not None:
        with contextlib.suppress(OSError):
            os.close(alive)


_current = WorkerForkServer(())


_left: list[int] = []  # processes of abandoned servers


def server_of(modules: Collection[str]) -> WorkerForkServer:
    """Return a server with these modules imported before it forks. For one thread at a time.

    Its processes have this process's descriptor limit.
    """
    limit = descriptors()
    if not _current.modules.issuperset(modules):
        _replace(WorkerForkServer(_current.modules.union(modules)))
    elif _current.limit not in (None, limit):
        _replace(_current.successor(alive=True))
    _current.limit = limit
    return _current


def descriptors() -> tuple[int, int]:
    """Return this process's current and maximum number of descriptors."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _replace(server: WorkerForkServer) -> None:
    """Use another server from now on."""
    global _current
    if _current.pid is not None:
        _left.append(_current.pid)
    _current = server
    for each in list(_left):  # reap the ended ones
        with contextlib.suppress(ChildProcessError):
            if not os.waitpid(each, os.WNOHANG)[0]:
                continue
        _left.remove(each)


@contextlib.contextmanager
def _short_paths() -> Iterator[None]:
    """Let `multiprocessing` make its sockets in another folder if their paths would be too long."""
    config = process.current_process()._config  # type: ignore[attr-defined]
    given = config.get("tempdir")
    folder = given or os.path.join(tempfile.gettempdir(), _FOLDER)
    if len(os.fsencode(os.path.join(folder, _SOCKET))) <= _LONGEST_PATH:
        yield
        return
    config["tempdir"] = _short_folder(folder)
    try:
        yield
    finally:
        if given is None:
            del config["tempdir"]
        else:
            config["tempdir"] = given


_folders: list[str] = []  # at most one: this process's folder


def _short_folder(long: str) -> str:
    """Return a private folder with a short path, removed when this process ends."""
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        if not _folders:
            with contextlib.suppress(OSError):
                _folders.append(tempfile.mkdtemp(prefix="pymp-", dir=place))
                util.Finalize(None, shutil.rmtree, (_folders[0], True), exitpriority=-100)
    if not _folders:
        raise OSError(f"the path of temporary files is too long for sockets, {long}: set TMPDIR to a shorter one")
    return _folders[0]


def _forget() -> None:
    """Reset in a forked process, where the server is the parent's."""
    global _current
    _current = WorkerForkServer(())
    _left.clear()
    _folders.clear()


os.register_at_fork(after_in_child=_forget)


def _require_descriptors() -> None:
    """Raise OSError unless this process may open enough files for a fork.

    A fork needs a socket and two pipes here. The server, with the same limit, needs two more per existing process, and
    ends with a traceback if the connection breaks before this.
    """
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.callback(_close, *os.pipe())


def _close(*descriptors: int) -> None:
    for each in descriptors:
        os.close(each)


class _Popen(popen_forkserver.Popen):
    """A process forked by our server, otherwise like its base."""

    def _launch(self, process_obj: Any) -> None:
        _require_descriptors()
        data = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            preparation = spawn.get_preparation_data(process_obj.name)
            if not needs.has_program():
                preparation.pop("init_main_from_path", None)
            reduction.dump(preparation, data)
            reduction.dump(process_obj, data)
        finally:
            context.set_spawning_popen(None)
        server = server_of(process_obj.modules)
        self._server = server  # keeps the server alive until it has reported its last process's end
        try:
            server.ensure_running()
            _require_descriptors()
            self.sentinel, end = server.connect_to_new_process(self.__dict__["_fds"])
            kept = os.dup(end)  # it closes when this process ends
            self.finalizer = util.Finalize(self, _close, (kept, self.sentinel))
            with open(end, "wb", closefd=True) as file:
                file.write(data.getbuffer())
            self.pid = forkserver.read_signed(self.sentinel)
        except (EOFError, OSError) as error:
            # A server abandoned by its client ends, but possibly a moment later.
            _replace(server.successor(alive=not isinstance(error, (EOFError, ConnectionError))))
            raise
        server.forked()


class Forked(context.ForkServerProcess):
    """A process forked by our server.

    Args:
        modules: Libraries for the server to import.
        options: Options for a `multiprocessing` process.
    """

    def __init__(self, modules: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self.modules = modules

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, as `multiprocessing` calls it
        return _Popen(process_obj)
