"""TraceFile: Chrome trace events in a JSON file, compressed or not, that is bounded and whole whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections import deque
from typing import Any

from pipeline.files.os_errors import os_error

_FLUSH_BYTES = 1 << 15
_GZIP = 31  # for zlib: with the header of a gzip file
_END_BYTES = 1024  # more than what ends the file, of which some 200 bytes have been seen
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode  # json.dumps would make one for each event


class TraceFile:
    """Writes events as a JSON object, an event on each line. Only one thread may use it.

    Args:
        path: Ends in .json or .json.gz; a file that is there is replaced.
        max_bytes: Of JSON, before it is compressed; further events are counted and left out.

    Raises:
        OpError: It cannot be written.

    Attributes:
        dropped: How many events were left out.
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self.dropped = 0
        compressor = zlib.compressobj(4, zlib.DEFLATED, _GZIP) if path.endswith(".gz") else None
        self._room = max_bytes - _END_BYTES
        self._texts: list[str] = []  # not written yet
        self._size = 0  # of these
        # Where the file ends with a whole event, and what compresses all that comes after: the last place, and those
        # before it as far as one from which the end still fits if the disk is full at the last.
        self._places = deque([(0, compressor)])
        self._first = True
        self._descriptor = -1
        try:
            # Not a file object, which would write what a forked child has of its buffer.
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            self._put('{"displayTimeUnit":"ms","traceEvents":[\n')
        except OSError as error:
            self.forget()
            raise os_error(os.fsencode(path), error) from None

    @property
    def full(self) -> bool:
        """Whether further events are left out."""
        return self._room <= 0

    def write(self, *events: dict[str, Any]) -> None:
        """Add events that belong together, or count them if the file is full. OSError if it cannot be written."""
        text = ",\n".join(_encode(event) for event in events)
        text = text if self._first else ",\n" + text
        if self._room < len(text):
            self._room = 0
            self.dropped += len(events)
            return
        self._room -= len(text)
        self._first = False
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting; OSError if that fails, and then it is lost."""
        if self._texts:
            text = "".join(self._texts)
            self._texts, self._size = [], 0
            self._put(text)

    def close(self, about: dict[str, Any]) -> None:
        """End the file with what a reader should know of it; nothing can be written after. OSError if that fails."""
        self.flush()
        self._end(about, self._places[-1][1])
        self.forget()

    def abandon(self, about: dict[str, Any]) -> None:
        """End the file after an error as far as that is possible: cut off the part of a flush that was written, and
        whole flushes if the end does not fit behind them."""
        self._texts, self._size = [], 0
        for size, compressor in reversed(self._places):
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
                os.lseek(self._descriptor, size, os.SEEK_SET)
                self._end(about, compressor)
                break
        self.forget()

    def forget(self) -> None:
        """Close the file and write nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _end(self, about: dict[str, Any], compressor: Any) -> None:
        data = f'\n],"otherData":{json.dumps(about)}}}\n'.encode()
        if compressor is not None:
            compressor = compressor.copy()
            data = compressor.compress(data) + compressor.flush()
        self._put_bytes(data)

    def _put(self, text: str) -> None:
        size, compressor = self._places[-1]
        data = text.encode()
        if compressor is not None:
            compressor = compressor.copy()  # 92 us; the other goes on from here if this cannot be written
            data = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
        self._put_bytes(data)
        self._places.append((size + len(data), compressor))
        while self._places[1][0] <= size + len(data) - _END_BYTES:
            self._places.popleft()

    def _put_bytes(self, data: bytes) -> None:
        left = memoryview(data)
        while len(left):
            left = left[os.write(self._descriptor, left) :]
