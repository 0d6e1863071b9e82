"""batch_sizes: row counts of an Arrow IPC file's record batches, from its metadata, without reading any column."""

from __future__ import annotations

import struct
from typing import Any

from pipeline.sources.extras import needs

_END = b"ARROW1"

# Field positions in the format's tables, Footer, Message and RecordBatch (Arrow's format/*.fbs).
_RECORD_BATCHES, _HEADER, _LENGTH, _NODES = 3, 2, 0, 1


def batch_sizes(file: Any) -> list[int]:
    """Return the row count of each record batch, in order.

    pyarrow offers this only for batches it has read, with at least one column.

    Args:
        file: A seekable binary file. Its position changes.

    Raises:
        ArrowInvalid: The metadata is damaged.
    """
    damaged = needs("pyarrow", "feather").ArrowInvalid
    try:
        file.seek(0, 2)
        end = file.tell() - 4 - len(_END)
        (size,) = struct.unpack("<i", read_at(file, end, 4, end + 4))
        footer = FlatTable.root(read_at(file, end - size, size, end))
        return [_rows(read_at(file, start, size, end)) for start, size in footer.blocks(_RECORD_BATCHES)]
    except (struct.error, OverflowError) as error:
        raise damaged(f"its list of record batches is damaged: {error}") from error


def read_at(file: Any, start: int, size: int, end: int) -> bytes:
    """Return bytes from a file with the given end; struct.error if they are missing."""
    if not 0 <= start <= start + size <= end:
        raise struct.error(f"bytes {start:,} to {start + size:,} are not in the file")
    file.seek(start)
    return bytes(file.read(size))


def _rows(metadata: bytes) -> int:
    (mark,) = struct.unpack_from("<I", metadata)
    # Files from before Arrow 0.15 have no mark before the length.
    return checked_rows(FlatTable.root(metadata[8 if mark == 0xFFFFFFFF else 4 :]).table(_HEADER))


def checked_rows(batch: FlatTable) -> int:
    """Return a RecordBatch's row count; struct.error if its columns disagree."""
    rows, column = batch.int64(_LENGTH), batch.first_int64(_NODES)
    if rows < 0 or rows != column:
        raise struct.error(f"a batch says that it has {rows:,} rows, and its first column {column:,}")
    return rows


class FlatTable:
    """A FlatBuffers table stored in bytes."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        return cls(data, *struct.unpack_from("<I", data))

    def int64(self, number: int) -> int:
        """Return a numeric field; 0 if it is absent."""
        place = self._field(number)
        return 0 if place is None else self._at("<q", place)

    def uint8(self, number: int) -> int:
        """Return a small numeric or bool field; 0 if it is absent."""
        place = self._field(number)
        return 0 if place is None else self._at("<B", place)

    def table(self, number: int) -> FlatTable:
        """Return a table field."""
        place = self._field(number)
        if place is None:
            raise struct.error("a table is left out")
        return FlatTable(self._data, place + self._at("<I", place))

    def first_int64(self, number: int) -> int:
        """Return the first number in a field with a vector of structs; 0 if it is empty."""
        start, count = self._vector(number)
        return self._at("<q", start) if count else 0

    def blocks(self, number: int) -> list[tuple[int, int]]:
        """Return each Block's offset and metadata size, from a field with a vector of Blocks."""
        start, count = self._vector(number)
        return [(self._at("<q", place), self._at("<i", place + 8)) for place in range(start, start + 24 * count, 24)]

    def _vector(self, number: int) -> tuple[int, int]:
        place = self._field(number)
        if place is None:
            return 0, 0
        start = place + self._at("<I", place)
        return start + 4, self._at("<I", start)

    def _field(self, number: int) -> int | None:
        """Return a field's position; None if it is absent."""
        fields = self._place - self._at("<i", self._place)
        entry = 4 + 2 * number
        offset = self._at("<H", fields + entry) if entry < self._at("<H", fields) else 0
        return self._place + offset if offset else None

    def _at(self, form: str, place: int) -> int:
        if place < 0:
            raise struct.error(f"an offset leads to {place}")
        (number,) = struct.unpack_from(form, self._data, place)
        return int(number)
