"""A QueueRunner's threads for messages: whether they started, how they ended, and the failed record."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.diagnostics.clocks import Clocks, ThreadClocks
from pipeline.diagnostics.ends import EndOfInput
from pipeline.diagnostics.frames import Place, caller, is_running
from pipeline.diagnostics.wording import count, named
from pipeline.locks import Lock
from pipeline.on_error import add_note, set_on


class WorkerFailure(NamedTuple):
    """The exception that ended a QueueRunner's thread."""

    group: WorkerGroup
    number: int  # the thread's number, from 1
    error: BaseException
    elements: int | None  # in total, enqueued by all threads
    record: str | None

    def text(self, own: bool) -> str:
        """Return the failure as a clause; `own`: the message is about this QueueRunner's queue."""
        when = "" if self.elements is None else f" after {count(self.elements, 'element')}"
        where = f" ({self.record})" if self.record else ""
        return f"{self.group.member(self.number, own)} failed{when}: {named(self.error)}{where}"


class Inputs:
    """The observed inputs: queues, readers and producers, held weakly.

    Thread safety: you may call every method from every thread.
    """

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[Any]] = {}  # by id, while the thing lives

    def add(self, source: Any) -> None:
        """Record an input."""
        if id(source) not in self._refs:
            self._refs[id(source)] = weakref.ref(source, functools.partial(self._refs.pop, id(source)))

    def alive(self) -> list[Any]:
        """Return what was noted and still exists."""
        return [source for ref in self._refs.copy().values() if (source := ref()) is not None]


class WorkerGroup:
    """Facts about one QueueRunner's threads. The runner records them; its queue reads them.

    Thread safety: you may call every method from every thread; a lock guards the counts.

    Attributes:
        queue: The queue; None once it is gone. Held weakly, because a closed queue keeps this for its messages.
        name: Its name, once there are threads.
        size: Number of enqueue ops, one per thread.
        made_at: Where the runner was created.
        listed: True if `add_queue_runner` put the runner on the process-wide list (True), another (False), none (None).
        begun: True if threads were ever created.
        ended: True if a loop calling the ops without threads has ended.
        gate: The threads wait for it before they begin; None to begin at once.
        of_loop: True if they belong to a loop over batches, and take nothing from its queue.
        starter: The creating thread, meanwhile.
        ops: The enqueue ops' names.
        inputs: The threads' inputs.
        more: How users write the number of threads, which "{}" stands for: "`num_threads={}` in `batch`".
    """

    def __init__(self, queue: Any, size: int, ops: Sequence[str] = (), more: str = "") -> None:
        self._queue: Callable[[], Any] = lambda: queue
        with contextlib.suppress(TypeError):  # a foreign queue with slots
            self._queue = weakref.ref(queue)
        self.name = ""
        self.size = size
        self.ops = ops
        names = {each.rpartition(".")[2] for each in ops}
        op = names.pop() if len(names) == 1 else "op"
        self.more = more or f"`[{op if op.isidentifier() else 'op'}] * {{}}` in `QueueRunner`"
        self.inputs = Inputs()
        self.made_at: Place | None = caller()
        self.listed: bool | None = None
        self.begun = False
        self.ended = False
        self.gate: Any = None
        self.of_loop = False
        self.starter: threading.Thread | None = None
        self._lock = Lock()
        self._threads: list[threading.Thread] = []
        self._running: set[threading.Thread] = set()
        self._ends: list[tuple[EndOfInput, BaseException | None]] = []
        self._failures: list[WorkerFailure] = []
        self._times: dict[threading.Thread, tuple[float, float | None]] = {}
        self._clocks: dict[threading.Thread, ThreadClocks] = {}
        self._earlier = Clocks()  # of threads before the newest

    @property
    def queue(self) -> Any:
        return self._queue()

    def member(self, number: int, own: bool) -> str:
        """Return a thread's name in messages; `own`: the message is about its queue."""
        if self.of_loop:
            whose = "its loop" if own else f"the loop '{self.name}'"
        else:
            whose = "its QueueRunner" if own else f"the QueueRunner of '{self.name}'"
        return f"thread {number} of {self.size} of {whose}"

    def at_end(self) -> str:
        """Return the beginning of a clause about threads whose input has ended."""
        if self.size > 1:
            return f"all {self.size} threads reached the end of their"
        return "its thread reached the end of its"

    def place(self, number: int) -> str:
        """Return the name of a thread for a traceback note; for a loop, that of the user's input."""
        if self.of_loop and self.ops:
            return f"'{self.ops[(number - 1) % len(self.ops)].rpartition('<locals>.')[2]}' of '{self.name}'"
        return f"thread {number} of the QueueRunner of '{self.name}'"

    def spent(self) -> float | None:
        """Return how many seconds the loop itself has spent with the ops, if there are no threads for them."""
        return None

    def times(self) -> dict[threading.Thread, tuple[float, float | None]]:
        """Return when each thread was made and when it ended, by `time.monotonic`; None while it runs."""
        with self._lock:
            return dict(self._times)

    def clocks(self, earlier: bool = False) -> Clocks | None:
        """Return the sum of the newest threads' clocks, ended or not; None if one has none, or has not begun.

        Args:
            earlier: Include those of all threads before them.
        """
        with self._lock:
            found = self._newest()
            return found if found is None or not earlier else found.plus(self._earlier)

    def _newest(self) -> Clocks | None:
        found = [each.read() for each in self._clocks.values()]
        known = [each for each in found if each is not None]
        return functools.reduce(Clocks.plus, known) if known and len(known) == len(self._times) else None

    def measure(self) -> ThreadClocks:
        """Return the calling thread's clocks, which count from now on."""
        made = ThreadClocks()
        with self._lock:
            self._clocks[threading.current_thread()] = made
        return made

    def begin(self, name: str, threads: list[threading.Thread]) -> None:
        """Record created threads."""
        with self._lock:
            self.name = name
            self.begun = True
            if not self._running:
                self._earlier = self._earlier.plus(self._newest() or Clocks())
                self._threads, self._ends, self._failures, self._times, self._clocks = [], [], [], {}, {}
            self._threads += threads
            self._times.update(dict.fromkeys(threads, (time.monotonic(), None)))
            self._running |= set(threads)

    def idle(self) -> bool:
        """Return True if no thread was ever started."""
        with self._lock:
            return not any(thread.ident is not None for thread in self._threads)

    def leave(self, thread: threading.Thread | None = None) -> None:
        """Record an ended thread, by default this one; a second call changes nothing."""
        thread = thread or threading.current_thread()
        with self._lock:
            if thread in self._running:
                self._running.discard(thread)
                self._times[thread] = self._times[thread][0], time.monotonic()

    def reached_end(self, error: BaseException) -> None:
        """Record a thread's end of input, reported by `error`."""
        end = getattr(error, "end", None)
        with self._lock:
            self._ends.append((end if isinstance(end, EndOfInput) else EndOfInput(), error.__cause__))

    def includes(self, thread: threading.Thread) -> bool:
        """Return whether this is one of the newest threads, or their creator."""
        return thread is self.starter or thread in self._threads

    def failed(self, failure: WorkerFailure) -> None:
        """Record a failure without a Coordinator."""
        with self._lock:
            self._failures.append(failure)

    def ends(self) -> tuple[list[tuple[EndOfInput, BaseException | None]], list[WorkerFailure]]:
        """Return the ends of inputs and the failures since threads were last created."""
        with self._lock:
            return list(self._ends), list(self._failures)

    def lost(self) -> WorkerFailure | None:
        """Return a failure if no thread is left to fill the queue or to close it, else None."""
        with self._lock:
            if any(thread.ident is None or is_running(thread) for thread in self._running):
                return None
            if not self._running or self._failures:
                return self._failures[0] if self._failures else None
            # It died before its first line, for example for lack of memory, so it could note nothing.
            number = min(self._threads.index(thread) for thread in self._running) + 1
            return WorkerFailure(self, number, RuntimeError("the thread ended before it began"), None, None)


class WorkerRecord:
    """One thread in a group. Within it `current_worker()` returns this.

    Attributes:
        keys: The keys of the records read in this call of the enqueue op, from `note_read`, or the names of the items
            taken, from `note_items`; None before.
        failure: The exception that ends the thread, or None.
        counted: True if its runner counts it as running, and is to count it as ended.
    """

    def __init__(self, group: WorkerGroup, number: int, counted: bool = True) -> None:
        self.group = group
        self.number = number
        self.counted = counted
        self.keys: Sequence[bytes | str] | None = None
        self.failure: WorkerFailure | None = None

    @contextlib.contextmanager
    def as_current(self) -> Iterator[None]:
        """Make this the thread's current worker for the body, and measure it."""
        clocks = self.group.measure()
        this_thread.worker, this_thread.inputs = self, self.group.inputs
        try:
            yield
        finally:
            this_thread.worker = this_thread.inputs = None
            clocks.end()

    def fail(self, error: BaseException) -> WorkerFailure:
        """Record the thread's final exception; on Python 3.11+ add a note about thread and record."""
        queue = self.group.queue
        elements = queue.stats().enqueued if getattr(queue, "_watched_by", None) is not None else None
        record = None
        with contextlib.suppress(Exception):  # however odd the user's exception is, the thread must report it
            record = record_of(error, self.keys)
            if record is not None and not (self.group.of_loop and has_named_item(error)):
                add_note(error, f"in {self.group.place(self.number)}, {record}")
        self.failure = WorkerFailure(self.group, self.number, error, elements, record)
        return self.failure


def has_named_item(error: BaseException) -> bool:
    """Return whether a note names the failing item already; see `name_item`."""
    return isinstance(getattr(error, "record_key", None), str)


def record_of(error: BaseException, read: Sequence[bytes | str] | None) -> str | None:
    """Return the failed record: the error's `record_key`, else the read key number `record`, else all.

    None if nothing was read, or if the error's own text names the record.

    Args:
        error: The error.
        read: Keys of the records read for it, if any.
    """
    key = getattr(error, "record_key", None)
    if key is None and not read:
        return None
    keys = [key] if key is not None else read or ()
    index = getattr(error, "record", None)
    if key is None and isinstance(index, int) and 0 <= index < len(keys):
        keys = keys[index : index + 1]
    first, last = _text(keys[0]), _text(keys[-1])
    if len(keys) == 1 and first in str(error):  # for example an unreadable file
        return None
    return f"record {first!r}" if len(keys) == 1 else f"records {first!r} to {last!r}"


class OfThread(threading.local):
    """Facts about a thread.

    Attributes:
        worker: The thread's WorkerRecord.
        inputs: The thread's inputs; None if reports do not show them.
        keys: Its last records' keys; None after they were forgotten.
    """

    worker: WorkerRecord | None = None
    inputs: Inputs | None = None
    keys: Sequence[bytes] | None = None


this_thread = OfThread()


def current_worker() -> WorkerRecord | None:
    """Return this thread's WorkerRecord; None outside a QueueRunner's threads."""
    return this_thread.worker


def note_read(keys: Sequence[bytes]) -> None:
    """Record this thread's last records, so errors can name them."""
    thread = this_thread
    thread.keys = keys
    worker = thread.worker
    if worker is not None:
        worker.keys = keys


def name_record(error: BaseException) -> None:
    """Add the failing item's records to an error, from Python 3.11 on in a note."""
    keys = this_thread.keys
    with contextlib.suppress(Exception):  # however odd the user's exception is
        record = record_of(error, keys)
        if record is None or keys is None:
            return
        if len(keys) == 1 and not hasattr(error, "record_key"):
            set_on(error, "record_key", keys[0])
        note = f"in {record}"
        if note not in getattr(error, "__notes__", ()):
            add_note(error, note)


def _text(key: Any) -> str:
    return os.fsdecode(key) if isinstance(key, (bytes, str)) else str(key)
