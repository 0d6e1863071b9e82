"""A worker process's main loop."""

from __future__ import annotations

import collections
import contextlib
import fcntl
import mmap
import multiprocessing
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.memory import keep_pages
from pipeline.workers.chunks import FailedItem, here
from pipeline.workers.line import Line
from pipeline.workers.long_lists import loaded
from pipeline.workers.shared import Freed, Memory, Writer
from pipeline.workers.thread_limits import one_thread_each

# Indices into the page shared by a worker and its parent process.
BEGUN, ITEM, STOP = range(3)


class Task(NamedTuple):
    """A request to a worker.

    Attributes:
        function: The function's digest.
        defined: True if the pickled function is sent too, because the worker lacks it.
        shared: True if its descriptor was sent before this, instead of a message after it.
        arguments: Pickled arguments.
        freed: Segments of collected arrays.
        forgotten: Digests of functions to forget first.
    """

    function: bytes
    defined: bool
    shared: bool
    arguments: bytes
    freed: Freed
    forgotten: list[bytes]


class Rest(NamedTuple):
    """A request to an idle worker.

    Attributes:
        freed: Segments of collected arrays.
        forgotten: Digests of functions to forget.
        room: Bytes of unused segments to keep.
        room_seconds: Seconds to keep them.
        seconds: Seconds to wait for other work before ending.
    """

    freed: Freed
    forgotten: list[bytes]
    room: int
    room_seconds: float
    seconds: float


_UNDER_GUARD = (
    '. Workers do not run the code under `if __name__ == "__main__":`: define functions and classes above that line'
)


class Unknown(Exception):
    """A worker could not make a function. `__cause__` gives the reason."""


class Unreadable(Exception):
    """A function's arguments cannot be made in a worker. Its cause is the reason."""


class Stopped(BaseException):
    """The result is no longer needed."""


def work(end: socket.socket, setup: bytes | None) -> None:
    """Run a worker: the process's main function.

    Args:
        end: Its connection to its parent.
        setup: The pickled function to call first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    _die_with_parent()
    keep_pages()
    one_thread_each()
    with contextlib.suppress(EOFError, ConnectionError, Stopped):  # the parent process has ended
        _serve(end, setup)


def _serve(end: socket.socket, setup: bytes | None) -> None:
    shared: collections.deque[Memory] = collections.deque()  # functions for the next tasks
    line = Line(end, lambda descriptor: shared.append(Memory(descriptor, os.fstat(descriptor).st_size)))
    writer = Writer(line.send_descriptor)
    page = memoryview(writer.segment(mmap.PAGESIZE).memory).cast("q")  # the current item, for kills
    here.empty, here.at = writer.empty, _noting(page)
    try:
        if setup is not None:
            loaded(setup)()
    except BaseException as error:
        line.send(pickle.dumps(FailedItem(error)))  # type: ignore[arg-type]
        return
    line.send(pickle.dumps(None))
    functions: dict[bytes, Callable[..., Any]] = {}
    while True:
        task: Task | Rest = pickle.loads(line.receive())
        for each in task.forgotten:
            del functions[each]
        if isinstance(task, Rest):
            writer.take_back(task.freed)
            line.send(writer.reply(writer.give_up(task.room)))
            if not _waits(line, writer, task):
                return
            continue
        page[ITEM] = 0
        page[BEGUN] += 1
        writer.take_back(task.freed)
        _answer(line, writer, functions, task, _definition(line, shared, task))


def _definition(line: Line, shared: collections.deque[Memory], task: Task) -> bytes | Memory | None:
    if task.shared:
        return shared.popleft()
    return line.receive() if task.defined else None


def _waits(line: Line, writer: Writer, rest: Rest) -> bool:
    """Wait for other work; return whether there is any."""
    first = min(rest.room_seconds, rest.seconds)
    if line.comes(first):
        return True
    writer.discard()
    return line.comes(rest.seconds - first)


def _answer(
    line: Line,
    writer: Writer,
    functions: dict[bytes, Callable[..., Any]],
    task: Task,
    definition: bytes | Memory | None,
) -> None:
    process = os.getpid()
    try:
        result = _result(functions, task, definition)
        _leave_unless(process)
        message = _message(writer, result)
    except Stopped:
        raise
    except BaseException as error:
        _leave_unless(process)
        message = writer.reply(FailedItem(error))  # type: ignore[arg-type]
    line.send(message)
    for stream in (sys.stdout, sys.stderr):  # so a kill loses no output
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _message(writer: Writer, result: Any) -> bytes:
    try:
        return writer.reply(result)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise TypeError(f"the result cannot be sent from its worker process: {error}") from error


def _leave_unless(process: int) -> None:
    """End this process if the function forked it and returned in the child.

    Otherwise its answer would be mistaken for the worker's next result.
    """
    if os.getpid() != process:
        os._exit(0)


def _result(functions: dict[bytes, Callable[..., Any]], task: Task, definition: bytes | Memory | None) -> tuple[Any]:
    try:
        if definition is not None:
            functions[task.function] = _undefined
            functions[task.function] = loaded(definition)
    except Exception as error:
        hint = _UNDER_GUARD if isinstance(error, AttributeError) and "'__mp_main__'" in str(error) else ""
        raise Unknown(f"{type(error).__name__}: {error}{hint}") from error
    try:
        args, kwargs = pickle.loads(task.arguments)
    except Exception as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return (functions[task.function](*args, **kwargs),)


def _undefined(*args: Any, **kwargs: Any) -> Any:
    raise Unknown("an earlier task could not make the function either")


def _noting(page: Any) -> Callable[[int], None]:
    """Return the hook `map_chunk` calls before each item."""

    def at(index: int) -> None:
        if page[STOP]:
            raise Stopped
        page[ITEM] = index

    return at


def _die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends.

    A waiting thread would be powerless while a function holds the GIL. On systems other than Linux, the process ends
    after its current task.
    """
    parent = multiprocessing.parent_process()
    if parent is None or not hasattr(fcntl, "F_SETSIG"):
        return
    sentinel = int(parent.sentinel)  # a pipe without writers, which can only end
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if not parent.is_alive():  # it had already ended
        os.kill(os.getpid(), signal.SIGKILL)
