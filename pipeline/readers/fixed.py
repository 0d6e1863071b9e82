"""FixedLengthRecordReader: records with a fixed number of bytes."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from pipeline.dtypes import integer, one_of
from pipeline.errors import OutOfRangeError, invalid
from pipeline.files.compression import WINDOW_BITS
from pipeline.readers.stream import StreamReader


class FixedLengthRecordReader(StreamReader):
    """Reads records with a fixed number of bytes. The key is `file:number`, from 0.

    Record K starts at `header_bytes + K * hop_bytes`. An incomplete last record is left out. A file shorter than its
    header is an OutOfRangeError, as in TensorFlow, and the next read continues with the next file.

    record_bytes: Bytes per record; 0 gives empty records forever.
        record_bytes: Bytes in a record; 0 gives empty records forever.
        header_bytes: Bytes to skip at each file's start.
        footer_bytes: Bytes at each file's end, after the last record.
        hop_bytes: Bytes from one record's start to the next; 0 or None for `record_bytes`.
        name, on_error, max_errors: As for ReaderBase.
        encoding: "GZIP" or "ZLIB" for compressed files; "" or None for plain ones.

    Raises:
        InvalidArgumentError: One of the four numbers is negative, or `encoding` is something else.
        TypeError: A number is not an integer.

    Thread safety: as ReaderBase.

    Examples:
        >>> with open("bytes.bin", "wb") as file:
        ...     _ = file.write(b"abcdef")
        >>> files = pipeline.FIFOQueue(1, "string", shapes=[()])
        >>> files.enqueue("bytes.bin")
        >>> files.close()
        >>> pipeline.FixedLengthRecordReader(3).read_up_to(files, 10)[1]
        [b'abc', b'def']
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
    ) -> None:
        super().__init__(name, on_error=on_error, max_errors=max_errors)
        self._record = _number("record_bytes", record_bytes)
        self._header = _number("header_bytes", 0 if header_bytes is None else header_bytes)
        self._needed = self._record + _number("footer_bytes", 0 if footer_bytes is None else footer_bytes)
        self._hop = _number("hop_bytes", 0 if hop_bytes is None else hop_bytes) or self._record
        encodings = ["", *WINDOW_BITS]
        self._compression = one_of(encodings, "" if encoding is None else encoding, "FixedLengthRecordReader: encoding")

    def _skip_header(self) -> None:
        self._count = 0  # records cut so far
        if not self._file.skip(self._header):
            name = os.fsdecode(self._work_item)
            text = f"reached end of file: {name} is shorter than its header of {self._header} bytes"
            raise OutOfRangeError(None, None, text)

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        file = self._file
        # With gaps, the next record may start after the bytes read so far.
        ahead = self._header + self._count * self._hop - file.offset
        if not file.skip(ahead) or not file.has(self._needed):
            return [], range(0)
        room = len(file.data) - file.position
        # With a hop of 0 nothing is used up, so there are always enough.
        count = (room - self._needed) // self._hop + 1 if self._hop else min(wanted, 1 << 16)
        values = _cut_out(file.data, file.position, self._record, self._hop, count)
        # Only as far as the data goes; the next call skips the rest of a gap.
        file.position += min(count * self._hop, room)
        first, self._count = self._count, self._count + count
        return values, range(first, self._count)


def _cut_out(data: bytes, start: int, size: int, hop: int, count: int) -> list[bytes]:
    """Cut `count` pieces with `size` bytes each, `hop` bytes apart."""
    if hop == 0:
        return [b""] * count
    if hop < size or count < 8:
        return [data[at : at + size] for at in range(start, start + hop * count, hop)]
    # struct is five times as fast. It cuts 100 at a time, because it caches each format.
    one = f"{size}s{hop - size}x"
    whole, last = divmod(count - 1, 100)
    pieces: list[bytes] = []
    many = struct.Struct(one * 100)
    for at in range(start, start + whole * 100 * hop, 100 * hop):
        pieces += many.unpack_from(data, at)
    # The last piece need not be followed by a gap.
    return pieces + list(struct.unpack_from(one * last + f"{size}s", data, start + whole * 100 * hop))


def _number(name: str, value: int | None) -> int:
    number = integer(value, name)
    if number < 0:
        raise invalid(f"{name} must be >= 0 not {number}")
    return number
