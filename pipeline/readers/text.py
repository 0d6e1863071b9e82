"""The readers: text lines, whole files, and the work itself; those of other formats have modules of their own."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from pipeline.errors import InvalidArgumentError
from pipeline.files.opening import MAX_RECORD_BYTES, byte_limit, too_long
from pipeline.readers.base import ReaderBase
from pipeline.readers.fixed import FixedLengthRecordReader
from pipeline.readers.lmdb import LMDBReader
from pipeline.readers.stream import StreamReader
from pipeline.readers.tfrecord import TFRecordReader
from pipeline.readers.whole import IdentityReader, WholeFileReader

__all__ = [
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "ReaderBase",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
]


class TextLineReader(StreamReader):
    r"""Reads the lines of text files: the key is `file:number`, counted from 1, the value the line without its end.

    Only `\n` ends a line; one `\r` before it goes too. Bytes pass as they are.

    Args:
        skip_header_lines: Lines to leave out at the start of each file; the numbers count them.
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A longer line is a ResourceExhaustedError, and the file cannot be read further; None is
            without limit.

    Raises:
        InvalidArgumentError: `skip_header_lines` or `max_record_bytes` is negative.
        TypeError: It is not an integer.
    """

    def __init__(
        self,
        skip_header_lines: int | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name, on_error=on_error, max_errors=max_errors)
        self._most = byte_limit(max_record_bytes)
        self._skip = operator.index(skip_header_lines or 0)
        if self._skip < 0:
            raise InvalidArgumentError(None, None, f"skip_header_lines must be >= 0 not {self._skip}")

    def _start(self, work: bytes) -> None:
        super()._start(work)
        self._number = 0  # of the last line that was cut
        self._tail: list[bytes] = []  # the pieces of a line whose end was not seen yet
        self._held = 0  # bytes in them
        self._refused = 0  # the number of a line that is too long

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        while True:
            lines = self._lines()
            first, self._number = self._number + 1, self._number + len(lines)
            skipped = min(max(self._skip - first + 1, 0), len(lines))
            if skipped < len(lines) or not lines:
                return lines[skipped:], range(first + skipped, self._number + 1)

    def _lines(self) -> list[bytes]:
        """Read on, up to the end of at least one line."""
        while not self._refused:
            chunk = self._file.source.read(self._file.CHUNK)
            if not chunk:
                last = b"".join(self._tail).removesuffix(b"\r")
                self._tail = []
                lines = [last] if last else []
            elif b"\n" in chunk:
                lines = self._split(chunk)
            else:
                self._tail.append(chunk)
                self._held += len(chunk)
                if self._held > self._most + 1:  # one may be half a line end
                    self._refuse(1)
                continue
            lines = self._short(lines)
            if lines or not self._refused:
                return lines
        raise too_long(f"line {self._refused} of {os.fsdecode(self._work)} has", self._most)

    def _short(self, lines: list[bytes]) -> list[bytes]:
        """The lines up to the first that is too long."""
        # All but the first lie within one chunk.
        suspects = lines if self._most < self._file.CHUNK else lines[:1]
        if max(map(len, suspects), default=0) <= self._most:
            return lines
        count = next(i for i, line in enumerate(lines) if len(line) > self._most)
        self._refuse(count + 1)
        return lines[:count]

    def _refuse(self, number: int) -> None:
        """Give up the file because of a line, counted from the last that was cut."""
        self._refused, self._tail = self._number + number, []

    def _split(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in `chunk`; the rest of it becomes the tail."""
        end = chunk.rindex(b"\n")
        text = b"".join((*self._tail, chunk[:end])) if self._tail else chunk[:end]
        self._tail = [chunk[end + 1 :]] if end + 1 < len(chunk) else []
        self._held = len(chunk) - end - 1
        if b"\r" in text:
            text = (text + b"\n").replace(b"\r\n", b"\n")[:-1]
        return text.split(b"\n")
