"""Event files, which TensorBoard reads: records of Event messages, each with its check sums."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.files.tfrecord import mask
from pipeline.monitor.summary_proto import Event

_TABLE: list[int] = []


def crc_function() -> Callable[[bytes], int]:
    """The function for the CRC32C of bytes: that of google-crc32c if it is there, else a slower one."""
    try:
        from google_crc32c import value
    except ImportError:
        return _crc
    return value  # type: ignore[no-any-return]


def _crc(data: bytes) -> int:
    if not _TABLE:
        for number in range(256):
            for _ in range(8):
                number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
            _TABLE.append(number)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class EventFile:
    """Writes one event file, which is made with the first event in it.

    Thread safety: every method may be called from every thread; records do not mix.

    Args:
        logdir: The directory, made if there is none.
        max_queue: How many events may wait to be written to the file.
        flush_secs: How many seconds they may wait, as of the next event.
        suffix: Put at the end of the file's name.
    """

    def __init__(self, logdir: str, max_queue: int = 10, flush_secs: float = 120, suffix: str = "") -> None:
        os.makedirs(logdir, exist_ok=True)
        self._crc = crc_function()
        self._lock = threading.Lock()
        self._most, self._seconds = max_queue, flush_secs
        self._waiting, self._flushed = 0, time.monotonic()
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}{suffix}"
        self._file = open(_unused(os.path.join(logdir, name)), "xb")  # noqa: SIM115 (closed by close)
        first = Event(wall_time=time.time(), file_version="brain.Event:2")
        first.source_metadata.writer = "pipeline"
        self.write(first.SerializeToString())
        self.flush()

    @property
    def path(self) -> str:
        """The file's path."""
        return self._file.name

    def write(self, event: bytes) -> None:
        """Add a serialized Event."""
        length = len(event).to_bytes(8, "little")
        crc = self._crc
        sums = [mask(crc(part)).to_bytes(4, "little") for part in (length, event)]
        with self._lock:
            if self._file.closed:
                return
            self._file.write(b"".join((length, sums[0], event, sums[1])))
            self._waiting += 1
            if self._waiting >= self._most or time.monotonic() - self._flushed >= self._seconds:
                self._flush()

    def flush(self) -> None:
        """Write all events to the file."""
        with self._lock:
            if not self._file.closed:
                self._flush()

    def close(self) -> None:
        """Write all events to the file, and close it; again is no error."""
        with self._lock:
            self._file.close()

    def _flush(self) -> None:
        self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()


def _unused(path: str) -> str:
    """The path itself or, if there is such a file, with a number: several writers may begin in one second."""
    number, found = 0, path
    while os.path.exists(found):
        number += 1
        found = f"{path}.{number}"
    return found


def summary_iterator(path: Any) -> Iterator[Any]:
    """The events of an event file, as Event messages.

    Raises:
        NotFoundError, DataLossError: There is no such file, or it is damaged.
    """
    from pipeline.files.opening import MAX_RECORD_BYTES
    from pipeline.files.tfrecord_cutter import records

    for record in records(os.fsencode(path), "", crc_function(), MAX_RECORD_BYTES):
        yield Event.FromString(record)
