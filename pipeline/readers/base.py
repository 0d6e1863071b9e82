"""ReaderBase: takes work items (file names) from a queue and returns their records, one by one or in blocks."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.diagnostics.live import note_input, readers
from pipeline.diagnostics.workers import note_read
from pipeline.dtypes import at_least, given_name, integer, seconds
from pipeline.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    UnimplementedError,
    invalid,
)
from pipeline.files.identity import Opened
from pipeline.files.read_buffer import ByteCount
from pipeline.on_error import Skips
from pipeline.pulls import Book, Turn, in_use, this_thread
from pipeline.queues.base import QueueBase
from pipeline.readers.records import ReaderRead, ReaderReadUpTo
from pipeline.readers.state import ReaderState, checked_state, one_text
from pipeline.readers.work_items import one_string

# Records skipped at once.
_SKIPPED = 4096
# For the fingerprint, a record is the row of its file in the producer's input and its number within the file: so it is
# the same in every epoch, and on every host.
_RECORD_BITS = 40


class Found(NamedTuple):
    """The next records of a work item, and whether it ended or failed after them."""

    keys: Sequence[bytes]
    values: list[bytes]
    ended: bool = False
    error: OpError | None = None


class ReaderBase:
    """What all readers share: the work item in progress, the counters, and one caller at a time.

    A reader takes the next work item from the queue when the last one is used up. An item that cannot be opened is left
    out after its error. An error while reading leaves the reader where it is: every read raises it, until `reset`.

    Args:
        name: Name of the reader in messages; derived from the class by default.
        on_error: "raise", or "skip": after an error in opening or reading a work item, go on with the next one. Errors
            of the queue are always raised.
        max_errors: With "skip", how many errors may be skipped; the next one is raised. None means no limit.

    Raises:
        ValueError: `on_error` is something else, or `max_errors` is negative or given without "skip".

    Attributes:
        supports_serialize: Whether `serialize_state` works.
        owner: What records the reads of the one function that may read from it; None for anybody.
        last_ids: What the last read of that loop gave; see `Pulled`.

    Thread safety: you may call every method from every thread. A lock is held during a whole call, also while it waits
    for the queue: reads of one reader run one after the other, each record goes to one caller, and the counters wait
    too. `errors` and `num_errors` do not.

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
    _columns = ("work", "offset", "record")
    _kind: str | None = None  # what names and states call the class; None for its own name
    _started: int
    _finished: int
    _produced: int
    _work_item: bytes

    def __init__(self, name: str | None = None, *, on_error: str = "raise", max_errors: int | None = None) -> None:
        default = "".join(f"_{c.lower()}" if c.isupper() else c for c in self._called()).lstrip("_")
        self.name = given_name(name, "name") or default
        self._skips = Skips(on_error, max_errors)
        self._lock = threading.Lock()
        self.owner: Book | None = None
        self.last_ids: Any = None
        self._source: Any = None  # the queue that turns read from
        self._unknown: str | None = None  # why nobody can say where it stands
        self._work = -1  # the number of the work item in progress, as its producer counts; -1 if it is not known
        self._first_id: int | None = None  # the row of its name in the producer's input, times 2**40
        self._opened = Opened()
        self._bytes = ByteCount()
        self._fed_by: weakref.ref[Any] | None = None  # the queue of the last work item
        self._restore(ReaderState())
        readers.add(self)

    def read(self, queue: QueueBase, *, timeout: float | None = None) -> ReaderRead:
        """Return the next record; take the next work item from `queue` if none is in progress.

        Args:
            queue: Your queue with work items: file names, or what this reader reads; one string per element.
            timeout: Seconds to wait for the queue and for the reader's other calls; None waits forever.

        Returns:
            The key and the value, both bytes.

        Raises:
            OutOfRangeError: The queue is closed and empty.
            DeadlineExceededError: The timeout passed; nothing is lost.
            NotFoundError, PermissionDeniedError, FailedPreconditionError: The file cannot be opened or read.
            DataLossError: The file is corrupt.
            InvalidArgumentError: The element of the queue is not one string.
        """
        keys, values = self._read_up_to(queue, 1, timeout)
        return ReaderRead(keys[0], values[0])

    def read_up_to(self, queue: QueueBase, num_records: int, *, timeout: float | None = None) -> ReaderReadUpTo:
        """Return up to `num_records` records, at least one, all of the same work item.

        It does not wait for the queue once it has a record. For 0 records it returns at once. If reading fails, the
        records that this call read before the error are counted and lost; with `on_error="skip"` they are returned.

        Args:
            queue, timeout: As `read`.
            num_records: The most records to return.

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
        """As `read_up_to` for 1 or more records, but an error after some records is left for the next call."""
        return self._read_up_to(queue, at_least(1, num_records, "num_records"), timeout, keep=True)

    def num_records_produced(self) -> int:
        """Return how many records were read since creation or the last `reset`."""
        with self._lock:
            return self._produced

    def num_work_units_completed(self) -> int:
        """Return how many work items were read to their end; the reader may notice an end only at the next read."""
        with self._lock:
            return self._finished

    def _counts(self) -> tuple[int, int, Any]:
        """Return the records and work items read so far, and the queue of these, without waiting for a read."""
        return self._produced, self._finished, None if self._fed_by is None else self._fed_by()

    @property
    def bytes_read(self) -> int | None:
        """The bytes of its files that it has read, decompressed; None before there are any."""
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
        with self._lock:
            self._reset()

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
            return state.SerializeToString()

    def restore_state(self, state: bytes) -> None:
        """Go back to a state that `serialize_state` returned; it does not include what your queue holds.

        Raises:
            UnimplementedError: This kind of reader cannot restore a state.
            ValueError: `state` is an array of more than one value.
            TypeError: `state` is not bytes.
            InvalidArgumentError: It is not a state, or was saved within a work item; the reader is reset.
        """
        if not self.supports_serialize:
            raise UnimplementedError(None, None, f"Reader RestoreState: {self} cannot restore a state")
        state = one_text(state)
        with self._lock:
            self._reset()
            self._restore(checked_state(state, str(self)))

    def __repr__(self) -> str:
        return f"<{self}: {self._produced:,} records read>"

    def __str__(self) -> str:
        return f"{self._called()} '{self.name}'"

    def _called(self) -> str:
        return self._kind or type(self).__name__

    def _read_up_to(self, queue: QueueBase, limit: int, timeout: float | None, keep: bool = False) -> ReaderReadUpTo:
        keep = keep or self._skips.active
        if this_thread.turn is not None or self.owner is not None:
            return self._read_in(this_thread.turn, queue, limit, timeout, keep)
        if timeout is not None:
            return self._read_timed(queue, limit, timeout, keep)
        with self._lock:
            found = self._next_records(queue, limit, None, keep)
        note_read(found[0])
        return found

    def _read_timed(self, queue: QueueBase, limit: int, timeout: float, keep: bool) -> ReaderReadUpTo:
        timeout = seconds(timeout, "timeout")
        deadline = time.monotonic() + timeout
        if not self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX)):
            text = f"Timed out waiting for another call of {self}, after {timeout} s"
            raise DeadlineExceededError(None, None, text)
        try:
            found = self._next_records(queue, limit, deadline, keep)
        finally:
            self._lock.release()
        note_read(found.keys)
        return found

    def _read_in(
        self, turn: Turn | None, queue: QueueBase, limit: int, timeout: float | None, keep: bool
    ) -> ReaderReadUpTo:
        """Read within a turn; nobody else may."""
        if turn is None:
            raise in_use(self)
        if self._source is not queue:
            self._note_source(queue)
        turn.pull(self)
        try:
            self.last_ids = None
            if timeout is not None:
                found = self._read_timed(queue, limit, timeout, keep)
            else:
                with self._lock:
                    found = self._next_records(queue, limit, None, keep)
                note_read(found[0])
            if self._first_id is not None:
                self.last_ids = self._ids(self._first_id, found[0])
            return found
        finally:
            turn.pulled()

    # A Positioned. Whoever calls it sees to it that nobody reads meanwhile.

    def _facts(self) -> dict[str, Any]:
        options = {**self._options(), "on_error": "skip" if self._skips.active else "raise"}
        return {"name": self.name, "kind": self._called(), "options": options}

    def _position(self) -> list[int]:
        return [self._work, *self._place()] if self._in_progress else [-1, 0, 0]

    def _go_to(self, position: Sequence[int]) -> None:
        reason = self._no_state()
        if reason is not None:
            raise FailedPreconditionError(None, None, f"{self} cannot go to a position: {reason}")
        work, offset, record = map(int, position)
        with self._lock:
            if self._in_progress:
                self._close()
            self._started, self._work = self._finished, -1
            if work >= 0:
                self._take_number(work)
                self._open(self._work_item)
                self._started += 1
                self._go_to_place(offset, record)

    def _no_state(self) -> str | None:
        if self._unknown is not None:
            return self._unknown
        if self._source is None:
            return "it has not been read from"
        if not hasattr(self._source, "_element"):
            return f"'{self._source.name}' is a queue that somebody fills; read from a string_input_producer"
        return None

    def _files(self) -> dict[str, list[Any]]:
        """What tells the files read so far from changed ones, by name; see `Opened.listed`."""
        return self._opened.listed()

    def _remember_files(self, files: Mapping[str, Sequence[Any]]) -> str | None:
        """Count the files of a saved run as read; return what differs, if it can be seen by their sizes."""
        return self._opened.remember(files, getattr(self._source, "_elements", None))

    def _note_source(self, queue: QueueBase) -> None:
        """Note that a turn reads from another queue than before."""
        if self._source is not None:
            self._unknown = f"it reads from two queues, '{self._source.name}' and '{queue.name}'"
        elif self._in_progress:
            self._unknown = "it was in the middle of a file when the loop began; make a new one for the loop"
        self._source = queue

    def _note_file(self, name: bytes, identity: Callable[[bool], list[Any] | None], ends: bool = True) -> None:
        """Note a file that was opened, if its reader may have to go back to it."""
        if self._source is not None:
            known = hasattr(self._source, "_epoch") and self._source._epoch(self._work) == 0
            self._opened.note(name, identity(ends), self._work if known else None)

    # The caller of everything below holds the lock.

    @property
    def _in_progress(self) -> bool:
        return self._finished < self._started

    def _reset(self) -> None:
        if self._in_progress:
            self._close()
        self._restore(ReaderState())

    def _restore(self, state: ReaderState) -> None:
        self._started = state.work_started
        self._finished = state.work_finished
        self._produced = state.num_records_produced
        self._work_item = state.current_work

    def _next_records(self, queue: QueueBase, limit: int, deadline: float | None, keep: bool) -> ReaderReadUpTo:
        """Read up to `limit` records of one work item, at least one; `keep` those that come before an error."""
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
        if self.owner is not None and hasattr(queue, "_element"):
            # By number, which is no pull of its own: records that are skipped are not pulled.
            producer: Any = queue
            if producer.owner is not self.owner:
                self.owner.adopt(producer)
            (work,) = producer._position()
            producer._skip(1)
            self._take_number(work)
            return self._work_item
        self._first_id = None
        timeout = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        work_item = one_string(queue.dequeue() if timeout is None else queue.dequeue(timeout=timeout))
        self._work = self._source._position()[0] - 1 if hasattr(self._source, "_element") else -1
        return work_item

    def _take_number(self, work: int) -> None:
        """Take the work item that has this number in the producer's count."""
        row, name = self._source._numbered_element(work)
        self._work_item, self._work, self._first_id = one_string(name), work, row << _RECORD_BITS

    def _fail(self, error: OpError) -> None:
        """Count an error as skipped, or raise it with the work item as its `record_key`."""
        vars(error).setdefault("record_key", self._work_item)
        if not self._skips.active:
            raise error
        self._skips.note(error)

    # Each kind of reader defines these.

    def _open(self, work_item: bytes) -> None:
        """Open a work item; OpError if that fails."""
        raise NotImplementedError

    def _read(self, limit: int) -> Found:
        """Return the next records; fewer than `limit` only at the end of the work item or with an error."""
        raise NotImplementedError

    def _close(self) -> None:
        """Close the work item in progress."""
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        """Return the arguments that decide what the records are; plain data."""
        return {}

    def _ids(self, first: int, keys: Sequence[bytes]) -> Any:
        """Return `last_ids` for the records just read, which have these keys; `first` stands for their file."""
        return first, 1

    def _place(self) -> tuple[int, int]:
        """Return where the next record of the work item begins, in bytes, and its number."""
        return 0, 0

    def _go_to_place(self, offset: int, record: int) -> None:
        """Go to what `_place` gave, in a work item just opened."""
