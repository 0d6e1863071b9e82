"""StreamReader: what the readers share that cut a file into records while it comes in, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.errors import OpError
from pipeline.files.opening import open_source
from pipeline.files.window import Buffered
from pipeline.readers.base import Block, ReaderBase
from pipeline.readers.records import RecordKeys


class StreamReader(ReaderBase):
    """A reader of files with many records each. All that came in with one piece is cut at once and then handed out."""

    _compression = ""

    def _start(self, work: bytes) -> None:
        self._file = Buffered(open_source(work, self._compression))
        self._values: list[bytes] = []  # cut and not yet handed out, from _at on
        self._numbers: Sequence[int] = ()  # the number in the key of each of them
        self._at = 0
        self._ended = False
        try:
            self._skip_header()
        except BaseException:
            self._finish()
            raise

    def _finish(self) -> None:
        self._file.source.close()
        self._file.data = b""
        self._values, self._numbers = [], ()

    def _read(self, limit: int) -> Block:
        error = None
        if len(self._values) - self._at < limit and not self._ended:
            try:
                self._fill(limit)
            except OpError as failure:
                error = failure
        first, self._at = self._at, min(self._at + limit, len(self._values))
        values = self._values[first : self._at]
        keys = RecordKeys(self._work, self._numbers[first : self._at])
        return Block(keys, values, self._ended and len(values) < limit, error)

    def _fill(self, wanted: int) -> None:
        """Have `wanted` records ready, or all that the file still has."""
        self._values, self._numbers, self._at = self._values[self._at :], self._numbers[self._at :], 0
        while len(self._values) < wanted and not self._ended:
            values, numbers = self._cut(wanted - len(self._values))
            self._ended = not values
            self._numbers = _joined(self._numbers, numbers) if self._values else numbers
            self._values = _joined(self._values, values) if self._values else values

    def _skip_header(self) -> None:
        """Pass over what comes before the first record."""

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        """Return the next records with their numbers: at least one, unless the file ended.

        Args:
            wanted: How many are needed; more than that are welcome if they are there.

        Raises:
            OpError: There is no next one, because of that. The next call tries the same place again.
        """
        raise NotImplementedError


def _joined(first: Any, second: Any) -> Any:
    """Two lists as one, the first one itself; or two ranges that follow one another."""
    if isinstance(first, range):
        return range(first[0], second.stop, first.step) if second else first
    first += second
    return first
