"""What a worker process does: it gets ready, and makes results until nobody wants any more."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from pipeline.memory import keep_pages
from pipeline.workers.chunks import FailedItem, here
from pipeline.workers.shared import Writer, unnamed

# Functions that a worker remembers, so that they are sent once.
REMEMBERED = 16

# The numbers of the page that a worker shares with the process that started it.
BEGUN, ITEM, STOP = range(3)


class Task(NamedTuple):
    """What is sent to a worker.

    Attributes:
        function: The number of the function.
        definition: The pickled function; None if the worker has it.
        arguments: Pickled.
        freed: Segments that nobody uses any more.
    """

    function: int
    definition: bytes | None
    arguments: bytes
    freed: list[int]


class Unknown(Exception):
    """A function, or its arguments, cannot be made in a worker. Its cause is why."""


class Stopped(BaseException):
    """Nobody wants the result any more."""


class Page:
    """A page of memory in which a worker notes which item it is at, for the case that it is killed."""

    def __init__(self, descriptor: int) -> None:
        try:
            self.numbers = memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)).cast("q")
        finally:
            os.close(descriptor)


def work(connection: Connection, setup: bytes | None) -> None:
    """Be a worker. The main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    _die_with_parent()
    keep_pages()
    descriptor = unnamed(mmap.PAGESIZE)
    page = Page(os.dup(descriptor)).numbers
    writer = Writer()
    here.empty, here.put, here.at = writer.empty, writer.put, _noting(page)
    try:
        if setup is not None:
            pickle.loads(setup)()
    except BaseException as error:
        connection.send_bytes(pickle.dumps(FailedItem(error)))  # type: ignore[arg-type]
        return
    connection.send_bytes(pickle.dumps(None))
    reduction.send_handle(connection, descriptor, None)
    os.close(descriptor)
    functions: dict[int, Callable[..., Any]] = {}
    with contextlib.suppress(EOFError, ConnectionError, Stopped):
        while True:
            task = pickle.loads(connection.recv_bytes())
            page[ITEM] = 0
            page[BEGUN] += 1
            writer.take_back(task.freed)
            _answer(connection, writer, functions, task)


def _answer(connection: Connection, writer: Writer, functions: dict[int, Callable[..., Any]], task: Task) -> None:
    try:
        message, new = writer.reply(_result(functions, task))
    except Stopped:
        raise
    except BaseException as error:
        message, new = writer.reply(FailedItem(error))  # type: ignore[arg-type]
    connection.send_bytes(message)
    for segment in new:
        reduction.send_handle(connection, segment.descriptor, None)
        os.close(segment.descriptor)
        segment.descriptor = -1
    for stream in (sys.stdout, sys.stderr):  # nothing printed is lost if this process is killed
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _result(functions: dict[int, Callable[..., Any]], task: Task) -> tuple[Any]:
    try:
        if task.definition is not None:
            if len(functions) == REMEMBERED:
                del functions[next(iter(functions))]
            functions[task.function] = _undefined
            functions[task.function] = pickle.loads(task.definition)
        args, kwargs = pickle.loads(task.arguments)
    except Exception as error:
        raise Unknown(f"{type(error).__name__}: {error}") from error
    return (functions[task.function](*args, **kwargs),)


def _undefined(*args: Any, **kwargs: Any) -> Any:
    raise Unknown("an earlier task could not make the function either")


def _noting(page: Any) -> Callable[[int], None]:
    """What `map_chunk` calls before each item."""

    def at(index: int) -> None:
        if page[STOP]:
            raise Stopped
        page[ITEM] = index

    return at


def _die_with_parent() -> None:
    """Have the kernel kill this process when the one that started it has gone, whatever it is doing then.

    A thread that waits for that could do nothing in a function that holds the interpreter's lock. Elsewhere than on
    Linux the process ends when it has done its task.
    """
    parent = multiprocessing.parent_process()
    if parent is None or not hasattr(fcntl, "F_SETSIG"):
        return
    sentinel = int(parent.sentinel)  # a pipe that nobody writes to: all that can happen to it is its end
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if not parent.is_alive():  # it had gone before
        os.kill(os.getpid(), signal.SIGKILL)
