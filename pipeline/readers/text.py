"""TextLineReader: lines from text files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline._lines import split_lines
from pipeline.dtypes import integer
from pipeline.errors import invalid
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit, too_long
from pipeline.readers.stream import StreamReader


class TextLineReader(StreamReader):
    r"""Reads lines from text files. The key is `file:number`, from 1; the value is the line without its end.

    Only `\n` ends a line; one `\r` before it, or at the end of the file, is removed too. Bytes are not decoded.

    Args:
        skip_header_lines: Lines to leave out at each file's start; line numbers include them.
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A longer line is a ResourceExhaustedError, and the rest of the file cannot be read; None means
            no limit.

    Raises:
        InvalidArgumentError: `skip_header_lines` or `max_record_bytes` is negative.
        TypeError: A number is not an integer.

    Thread safety: as ReaderBase.

    Examples:
        >>> with open("two.txt", "w") as file:
        ...     print("first", "second", sep="\n", file=file)
        >>> files = pipeline.FIFOQueue(1, "string", shapes=[()])
        >>> files.enqueue("two.txt")
        >>> files.close()
        >>> pipeline.TextLineReader().read_up_to(files, 10)[1]
        [b'first', b'second']
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
        self._max_bytes = byte_limit(max_record_bytes)
        self._skip_lines = integer(0 if skip_header_lines is None else skip_header_lines, "skip_header_lines")
        if self._skip_lines < 0:
            raise invalid(f"skip_header_lines must be >= 0 not {self._skip_lines}")

    def _open(self, work_item: bytes) -> None:
        super()._open(work_item)
        self._number = 0  # the last cut line
        self._tail: list[bytes] = []  # pieces of an unfinished line
        self._tail_bytes = 0  # bytes in _tail
        self._refused = 0  # number of a line that is too long, or 0

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        while True:
            lines = self._lines()
            first, self._number = self._number + 1, self._number + len(lines)
            skipped = min(max(self._skip_lines - first + 1, 0), len(lines))
            if skipped < len(lines) or not lines:
                return lines[skipped:], range(first + skipped, self._number + 1)

    def _lines(self) -> list[bytes]:
        """Read until at least one line is complete; return the lines, or none at the end of the file."""
        while not self._refused:
            piece = self._file.piece()
            if not piece:
                last = b"".join(self._tail).removesuffix(b"\r")
                self._tail = []
                lines = [last] if last else []
            elif b"\n" in piece:
                lines = self._split(piece)
            else:
                self._tail.append(piece)
                self._tail_bytes += len(piece)
                if self._tail_bytes > self._max_bytes + 1:  # one byte may be the \r of the line end
                    self._refuse(1)
                continue
            lines = self._short(lines)
            if lines or not self._refused:
                return lines
        raise too_long(f"line {self._refused} of {os.fsdecode(self._work_item)} has", self._max_bytes)

    def _short(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines before the first one that is too long."""
        # All but the first line lie within one piece.
        suspects = lines if self._max_bytes < self._file.CHUNK else lines[:1]
        if max(map(len, suspects), default=0) <= self._max_bytes:
            return lines
        count = next(i for i, line in enumerate(lines) if len(line) > self._max_bytes)
        self._refuse(count + 1)
        return lines[:count]

    def _refuse(self, number: int) -> None:
        """Stop reading at a line that is too long, the `number`-th after the last line cut."""
        self._refused, self._tail = self._number + number, []

    def _split(self, piece: bytes) -> list[bytes]:
        """Return the lines ending in `piece`; the rest becomes the tail."""
        end = piece.rindex(b"\n")
        text = b"".join((*self._tail, memoryview(piece)[:end])) if self._tail else piece[:end]
        self._tail = [piece[end + 1 :]] if end + 1 < len(piece) else []
        self._tail_bytes = len(piece) - end - 1
        return split_lines(text, 0, len(text))
