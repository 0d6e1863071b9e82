"""ReaderBase: takes work (file names) from a queue and gives the records in it, one by one or in blocks."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnimplementedError,
    UnknownError,
)
from pipeline.queues import QueueBase


class ReaderRead(NamedTuple):
    """One record: where it came from, and what it is; both bytes."""

    key: bytes
    value: bytes


class ReaderReadUpTo(NamedTuple):
    """A block of records: `keys` is a sequence of bytes, made when looked at; `values` is a list of bytes."""

    keys: Sequence[bytes]
    values: list[bytes]


class RecordKeys(Sequence[bytes]):
    """The keys `work:number` of records that follow one another; making them only on demand saves 0.2 us a record."""

    def __init__(self, work: bytes, numbers: range) -> None:
        self._work = work
        self._numbers = numbers

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> RecordKeys: ...
    def __getitem__(self, index: int | slice) -> bytes | RecordKeys:
        if isinstance(index, slice):
            return RecordKeys(self._work, self._numbers[index])
        return b"%b:%d" % (self._work, self._numbers[index])

    def __iter__(self) -> Iterator[bytes]:
        return (b"%b:%d" % (self._work, number) for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        keys = np.empty(len(self), object)
        keys[:] = list(self)
        return keys if dtype is None else keys.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, RecordKeys)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RecordKeys({list(self)})"


class ReaderBase:
    """What all readers share: which work is in progress, what was counted, and who may read.

    A reader takes the next work from the queue when the last is used up. A work that cannot be opened is left out
    after its error; an error while reading leaves the reader where it is.

    Thread safety: every method may be called from every thread. A lock is held during a whole call, also while it
        waits for
    the queue; so reads of one reader come one after the other, each record goes to one caller, and counters wait too.
    """

    supports_serialize = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._work: bytes | None = None  # the one in progress
        self._produced = 0
        self._completed = 0

    def read(self, queue: QueueBase) -> ReaderRead:
        """Return the next record, of the next work in `queue` if there is none in progress.

        Raises:
            OutOfRangeError: The queue is closed and empty.
            NotFoundError, PermissionDeniedError, FailedPreconditionError: The work cannot be opened or read.
            InvalidArgumentError: The queue gave something that is not one string.
        """
        while True:
            with self._lock:
                block = self._block(queue, 1)
                if block is not None:
                    return ReaderRead(block.keys[0], block.values[0])

    def read_up_to(self, queue: QueueBase, num_records: int) -> ReaderReadUpTo:
        """Return up to `num_records` records, all of one work, and at least one.

        It does not wait for the queue once it has a record. For 0 records it returns at once.

        Raises:
            InvalidArgumentError: `num_records` is negative.
            OpError: As `read`.
        """
        if num_records < 0:
            raise InvalidArgumentError(None, None, f"num_records must be >= 0 not {num_records}")
        if num_records == 0:
            return ReaderReadUpTo([], [])
        while True:
            with self._lock:
                block = self._block(queue, num_records)
                if block is not None:
                    return block

    def num_records_produced(self) -> int:
        """Return how many records were read since the start or the last `reset`."""
        with self._lock:
            return self._produced

    def num_work_units_completed(self) -> int:
        """Return how many works were read to their end; the end is only noticed by the read after the last record."""
        with self._lock:
            return self._completed

    def reset(self) -> None:
        """Set the counters to 0 and give up the work in progress; the queue stays as it is."""
        with self._lock:
            if self._work is not None:
                self._finish()
            self._work = None
            self._produced = self._completed = 0

    def serialize_state(self) -> bytes:
        """Return the state as bytes; UnimplementedError if this kind of reader cannot."""
        raise UnimplementedError(None, None, "Reader SerializeState")

    def restore_state(self, state: bytes) -> None:
        """Go back to a state that `serialize_state` gave; UnimplementedError if this kind of reader cannot."""
        raise UnimplementedError(None, None, "Reader RestoreState")

    def _block(self, queue: QueueBase, limit: int) -> ReaderReadUpTo | None:
        """Read up to `limit` records of one work; None if the work ended without another. The lock is held."""
        if self._work is None:
            work = _as_work(queue.dequeue())
            self._start(work)
            self._work = work
        keys, values, ended = self._read(limit)
        self._produced += len(values)
        if ended:
            self._finish()
            self._work = None
            self._completed += 1
        return ReaderReadUpTo(keys, values) if values else None

    # What the kinds of readers define; called with the lock held.

    def _start(self, work: bytes) -> None:
        """Open `work`."""
        raise NotImplementedError

    def _read(self, limit: int) -> tuple[Sequence[bytes], list[bytes], bool]:
        """Return keys and values of the next records, and whether the work is over; fewer than `limit` only then."""
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


_OS_ERRORS: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
}


def os_error(name: bytes, error: OSError) -> OpError:
    """The pipeline's error for an OSError, with the text that TensorFlow gives it."""
    kind = _OS_ERRORS.get(error.errno, UnknownError)
    return kind(None, None, f"{os.fsdecode(name)}; {error.strerror}")
