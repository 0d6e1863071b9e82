"""StreamReader: base class for reading files in pieces and cutting them into records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.errors import OpError
from pipeline.files.opening import open_file
from pipeline.files.read_buffer import ReadBuffer
from pipeline.readers.base import Found, ReaderBase
from pipeline.readers.records import RecordKeys


class StreamReader(ReaderBase):
    """A reader for files with many records each. It cuts a whole piece at once and then returns the records."""

    _compression = ""

    def _open(self, work_item: bytes) -> None:
        file = open_file(work_item, self._compression)
        self._file = ReadBuffer(file, self._bytes)
        self._values: list[bytes] = []  # cut records; those from _at on are not returned yet
        self._numbers: Sequence[int] = ()  # each record's number, for its key
        self._at = 0
        self._ended = False
        try:
            self._skip_header()
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        self._file.file.close()
        self._file.data = b""
        self._values, self._numbers = [], ()

    def _read(self, limit: int) -> Found:
        error = None
        if len(self._values) - self._at < limit and not self._ended:
            try:
                self._fill(limit)
            except OpError as failure:
                error = failure
        first, self._at = self._at, min(self._at + limit, len(self._values))
        values = self._values[first : self._at]
        keys = RecordKeys(self._work_item, self._numbers[first : self._at])
        return Found(keys, values, self._ended and len(values) < limit, error)

    def _fill(self, wanted: int) -> None:
        """Cut until `wanted` records are ready or the file has ended."""
        self._values, self._numbers, self._at = self._values[self._at :], self._numbers[self._at :], 0
        while len(self._values) < wanted and not self._ended:
            values, numbers = self._cut(wanted - len(self._values))
            self._ended = not values
            self._numbers = _joined(self._numbers, numbers) if self._values else numbers
            self._values = _joined(self._values, values) if self._values else values

    def _skip_header(self) -> None:
        """Skip the bytes before the first record."""

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        """Return the next records with their numbers: at least one, unless the file has ended.

        Args:
            wanted: Records needed. Returning more is fine if they are already read.

        Raises:
            OpError: The next record cannot be read. The next call retries at the same place.
        """
        raise NotImplementedError


def _joined(first: Any, second: Any) -> Any:
    """Extend a list by another, in place; or join two adjacent ranges."""
    if isinstance(first, range):
        return range(first[0], second.stop, first.step) if second else first
    first += second
    return first
