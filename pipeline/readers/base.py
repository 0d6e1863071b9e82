"""ReaderBase: take work items (file names) from a queue and return their records, singly or in blocks."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from pipeline.diagnostics.live import note_input, readers
from pipeline.diagnostics.workers import note_read
from pipeline.dtypes import at_least, given_name, integer, seconds
from pipeline.errors import DeadlineExceededError, FailedPreconditionError, OpError, UnimplementedError, invalid
from pipeline.files.read_buffer import ByteCount
from pipeline.locks import Lock
from pipeline.on_error import Skips
from pipeline.queues.base import QueueBase
from pipeline.readers.records import ReaderRead, ReaderReadUpTo
from pipeline.readers.state import ReaderState, checked_state, one_text
from pipeline.readers.work_items import one_string

R = TypeVar("R")


class Found(NamedTuple):
    """A work item's next records, and whether it ended or failed after them."""

    keys: Sequence[bytes]
    values: list[bytes]
    ended: bool = False
    error: OpError | None = None


class ReaderBase:
    """Base class for all readers, with the current work item and the counters.

    When a work item is used up, a reader takes the next one from the queue. If it cannot be opened, it is dropped after
    the error. After an error while reading, every read raises it again, until `reset`.

    Args:
        name: The reader's name in messages; by default derived from the class.
        on_error: "raise", or "skip": after an error in opening or reading a work item, continue with the next one.
            Queue errors are always raised.
        max_errors: With "skip", how many errors may be skipped; the next one is raised. None means no limit.

    Raises:
        ValueError: `on_error` is something else, or `max_errors` is negative or given without "skip".

    Attributes:
        supports_serialize: True if `serialize_state` works.

    Thread safety: you may call every method from every thread. Each call holds a lock, even while it waits for the
    queue: a reader's reads run one after the other, each record is returned once, and the counters wait too. `errors`
    and `num_errors` do not.

    Examples:
        >>> def first(reader: pipeline.types.ReaderBase, name: str) -> bytes:
        ...     names = pipeline.FIFOQueue(1, "string", [()])
        ...     names.enqueue(name)
        ...     return reader.read(names).value
        >>> with open("words.txt", "w") as file:
        ...     _ = file.write("red" + chr(10) + "blue")
        >>> first(pipeline.TextLineReader(), "words.txt"), first(pipeline.WholeFileReader(), "words.txt")
        (b'red', b'red\\nblue')
    """

    supports_serialize = False
    _kind: str | None = None  # the class in names and messages; None for its own name
    _started: int
    _finished: int
    _produced: int
    _work_item: bytes

    def __init__(self, name: str | None = None, *, on_error: str = "raise", max_errors: int | None = None) -> None:
        default = "".join(f"_{c.lower()}" if c.isupper() else c for c in self._called()).lstrip("_")
        self.name = given_name(name, "name") or default
        self._skips = Skips(on_error, max_errors)
        self._lock, self._within = Lock(), False
        self._bytes = ByteCount()
        self._fed_by: weakref.ref[Any] | None = None  # the last work item's queue
        self._restore(ReaderState())
        readers.add(self)

    def read(self, queue: QueueBase, *, timeout: float | None = None) -> ReaderRead:
        """Return the next record; take the next work item from `queue` if none is in progress.

        Args:
            queue: Your queue with work items: file names, or other input for this reader; one string per element.
            timeout: Seconds to wait for the queue and for the reader's other calls; None waits forever.

        Returns:
            The key and the value, both bytes.

        Raises:
            OutOfRangeError: The queue is closed and empty.
            DeadlineExceededError: The timeout passed; nothing is lost.
            NotFoundError, PermissionDeniedError, FailedPreconditionError: The file cannot be opened or read.
            DataLossError: The file is corrupt.
            InvalidArgumentError: The queue's element is not one string.
        """
        keys, values = self._read_up_to(queue, 1, timeout)
        return ReaderRead(keys[0], values[0])

    def read_up_to(self, queue: QueueBase, num_records: int, *, timeout: float | None = None) -> ReaderReadUpTo:
        """Return up to `num_records` records, at least one, all from the same work item.

        It does not wait for the queue once it has a record. For 0 records it returns at once. If reading fails, records
        read before the error are counted and lost; with `on_error="skip"` they are returned.

        Args:
            queue, timeout: As `read`.
            num_records: Maximum number of records.

        Raises:
            InvalidArgumentError: `num_records` is negative.
            TypeError: `num_records` is not an integer.
            OpError: As `read`.
        """
        num_records = integer(num_records, "num_records")
        if num_records < 0:
            raise invalid(f"num_records must be >= 0 not {num_records}")
        if num_records == 0:
            return ReaderReadUpTo([], [])
        return self._read_up_to(queue, num_records, timeout)

    def _read_ahead(self, queue: QueueBase, num_records: int, *, timeout: float | None = None) -> ReaderReadUpTo:
        """Read as `read_up_to` for 1 or more records, but keep an error after some records for the next call."""
        return self._read_up_to(queue, at_least(1, num_records, "num_records"), timeout, keep=True)

    def num_records_produced(self) -> int:
        """Return how many records were read since creation or the last `reset`."""
        with self._lock:
            return self._produced

    def num_work_units_completed(self) -> int:
        """Return how many work items were read to their end; an end may be noticed only at the next read."""
        with self._lock:
            return self._finished

    def _counts(self) -> tuple[int, int, Any]:
        """Return the records and work items read so far, and the work items' queue, without waiting for a read."""
        return self._produced, self._finished, None if self._fed_by is None else self._fed_by()

    @property
    def bytes_read(self) -> int | None:
        """Decompressed bytes read so far; None before there are any."""
        return self._bytes.total

    @property
    def num_errors(self) -> int:
        """How many errors were skipped."""
        return self._skips.count

    @property
    def errors(self) -> list[Exception]:
        """The first errors skipped, at most 100."""
        return list(self._skips.errors)

    def reset(self) -> None:
        """Set the counters to 0 and drop the work item in progress. The queue and the skipped errors stay."""
        self._alone(self._reset)

    def serialize_state(self) -> bytes:
        """Return the state as bytes.

        Raises:
            UnimplementedError: This kind of reader cannot save a state.
        """
        if not self.supports_serialize:
            raise UnimplementedError(None, None, f"Reader SerializeState: {self} cannot save its state")
        with self._lock:
            state = ReaderState(
                work_started=self._started,
                work_finished=self._finished,
                num_records_produced=self._produced,
                current_work=self._work_item,
            )
            return state.to_bytes()

    def restore_state(self, state: bytes) -> None:
        """Restore a state from `serialize_state`; your queue's elements are not part of it.

        Raises:
            UnimplementedError: This kind of reader cannot restore a state.
            ValueError: `state` is an array with more than one value.
            TypeError: `state` is not bytes.
            InvalidArgumentError: It is not a state, or was saved within a work item; the reader is reset.
        """
        if not self.supports_serialize:
            raise UnimplementedError(None, None, f"Reader RestoreState: {self} cannot restore a state")
        state = one_text(state)
        self._alone(self._reset_to, state)

    def __repr__(self) -> str:
        return f"<{self}: {self._produced:,} records read>"

    def __str__(self) -> str:
        return f"{self._called()} '{self.name}'"

    def _called(self) -> str:
        return self._kind or type(self).__name__

    def _read_up_to(self, queue: QueueBase, limit: int, timeout: float | None, keep: bool = False) -> ReaderReadUpTo:
        keep = keep or self._skips.active
        if timeout is not None:
            return self._read_timed(queue, limit, timeout, keep)
        found = self._alone(self._next_records, queue, limit, None, keep)
        note_read(found[0])
        return found

    def _read_timed(self, queue: QueueBase, limit: int, timeout: float, keep: bool) -> ReaderReadUpTo:
        timeout = seconds(timeout, "timeout")
        deadline = time.monotonic() + timeout
        if not self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX)):
            text = f"Timed out waiting for another call of {self}, after {timeout} s"
            raise DeadlineExceededError(None, None, text)
        try:
            found = self._alone(self._next_records, queue, limit, deadline, keep)
        finally:
            self._lock.release()
        note_read(found.keys)
        return found

    def _alone(self, function: Callable[..., R], *args: Any) -> R:
        """Call a function with the lock.

        Raises:
            FailedPreconditionError: This thread is in another call, which a signal handler interrupted.
        """
        with self._lock:
            if self._within:
                text = f"{self} was called within a call of it in the same thread, as by a signal handler"
                raise FailedPreconditionError(None, None, text)
            self._within = True
            try:
                return function(*args)
            finally:
                self._within = False

    # The caller holds the lock in everything below.

    @property
    def _in_progress(self) -> bool:
        return self._finished < self._started

    def _reset(self) -> None:
        if self._in_progress:
            self._close()
        self._restore(ReaderState())

    def _reset_to(self, state: bytes) -> None:
        self._reset()
        self._restore(checked_state(state, str(self)))

    def _restore(self, state: ReaderState) -> None:
        self._started = state.work_started
        self._finished = state.work_finished
        self._produced = state.num_records_produced
        self._work_item = state.current_work

    def _next_records(self, queue: QueueBase, limit: int, deadline: float | None, keep: bool) -> ReaderReadUpTo:
        """Read at least one and up to `limit` records from one work item; `keep` those before an error."""
        while True:
            if self._finished >= self._started and not self._next_work_item(queue, deadline):
                continue
            keys, values, ended, error = self._read(limit)
            self._produced += len(values)
            if ended:
                self._close()
                self._finished = self._started
            elif error is not None and not (values and keep):
                self._fail(error)
                # A skipped work item counts as never started.
                self._close()
                self._started -= 1
            if values:
                return ReaderReadUpTo(keys, values)

    def _next_work_item(self, queue: QueueBase, deadline: float | None) -> bool:
        """Take the next work item (file name) from the queue and open it; return False if it was skipped."""
        if not hasattr(queue, "dequeue"):
            raise TypeError(
                f"a reader takes file names from a queue, such as string_input_producer(['a.csv']), not {queue!r:.80}"
            )
        note_input(self)
        self._fed_by = weakref.ref(queue)
        work_item = self._work_item = self._take_work_item(queue, deadline)
        try:
            self._open(work_item)
        except OpError as error:
            self._fail(error)
            return False
        self._started += 1
        return True

    def _take_work_item(self, queue: QueueBase, deadline: float | None) -> bytes:
        timeout = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        return one_string(queue.dequeue() if timeout is None else queue.dequeue(timeout=timeout))

    def _fail(self, error: OpError) -> None:
        """Count an error as skipped, or raise it with the work item as its `record_key`."""
        vars(error).setdefault("record_key", self._work_item)
        if not self._skips.active:
            raise error
        self._skips.note(error)

    # Each reader class defines these.

    def _open(self, work_item: bytes) -> None:
        """Open a work item; OpError if it fails."""
        raise NotImplementedError

    def _read(self, limit: int) -> Found:
        """Return the next records; fewer than `limit` only at the end of the work item or with an error."""
        raise NotImplementedError

    def _close(self) -> None:
        """Close the work item in progress."""
        raise NotImplementedError
