"""EventFile writes TensorBoard files: Event messages as TFRecords. summary_iterator reads them back."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from pipeline.errors import DataLossError
from pipeline.files.crc32c import crc_function_or_slow
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.tfrecord import framed
from pipeline.files.tfrecord_cutter import records
from pipeline.locks import Lock
from pipeline.proto.schema import DecodeError
from pipeline.proto.summary import Event

_PIECE = 1 << 20  # bytes written at once
_MOST = 64 << 20  # bytes of events that wait for room on a full disk


class EventFile:
    """Writes one event file. Creates it at once, with a first event for the version.

    Every method may be called from any thread; records do not mix. Events that cannot be written wait for the next
    flush, and the file ends with a whole event.

    Args:
        logdir: The directory; created if it does not exist.
        max_queue: Number of events after which the file is flushed.
        flush_secs: Seconds after which the next event flushes the file.
        suffix: Appended to the file's name.
    """

    def __init__(self, logdir: str, max_queue: int = 10, flush_secs: float = 120, suffix: str = "") -> None:
        os.makedirs(logdir, exist_ok=True)
        self._crc = crc_function_or_slow()
        self._lock = Lock()
        self._most, self._seconds = max_queue, flush_secs
        self._waiting, self._flushed = 0, time.monotonic()
        self._pending, self._end = bytearray(), 0  # what is not written yet, and where it belongs
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}{suffix}"
        self._file = open(_unused(os.path.join(logdir, name)), "xb", 0)  # noqa: SIM115 (closed by close)
        first = Event(wall_time=time.time(), file_version="brain.Event:2")
        first.source_metadata.writer = "pipeline"
        self.write(first.SerializeToString())
        self.flush()

    @property
    def path(self) -> str:
        """The file's path."""
        return str(self._file.name)

    def write(self, event: bytes) -> None:
        """Add a serialised Event; ignored after `close`.

        Raises:
            OSError: The file cannot be written.
        """
        record = framed(event, self._crc)
        with self._lock:
            if self._file.closed:
                return
            if len(self._pending) > _MOST:
                self._flush()
            self._pending += record
            self._waiting += 1
            if self._waiting >= self._most or time.monotonic() - self._flushed >= self._seconds:
                self._flush()

    def flush(self) -> None:
        """Flush all events, so TensorBoard sees them.

        Raises:
            OSError: The file cannot be written.
        """
        with self._lock:
            if not self._file.closed:
                self._flush()

    def close(self) -> None:
        """Write all events and close the file; closing it again is allowed.

        Raises:
            OSError: The last events cannot be written; the file is closed all the same.
        """
        with self._lock:
            if self._file.closed:
                return
            try:
                try:
                    self._flush()
                finally:
                    self._file.close()
            except OSError as error:
                raise OSError(error.errno, error.strerror, self.path) from error

    def _flush(self) -> None:
        file, at = self._file.fileno(), 0
        try:
            while at < len(self._pending):
                at += os.pwrite(file, self._pending[at : at + _PIECE], self._end + at)
        except OSError as error:
            with contextlib.suppress(OSError):  # half an event would hide those after it
                os.ftruncate(file, self._end)
            raise OSError(error.errno, error.strerror, self.path) from error
        self._end += at
        self._pending.clear()
        self._waiting, self._flushed = 0, time.monotonic()


def _unused(path: str) -> str:
    """Return the path, with a number added if the file exists: several writers may start within one second."""
    number, found = 0, path
    while os.path.exists(found):
        number += 1
        found = f"{path}.{number}"
    return found


def summary_iterator(path: Any) -> Iterator[Any]:
    """Iterate over an event file's Event messages.

    Raises:
        NotFoundError: The file does not exist.
        DataLossError: The file is damaged.
    """
    for number, record in enumerate(records(os.fsencode(path), "", crc_function_or_slow(), MAX_RECORD_BYTES)):
        try:
            event = Event.FromString(record)
        except (DecodeError, UnicodeDecodeError) as error:  # the second by protobuf's implementation in Python
            text = f"record {number} of {os.fsdecode(path)} is not an Event: {error}"
            raise DataLossError(None, None, text) from error
        yield event
