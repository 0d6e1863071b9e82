"""TraceFile: Chrome trace events in a JSON file, compressed or not, complete after each flush."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import zlib
from typing import Any

from pipeline.files.os_errors import os_error
from pipeline.files.replacing import replacing

_FLUSH_BYTES = 1 << 15
_GZIP = 31  # for zlib: with a gzip header
_END_BYTES = 1024  # longer than any file's end of some 200 bytes
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode  # json.dumps would make one for each event


class TraceFile:
    """Writes events as a JSON object, one event per line. Only one thread may use it.

    Each flush writes the events and the end of the file, which the next flush overwrites. If the disk fills up, the end
    is written again where it was, so the file is complete, and has all events of earlier flushes. If that fails, too,
    the file ends after the last event.

    Args:
        path: Ends in .json or .json.gz; an existing file is replaced, once the new one has its first lines.
        max_bytes: Of JSON, before it is compressed; further events are counted and left out.

    Raises:
        OpError: It cannot be written.

    Attributes:
        dropped: How many events were left out.
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self.dropped = 0
        self._compressor = zlib.compressobj(4, zlib.DEFLATED, _GZIP) if path.endswith(".gz") else None
        self._room = max_bytes - _END_BYTES
        self._texts: list[str] = []  # not written yet
        self._size = 0  # bytes in them
        self._at, self._end = 0, b""  # where the file's end begins, and the end
        self._process, self._start = os.getpid(), time.monotonic_ns()
        self._named: set[int] = set()
        self._descriptor = -1
        try:
            with replacing(os.path.realpath(os.fsencode(path))) as file:
                self._descriptor = os.dup(file.fileno())  # no file object: a forked child would write its buffer
                name = {"name": f"pipeline: {os.path.basename(sys.argv[0]) or 'python'}"}
                first = _encode({"ph": "M", "name": "process_name", "pid": self._process, "tid": 0, "args": name})
                self._put(f'{{"displayTimeUnit":"ms","traceEvents":[\n{first}', {})
        except BaseException as error:
            self.forget()
            if isinstance(error, OSError):
                raise os_error(os.fsencode(path), error) from None
            raise

    @property
    def full(self) -> bool:
        """True if further events are left out."""
        return self._room <= 0

    def name_thread(self, number: int, name: str) -> None:
        """Write the name of a track; the second time changes nothing."""
        if number not in self._named:
            self._named.add(number)
            self.write({"ph": "M", "name": "thread_name", "tid": number, "args": {"name": name}})

    def write(self, event: dict[str, Any]) -> None:
        """Add an event, or count it if the file is full.

        Args:
            event: The event, without its process. "ns" is the instant, "duration" its length in ns.

        Raises:
            OSError: The file cannot be written.
        """
        times = {}
        if "ns" in event:
            times["ts"] = (event.pop("ns") - self._start) / 1000
        if "duration" in event:
            times["dur"] = event.pop("duration") / 1000
        text = ",\n" + _encode({**event, **times, "pid": self._process})
        if self._room < len(text):
            self._room = 0
            self.dropped += 1
            return
        self._room -= len(text)
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _FLUSH_BYTES:
            self.flush({})

    def flush(self, about: dict[str, Any]) -> None:
        """Write pending events, and the file's end with notes for readers.

        Raises:
            OSError: It cannot be written. Pending events are lost; the file is complete without them.
        """
        text = "".join(self._texts)
        self._texts, self._size = [], 0
        self._put(text, about)

    def forget(self) -> None:
        """Close the file and write nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _put(self, text: str, about: dict[str, Any]) -> None:
        data, end = text.encode(), f'\n],"otherData":{json.dumps(about)}}}\n'.encode()
        compressor = self._compressor
        if compressor is not None:
            compressor = compressor.copy()
            data = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
            ending = compressor.copy()
            end = ending.compress(end) + ending.flush()
        try:
            self._write(data + end, self._at)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._at)
                self._write(self._end, self._at)  # there may be room: it was there before
            raise
        self._at, self._end, self._compressor = self._at + len(data), end, compressor

    def _write(self, data: bytes, at: int) -> None:
        """Write data at an offset; the file ends after it."""
        left = memoryview(data)
        while len(left):
            written = os.pwrite(self._descriptor, left, at)
            left, at = left[written:], at + written
        os.ftruncate(self._descriptor, at)
