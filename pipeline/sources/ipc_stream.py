"""Arrow IPC streams in files, such as Hugging Face's cache files: the positions of their record batches."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from pipeline.sources.extras import needs
from pipeline.sources.ipc_sizes import FlatTable, checked_rows, read_at

_MARK = 0xFFFFFFFF
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # message kinds

# Field positions in the format's tables, Message and DictionaryBatch (Arrow's format/*.fbs).
_KIND, _HEADER, _BODY_LENGTH, _ID, _IS_DELTA = 1, 2, 3, 0, 2

Span = tuple[int, int]  # a message's offset and size in bytes


class StreamBatch(NamedTuple):
    """A record batch's position.

    Attributes:
        span: Its message.
        dictionaries: The messages with its dictionaries.
        rows: Number of rows.
    """

    span: Span
    dictionaries: tuple[Span, ...]
    rows: int


class StreamFile:
    """A file with one stream.

    Args:
        file: A seekable binary file.

    Raises:
        ArrowInvalid: It has no stream, or is damaged.
    """

    def __init__(self, file: Any) -> None:
        self._file, self._ipc = file, needs("pyarrow.ipc", "feather")
        damaged = needs("pyarrow", "feather").ArrowInvalid
        try:
            self._schema, self.batches = _batches(file)
        except (struct.error, OverflowError) as error:
            raise damaged(f"neither an Arrow IPC file nor a stream, or damaged: {error}") from error
        self.schema = self._ipc.open_stream(self._message(self._schema)).schema

    def batch(self, number: int, fields: list[int]) -> Any:
        """Return a record batch's columns with these numbers, in file order."""
        batch = self.batches[number]
        parts = [self._message(span) for span in (self._schema, *batch.dictionaries, batch.span)]
        options = self._ipc.IpcReadOptions(included_fields=fields)
        return self._ipc.open_stream(b"".join(parts), options=options).read_next_batch()

    def _message(self, span: Span) -> bytes:
        self._file.seek(span[0])
        data: bytes = self._file.read(span[1])
        return data


def _batches(file: Any) -> tuple[Span, list[StreamBatch]]:
    """Return the schema's message, and the batches; struct.error if they are damaged."""
    file.seek(0, 2)
    end, place = file.tell(), 0
    schema: Span | None = None
    batches: list[StreamBatch] = []
    dictionaries: dict[int, tuple[Span, ...]] = {}
    while place < end:
        (mark,) = struct.unpack("<I", read_at(file, place, 4, end))
        head = 8 if mark == _MARK else 4  # streams from before Arrow 0.15 have no mark before the length
        (length,) = struct.unpack("<I", read_at(file, place + head - 4, 4, end))
        if not length:
            _check_end(file, place + head, end)
            break
        message = FlatTable.root(read_at(file, place + head, length, end))
        span = place, head + length + message.int64(_BODY_LENGTH)
        if span[1] < head or place + span[1] > end:
            raise struct.error(f"bytes {place:,} to {sum(span):,} are not in the file")
        kind = message.uint8(_KIND)
        if (kind == _SCHEMA) != (schema is None):
            raise struct.error("it has no schema at its start" if schema is None else "it has a second schema")
        if kind == _SCHEMA:
            schema = span
        elif kind == _DICTIONARY:
            table = message.table(_HEADER)
            before = dictionaries.get(table.int64(_ID), ()) if table.uint8(_IS_DELTA) else ()
            dictionaries[table.int64(_ID)] = (*before, span)
        elif kind == _BATCH:
            needed = tuple(span for spans in dictionaries.values() for span in spans)
            batches.append(StreamBatch(span, needed, checked_rows(message.table(_HEADER))))
        else:
            raise struct.error(f"a message of kind {kind} at byte {place:,}")
        place = sum(span)
    else:  # the format allows that, but a killed writer leaves the same
        raise struct.error("it has no mark of its end, as if its writer had been stopped")
    if schema is None:
        raise struct.error("it is empty")
    return schema, batches


def _check_end(file: Any, place: int, end: int) -> None:
    """Raise struct.error if data follows the end of a stream, as in joined files: it would be ignored."""
    if any(read_at(file, place, min(8, end - place), end)):
        raise struct.error(f"it goes on after its end at byte {place:,}")
