"""ReadBuffer: a file's unused bytes, to cut into lines and records."""

from __future__ import annotations

from typing import Any

from pipeline.files.compression import OpenFile
from pipeline.memory import keep_pages


class ByteCount:
    """Count of the bytes read; None before any."""

    total: int | None = None

    def add(self, count: int) -> None:
        self.total = (self.total or 0) + count


class ReadBuffer:
    """A file's unused bytes: `data` from `position` on.

    Memory follows the file's actual contents, not the requested size. For one thread at a time.

    Args:
        file: The open file.
        count: Counts the bytes read.
        small: Read a file of up to 4 MiB at once, so a long record is not put together from pieces.

    Attributes:
        file: The open file.
        data: The bytes read.
        position: The index of the first unused byte in `data`; the caller advances it.
    """

    CHUNK = 1 << 18  # bytes read at once; measured: 64 KiB to 1 MiB differ by less than 10%

    _SMALL = 1 << 22

    def __init__(self, file: OpenFile, count: ByteCount | None = None, *, small: bool = False) -> None:
        keep_pages()
        size = file.size_limit() if small else None
        self._at_once = self.CHUNK if size is None or size > self._SMALL else max(size, self.CHUNK)
        self.file = file
        self._count = count
        self.data = b""
        self.position = 0
        self._before = 0  # file bytes before data

    @property
    def offset(self) -> int:
        """The file offset of the first unused byte."""
        return self._before + self.position

    def has(self, count: int) -> bool:
        """Read until `data` has `count` unused bytes; return False if the file ends before.

        Raises:
            OpError: Reading fails; bytes read before are kept.
        """
        have = len(self.data) - self.position
        if have >= count:
            return True
        if count - have > self.CHUNK:
            limit = self.file.size_limit()
            if limit is not None and self.offset + count > limit:
                return False
        return self.fill(count)

    def fill(self, count: int) -> bool:
        """As `has`, but if it returns False, `data` holds the whole rest of the file."""
        have = len(self.data) - self.position
        if have >= count:
            return True
        pieces = [self.data[self.position :]] if have else []
        try:
            while have < count:
                piece = self._read()
                if not piece:
                    return False
                pieces.append(piece)
                have += len(piece)
        finally:
            self._before += self.position
            self.data, self.position = b"".join(pieces), 0
        return True

    def skip(self, count: int) -> bool:
        """Skip `count` bytes without keeping them; return False if the file ends before."""
        end = self.offset + count
        if count > len(self.data) - self.position + 4 * self.CHUNK:  # a seek costs less than reading this many bytes
            size = self.file.size_limit()
            if size is not None and end <= size and self.file.seek(end):
                self._before, self.data, self.position = end, b"", 0
                return True
        while count > 0:
            if self.position == len(self.data) and not self.has(1):
                return False
            step = min(count, len(self.data) - self.position)
            self.position += step
            count -= step
        return True

    def piece(self) -> bytes:
        """Return the unused bytes, or read some; b"" at the file's end. `offset` is invalid afterwards."""
        if self.position == len(self.data):
            return self._read()
        piece, self.data, self.position = self.data[self.position :], b"", 0
        return piece

    def _read(self) -> bytes:
        piece = self.file.read(self._at_once)
        if self._count is not None:
            self._count.add(len(piece))
        return piece

    def go_to(self, offset: int) -> None:
        """Move to `offset`. A file that cannot rewind allows no offset before `data`."""
        ahead = offset - self._before
        if 0 <= ahead <= len(self.data):
            self.position = ahead
        elif self.file.seek(offset):
            self._before, self.data, self.position = offset, b"", 0
        else:
            self.skip(offset - self.offset)


def held(data: bytes, offset: int) -> ReadBuffer:
    """Return a buffer over a file's last bytes, from an offset on."""
    buffer = ReadBuffer(_Ended())
    buffer.go_to(offset)
    buffer.data = data
    return buffer


class _Ended:
    """A file at its end."""

    def read(self, size: int) -> bytes:
        return b""

    def size_limit(self) -> int | None:
        return None

    def seek(self, offset: int) -> bool:
        return True

    def identity(self, ends: bool) -> list[Any] | None:
        return None

    def close(self) -> None:
        pass
