"""The readers: text lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.errors import InvalidArgumentError
from pipeline.reader_base import ReaderBase, RecordKeys, os_error

__all__ = ["ReaderBase", "TextLineReader"]


class TextLineReader(ReaderBase):
    r"""Reads the lines of text files: the key is `file:number`, counted from 1, the value the line without its end.

    Only `\n` ends a line; one `\r` before it goes too. Bytes pass as they are, in lines of any length.

    Args:
        skip_header_lines: Lines to leave out at the start of each file; the numbers count them.

    Raises:
        InvalidArgumentError: `skip_header_lines` is negative.
    """

    _CHUNK = 1 << 18  # bytes; measured: 64 KiB to 1 MiB do not differ by more than 10 %

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__()
        self._skip = skip_header_lines or 0
        if self._skip < 0:
            raise InvalidArgumentError(None, None, f"skip_header_lines must be >= 0 not {self._skip}")
        self.name = name or "text_line_reader"

    def _start(self, work: bytes) -> None:
        self._name = work
        try:
            # Not open(): a directory can be opened like this, and is an error of reading.
            self._file = os.open(work, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise os_error(work, error) from error
        self._lines: list[bytes] = []
        self._next = 0  # of _lines
        self._number = 0  # of the lines before that one, in the file
        self._tail: list[bytes] = []  # the pieces of a line whose end was not seen yet
        self._at_end = False
        self._to_skip = self._skip

    def _finish(self) -> None:
        os.close(self._file)
        self._lines = self._tail = []

    def __del__(self) -> None:
        if getattr(self, "_work", None) is not None:
            os.close(self._file)

    def _read(self, limit: int) -> tuple[Sequence[bytes], list[bytes], bool]:
        self._fill(self._to_skip)
        skipped = min(self._to_skip, len(self._lines) - self._next)
        self._advance(skipped)
        self._to_skip = 0
        self._fill(limit)
        values = self._lines[self._next : self._next + limit]
        first = self._number + 1
        self._advance(len(values))
        return RecordKeys(self._name, range(first, first + len(values))), values, len(values) < limit

    def _advance(self, count: int) -> None:
        self._next += count
        self._number += count

    def _fill(self, wanted: int) -> None:
        """Have `wanted` lines ready, or all that the file still has."""
        if len(self._lines) - self._next >= wanted or self._at_end:
            return
        lines = self._lines[self._next :]
        self._lines, self._next = lines, 0
        while len(lines) < wanted and not self._at_end:
            try:
                chunk = os.read(self._file, self._CHUNK)
            except OSError as error:
                raise os_error(self._name, error) from error
            if not chunk:
                self._at_end = True
                last = b"".join(self._tail).removesuffix(b"\r")
                lines += [last] if last else []
            elif b"\n" not in chunk:
                self._tail.append(chunk)
            else:
                lines += self._split(chunk)

    def _split(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in `chunk`; the rest of it becomes the tail."""
        end = chunk.rindex(b"\n")
        text = b"".join((*self._tail, chunk[:end])) if self._tail else chunk[:end]
        self._tail = [chunk[end + 1 :]] if end + 1 < len(chunk) else []
        if b"\r" in text:
            text = (text + b"\n").replace(b"\r\n", b"\n")[:-1]
        return text.split(b"\n")
