"""ReaderBase: takes work (file names) from a queue and gives the records in it, one by one or in blocks."""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.errors import DeadlineExceededError, InvalidArgumentError, OpError, UnimplementedError
from pipeline.explain.workers import note_read
from pipeline.files.opening import os_error
from pipeline.on_error import Skips
from pipeline.queues.base import QueueBase
from pipeline.readers.records import ReaderRead, ReaderReadUpTo, RecordKeys
from pipeline.readers.state import ReaderState, decode, encode, escaped

__all__ = ["Block", "ReaderBase", "ReaderRead", "ReaderReadUpTo", "RecordKeys", "os_error"]


class Block(NamedTuple):
    """What a kind of reader found: some records, and whether the work ended or failed after them."""

    keys: Sequence[bytes]
    values: list[bytes]
    ended: bool = False
    error: OpError | None = None


class ReaderBase:
    """What all readers share: which work is in progress, what was counted, and who may read.

    A reader takes the next work from the queue when the last is used up. A work that cannot be opened is left out
    after its error; an error while reading leaves the reader where it is, so that every read raises it, until `reset`.

    Args:
        name: Name of the reader, for messages.
        on_error: "raise", or "skip": after an error of a work, of opening or of reading it, go on with the next
            work. Errors of the queue are raised in any case.
        max_errors: With "skip", how many errors may be left out; the one after them is raised. None is without limit.

    Raises:
        ValueError: `on_error` or `max_errors` is not one of these.

    Thread safety: every method may be called from every thread. A lock is held during a whole call, also while it
        waits for the queue; so reads of one reader come one after the other, each record goes to one caller, and
        counters wait too. `errors` and `num_errors` do not.
    """

    supports_serialize = False

    def __init__(self, name: str | None = None, *, on_error: str = "raise", max_errors: int | None = None) -> None:
        kind = type(self).__name__
        self.name = name or "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
        self._skips = Skips(on_error, max_errors)
        self._lock = threading.Lock()
        self._restore(ReaderState())

    def read(self, queue: QueueBase, *, timeout: float | None = None) -> ReaderRead:
        """Return the next record, of the next work in `queue` if there is none in progress.

        Args:
            queue: A queue of file names, or of whatever this kind of reader reads: one string in each element.
            timeout: Seconds to wait for the queue and for other calls of this reader; None is without end.

        Raises:
            OutOfRangeError: The queue is closed and empty.
            DeadlineExceededError: The time is over; nothing is lost.
            NotFoundError, PermissionDeniedError, FailedPreconditionError: The work cannot be opened or read.
            DataLossError: The work is corrupt.
            InvalidArgumentError: The queue gave something that is not one string.
        """
        keys, values = self._read_up_to(queue, 1, timeout)
        return ReaderRead(keys[0], values[0])

    def read_up_to(self, queue: QueueBase, num_records: int, *, timeout: float | None = None) -> ReaderReadUpTo:
        """Return up to `num_records` records, all of one work, and at least one.

        It does not wait for the queue once it has a record. For 0 records it returns at once. With an error, the
        records that the call had read before it are counted, and gone; with `on_error="skip"` they are returned.

        Raises:
            InvalidArgumentError: `num_records` is negative.
            TypeError: `num_records` is not an integer.
            OpError: As `read`.
        """
        num_records = operator.index(num_records)
        if num_records < 0:
            raise InvalidArgumentError(None, None, f"num_records must be >= 0 not {num_records}")
        if num_records == 0:
            return ReaderReadUpTo([], [])
        return self._read_up_to(queue, num_records, timeout)

    def read_ahead(self, queue: QueueBase, num_records: int, *, timeout: float | None = None) -> ReaderReadUpTo:
        """As `read_up_to` for 1 or more records, but an error behind some records is left for the next call."""
        return self._read_up_to(queue, num_records, timeout, keep=True)

    def num_records_produced(self) -> int:
        """Return how many records were read since the start or the last `reset`."""
        with self._lock:
            return self._produced

    def num_work_units_completed(self) -> int:
        """Return how many works were read to their end, which may be noticed only by the read after the last record."""
        with self._lock:
            return self._finished

    @property
    def num_errors(self) -> int:
        """How many errors were skipped."""
        return self._skips.count

    @property
    def errors(self) -> list[Exception]:
        """The first errors that were skipped, 100 at most."""
        return list(self._skips.errors)

    def reset(self) -> None:
        """Set the counters to 0 and give up the work in progress; the queue stays as it is, and so do the errors."""
        with self._lock:
            self._reset()

    def serialize_state(self) -> bytes:
        """Return the state as bytes; UnimplementedError if this kind of reader cannot."""
        if not self.supports_serialize:
            raise UnimplementedError(None, None, f"Reader SerializeState: {self} cannot save its state")
        with self._lock:
            return encode(ReaderState(self._started, self._finished, self._produced, self._work))

    def restore_state(self, state: bytes) -> None:
        """Go back to a state that `serialize_state` gave; what a queue holds is no part of it.

        Raises:
            UnimplementedError: This kind of reader cannot.
            ValueError: `state` is an array of more than one value.
            TypeError: `state` is not bytes.
            InvalidArgumentError: It is no state, or one that was saved within a work; the reader is reset.
        """
        if not self.supports_serialize:
            raise UnimplementedError(None, None, f"Reader RestoreState: {self} cannot restore a state")
        if isinstance(state, (list, tuple, np.ndarray)):
            if np.ndim(state):
                raise ValueError(f"state must be a scalar, got shape {np.shape(state)}")
            state = np.asarray(state).item()
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise TypeError(f"state must be bytes, got {type(state).__name__}")
        with self._lock:
            self._reset()
            self._restore(self._checked(bytes(state)))

    def __str__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"

    def _checked(self, message: bytes) -> ReaderState:
        try:
            state = decode(message)
        except ValueError as error:
            text = f"Could not parse state for {self}: {escaped(message)}"
            raise InvalidArgumentError(None, None, text) from error
        if min(state[:3]) < 0:
            text = f"Unexpected negative value when restoring in {self}: {state}"
            raise InvalidArgumentError(None, None, text)
        if state.work_started > state.work_finished:
            text = f"Inconsistent work started vs. finished when restoring in {self}: {state}"
            raise InvalidArgumentError(None, None, text)
        return state

    def _read_up_to(self, queue: QueueBase, limit: int, timeout: float | None, keep: bool = False) -> ReaderReadUpTo:
        keep = keep or self._skips.active
        if timeout is None:
            with self._lock:
                return self._next(queue, limit, None, keep)
        deadline = time.monotonic() + timeout
        if not self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX)):
            text = f"Timed out waiting for another call of {self}, after {timeout} s"
            raise DeadlineExceededError(None, None, text)
        try:
            return self._next(queue, limit, deadline, keep)
        finally:
            self._lock.release()

    # From here on the lock is held.

    @property
    def _in_progress(self) -> bool:
        return self._finished < self._started

    def _reset(self) -> None:
        if self._in_progress:
            self._finish()
        self._restore(ReaderState())

    def _restore(self, state: ReaderState) -> None:
        self._started, self._finished, self._produced, self._work = state

    def _next(self, queue: QueueBase, limit: int, deadline: float | None, keep: bool) -> ReaderReadUpTo:
        """Read up to `limit` records of one work, at least one; `keep` those that come before an error."""
        while True:
            if self._finished >= self._started and not self._begin(queue, deadline):
                continue
            keys, values, ended, error = self._read(limit)
            self._produced += len(values)
            if ended:
                self._finish()
                self._finished = self._started
            elif error is not None and not (values and keep):
                self._fail(error)
                # A work that was skipped is as one that was never started.
                self._finish()
                self._started -= 1
            if values:
                note_read(keys)
                return ReaderReadUpTo(keys, values)

    def _begin(self, queue: QueueBase, deadline: float | None) -> bool:
        """Take the next work and open it; False if it was skipped."""
        if deadline is None:
            work = _as_work(queue.dequeue())
        else:
            work = _as_work(queue.dequeue(timeout=max(deadline - time.monotonic(), 0.0)))
        self._work = work
        try:
            self._start(work)
        except OpError as error:
            self._fail(error)
            return False
        self._started += 1
        return True

    def _fail(self, error: OpError) -> None:
        """Count an error as skipped, or raise it; it knows at which record it happened."""
        vars(error).setdefault("record_key", self._work)
        if not self._skips.active:
            raise error
        self._skips.note(error)

    # What the kinds of readers define.

    def _start(self, work: bytes) -> None:
        """Open `work`."""
        raise NotImplementedError

    def _read(self, limit: int) -> Block:
        """Return the next records; fewer than `limit` only at the end of the work or with an error."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Close the work in progress."""
        raise NotImplementedError


def _as_work(value: Any) -> bytes:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if len(value) != 1:
            raise InvalidArgumentError(None, None, f"Expected single component queue, got {len(value)} components")
        value = value[0]
    if isinstance(value, np.ndarray) and value.size == 1 and value.ndim <= 1:
        value = value.item()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        text = f"Expected to dequeue a one-element string tensor, got shape {value.shape}"
        raise InvalidArgumentError(None, None, text)
    if not isinstance(value, (bytes, str, os.PathLike)):
        text = f"Expected queue with single string component, got {type(value).__name__}"
        raise InvalidArgumentError(None, None, text)
    return os.fsencode(value)
