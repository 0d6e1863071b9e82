"""The readers: text lines, whole files, and the work itself; those of other formats have modules of their own."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from pipeline.errors import InvalidArgumentError, OpError
from pipeline.fixed_length import FixedLengthRecordReader
from pipeline.lmdb_reader import LMDBReader
from pipeline.opening import open_source
from pipeline.reader_base import Block, ReaderBase
from pipeline.stream_reader import StreamReader
from pipeline.tfrecord_reader import TFRecordReader

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

    Only `\n` ends a line; one `\r` before it goes too. Bytes pass as they are, in lines of any length.

    Args:
        skip_header_lines: Lines to leave out at the start of each file; the numbers count them.
        name, on_error, max_errors: As ReaderBase.

    Raises:
        InvalidArgumentError: `skip_header_lines` is negative.
        TypeError: It is not an integer.
    """

    def __init__(
        self,
        skip_header_lines: int | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
    ) -> None:
        super().__init__(name, on_error=on_error, max_errors=max_errors)
        self._skip = operator.index(skip_header_lines or 0)
        if self._skip < 0:
            raise InvalidArgumentError(None, None, f"skip_header_lines must be >= 0 not {self._skip}")

    def _start(self, work: bytes) -> None:
        super()._start(work)
        self._number = 0  # of the last line that was cut
        self._tail: list[bytes] = []  # the pieces of a line whose end was not seen yet

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        while True:
            lines = self._lines()
            first, self._number = self._number + 1, self._number + len(lines)
            skipped = min(max(self._skip - first + 1, 0), len(lines))
            if skipped < len(lines) or not lines:
                return lines[skipped:], range(first + skipped, self._number + 1)

    def _lines(self) -> list[bytes]:
        """Read on, up to the end of at least one line."""
        while True:
            chunk = self._file.source.read(self._file.CHUNK)
            if not chunk:
                last = b"".join(self._tail).removesuffix(b"\r")
                self._tail = []
                return [last] if last else []
            if b"\n" in chunk:
                return self._split(chunk)
            self._tail.append(chunk)

    def _split(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in `chunk`; the rest of it becomes the tail."""
        end = chunk.rindex(b"\n")
        text = b"".join((*self._tail, chunk[:end])) if self._tail else chunk[:end]
        self._tail = [chunk[end + 1 :]] if end + 1 < len(chunk) else []
        if b"\r" in text:
            text = (text + b"\n").replace(b"\r\n", b"\n")[:-1]
        return text.split(b"\n")


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the name of the file, the value all that is in it.

    A file that cannot be read is tried again by every read, until `reset`; `on_error="skip"` leaves it out.

    Args:
        name, on_error, max_errors: As ReaderBase.
    """

    supports_serialize = True

    def _start(self, work: bytes) -> None:
        pass  # the file is opened by the read

    def _finish(self) -> None:
        pass

    def _read(self, limit: int) -> Block:
        name = self._work
        try:
            source = open_source(name)
            try:
                return Block([name], [source.read_all()], ended=True)
            finally:
                source.close()
        except OpError as error:
            return Block([], [], error=error)


class IdentityReader(ReaderBase):
    """Gives the work itself, as key and as value: what was in the queue.

    Args:
        name, on_error, max_errors: As ReaderBase.
    """

    supports_serialize = True

    def _start(self, work: bytes) -> None:
        pass

    def _finish(self) -> None:
        pass

    def _read(self, limit: int) -> Block:
        work = self._work
        return Block([work], [work], ended=True)
