"""Worker: a worker process, seen from its parent."""

from __future__ import annotations

import contextlib
import multiprocessing.process
import os
import pickle
import signal
import socket
import sys
import warnings
import weakref
from collections.abc import Callable
from multiprocessing import connection, context
from typing import Any

from pipeline.diagnostics import clocks
from pipeline.diagnostics.wording import named
from pipeline.locks import Lock
from pipeline.workers.definition import Definition
from pipeline.workers.line import Line
from pipeline.workers.mpi import HINT, launched, without_mpi
from pipeline.workers.pool import GRACE, BrokenWorkers
from pipeline.workers.shared import Reader, SharedBytes
from pipeline.workers.worker import BEGUN, ITEM, STOP, Rest, Task, work

# Limits for the functions kept by an idle worker: their number, and their pickled bytes.
_FUNCTIONS, KEPT_BYTES = 16, 256 << 20

# `multiprocessing` is not thread-safe when it starts and reaps processes.
_starting = Lock()

_processes: weakref.WeakSet[Any] = weakref.WeakSet()


def _forget() -> None:
    """Reset in a forked process, where the workers are the parent's. At exit, `multiprocessing` would kill them."""
    global _starting
    _starting = Lock()
    multiprocessing.process._children.difference_update(_processes)  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_forget)


# Exit status for a worker that starts workers itself while importing the program.
UNGUARDED = 121

_GUARD = (
    'Workers import the program, so its main part belongs under `if __name__ == "__main__":`. The output of the '
    "worker may say more"
)


def _unguarded() -> str:
    """Return an error message about a program without a guard: the fault, its file, and the lines to write."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) or "the program"
    return (
        f'{program} has no `if __name__ == "__main__":`, so each worker process runs the whole program once more, and '
        "would start workers in turn. Put everything except imports and definitions under that line:\n\n"
        '    if __name__ == "__main__":\n        main()\n'
    )


class Life:
    """Watches a process's life and its end.

    On Linux the kernel reports the end for the process itself. `multiprocessing` reports it from its fork server, and
    counts all processes as dead with it; or by a pipe's end, but a forked child may keep the pipe open.

    Attributes:
        descriptor: Becomes readable once the process is dead.
    """

    def __init__(self, process: Any) -> None:
        self._process, self._own = process, False
        self.descriptor: int = process.sentinel
        if sys.platform == "linux":
            # Some Pythons lack it; the process may be dead already; or there are too many descriptors.
            with contextlib.suppress(AttributeError, OSError):
                self.descriptor, self._own = os.pidfd_open(process.pid), True

    def ends(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end; return whether it has happened."""
        return bool(connection.wait([self.descriptor], seconds))

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        if sys.platform == "linux" and self._own:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
            connection.wait([self.descriptor])
        else:
            self._process.kill()

    def close(self) -> None:
        """Forget the process."""
        if self._own:
            self._own = False
            os.close(self.descriptor)


class Copy(context.ForkProcess):
    """A copy of the program with its own signal handlers, because the program's might save or end its work."""

    def start(self) -> None:
        """Start it, without Python's warning (from 3.12 on) about forking a threaded program: the user chose this."""
        text, module = "This process .* is multi-threaded", r"multiprocessing\.popen_fork"
        warnings.filterwarnings("ignore", text, DeprecationWarning, module)
        super().start()

    def run(self) -> None:
        """Run its target."""
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        super().run()


class Worker:
    """A worker process, seen from its parent.

    Args:
        process: Makes a process, like `multiprocessing.Process`.
        setup: Its pickled setup function.
        name: Its name.

    Attributes:
        kind: The properties that must be equal for workers to replace each other.
        modules: User modules it has imported, with each file's modification time.
        room: Bytes of unused shared memory it keeps while idle.

    Raises:
        EOFError, ConnectionError: The server that starts processes has ended; the next start begins another.
        OSError, RuntimeError: It cannot be started.
    """

    def __init__(self, process: Callable[..., Any], setup: bytes | None, name: str) -> None:
        ours, theirs = socket.socketpair()
        self._reader = Reader()
        self.process = process(target=work, args=(theirs, setup), name=name, daemon=True)
        _processes.add(self.process)
        self.done = 0
        self.page: Any = None
        self.kind: Any = None
        self.modules: dict[str, int] = {}
        self.room = 0
        self._how = ""
        self._known: dict[bytes, int] = {}  # its functions in order of use, and their bytes
        self._forgotten: list[bytes] = []  # functions to forget
        try:
            with _starting, without_mpi():
                self.process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        clocks.workers.add(self.process.pid)
        self._life = Life(self.process)
        self._line = Line(ours, self._reader.add, self._life.descriptor)

    def wait(self) -> None:
        """Wait until it is ready. A spare worker already is.

        Raises:
            BrokenWorkers: It will never be ready, nor will another.
            ConnectionError: It was killed.
        """
        if self.page is not None:
            return
        try:
            failed = pickle.loads(self._line.receive())
        except (EOFError, ConnectionError):
            how = self.end()
            if "killed" in how:
                raise ConnectionResetError(how) from None
            if how == f"ended with exit status {UNGUARDED}":
                raise BrokenWorkers(_unguarded()) from None
            hint = HINT if launched() else ""
            raise BrokenWorkers(f"a worker process {how} while it started. {_GUARD}{hint}") from None
        except OSError as error:
            raise BrokenWorkers(f"a worker process {self.end(error)}") from error
        if failed is not None:
            self.end()
            raise BrokenWorkers(f"setup failed in a worker process: {named(failed.error)}") from failed.error
        self.page = self._reader.page()

    def send(self, function: Definition, arguments: bytes) -> None:
        """Send a call with pickled arguments. Raises the same errors as `receive`, and those of `Definition.pickle`."""
        digest = function.digest
        definition = None if digest in self._known else function.pickle()
        if definition is not None and len(self._known) == _FUNCTIONS:
            self.forget(next(iter(self._known)))
        self._known[digest] = self._known.pop(digest, 0) if definition is None else len(definition)
        forgotten, self._forgotten = self._forgotten, []
        shared = isinstance(definition, SharedBytes)
        if isinstance(definition, SharedBytes):
            self._line.send_descriptor(definition.descriptor)
        task = Task(digest, definition is not None, shared, arguments, self._reader.freed(), forgotten)
        self._line.send(pickle.dumps(task))
        if isinstance(definition, bytes):
            self._line.send(definition)

    def keeps(self, digest: bytes) -> bool:
        """Return whether it has a function."""
        return digest in self._known

    def forget(self, digest: bytes) -> None:
        """Tell it to forget a function before the next call."""
        if self._known.pop(digest, None) is not None:
            self._forgotten.append(digest)

    @property
    def size(self) -> int:
        """Bytes of its shared memory, used or not."""
        return self._reader.size

    def rest(self, seconds: float, room_seconds: float) -> bool:
        """Tell it to release memory while idle, except `room` for `room_seconds`; return whether it has.

        It ends after `seconds` without messages. A process stopped by SIGSTOP does not answer.
        """
        while sum(self._known.values()) > KEPT_BYTES:
            self.forget(next(iter(self._known)))
        forgotten, self._forgotten = self._forgotten, []
        try:
            rest = Rest(self._reader.freed(), forgotten, self.room, room_seconds, seconds)
            self._line.send(pickle.dumps(rest))
            if not self._line.comes(GRACE):
                return False
            self.room = self.result(self._line.receive())
        except (EOFError, OSError):
            return False
        return True

    def dead(self) -> bool:
        """Return whether it is dead."""
        return self._life.ends(0)

    def receive(self) -> bytes:
        """Return the next reply.

        Raises:
            EOFError, ConnectionError: The worker is dead.
            OSError: There is no room for its results. Call `end`.
        """
        message = self._line.receive()
        self.done += 1
        return message

    def result(self, message: bytes) -> Any:
        """Return the result in a reply.

        Raises:
            Exception: It cannot be unpickled.
        """
        return self._reader.result(pickle.loads(message))

    @property
    def begun(self) -> bool:
        """True if it has started a call and not sent its result."""
        return self.page is not None and self.page[BEGUN] > self.done

    def at(self) -> int:
        """The current item's index in this call."""
        return int(self.page[ITEM]) if self.begun else 0

    def ask_to_stop(self) -> None:
        """Make it end before its next item; its thread then sees it as dead. From any thread or finalizer."""
        if self.page is not None:
            self.page[STOP] = 1
        self._line.hang_up()

    def end(self, lost: BaseException | None = None) -> str:
        """End it if necessary; return how it ended, as text.

        Args:
            lost: The reason its results cannot be taken. It is then killed.
        """
        if self._how:
            return self._how
        self._line.close()
        if lost is not None or not self._life.ends(GRACE):
            self._life.kill()
        with _starting:
            self.process.join()
            code = self.process.exitcode
        clocks.workers.end(self.process.pid)
        self._life.close()
        if lost is not None:
            self._how = f"was stopped, as its results could not be taken: {named(lost)}"
        elif code is None or code >= 0:
            self._how = f"ended with exit status {code}"
        else:
            hint = " (perhaps by the system, for lack of memory)" if code == -signal.SIGKILL else ""
            self._how = f"was killed by {signal.Signals(-code).name}{hint}"
        return self._how
