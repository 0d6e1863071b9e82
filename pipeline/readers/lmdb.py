"""LMDBReader: the entries in LMDB databases, in key order."""

from __future__ import annotations

import itertools
import os

from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.lmdb_file import Entry, LMDBFile, error_of
from pipeline.readers.base import Found, ReaderBase


class LMDBReader(ReaderBase):
    """Reads LMDB databases. A work item is a database path; its entries give keys and values, in key order.

    A database is a directory with the file `data.mdb`, or such a file itself. It is read without locks and without the
    LMDB library: entries that another process is writing may be missed or raise a DataLossError, but cause no other
    harm. LMDB has no checksums, so damage within a value goes unnoticed.

    Args:
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A longer value is a ResourceExhaustedError; None means no limit.

    Raises:
        InvalidArgumentError: `max_record_bytes` is negative.
        TypeError: It is not an integer.

    Thread safety: as ReaderBase.

    Examples:
        >>> import lmdb
        >>> with lmdb.open("words.lmdb") as database, database.begin(write=True) as transaction:
        ...     _ = transaction.put(b"colour", b"red")
        >>> names = pipeline.FIFOQueue(1, "string", [()])
        >>> names.enqueue("words.lmdb")
        >>> tuple(pipeline.LMDBReader().read(names))
        (b'colour', b'red')
    """

    _close_file = staticmethod(os.close)  # at interpreter exit `__del__` may no longer find `os`

    def __init__(
        self,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__("lmdb_reader" if name is None else name, on_error=on_error, max_errors=max_errors)
        self._max_bytes = byte_limit(max_record_bytes)
        self._file = -1
        self._failure: Exception | None = None

    def _open(self, work_item: bytes) -> None:
        name = os.path.join(work_item, b"data.mdb") if os.path.isdir(work_item) else work_item
        try:
            self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            self._entries = LMDBFile(self._file, self._max_bytes).entries()
        except (OSError, ValueError) as error:
            self._close()
            raise error_of(name, error, self._max_bytes) from error
        self._failure = None

    def _close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            self._close_file(file)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._close()

    def _read(self, limit: int) -> Found:
        entries: list[Entry] = []
        error = None
        if self._failure is None:
            try:
                entries.extend(itertools.islice(self._entries, limit))
            except (OSError, ValueError) as failure:
                self._failure = failure
        if self._failure is not None:
            error = error_of(self._work_item, self._failure, self._max_bytes)
            error.__cause__ = self._failure
        ended = error is None and len(entries) < limit
        return Found([key for key, _ in entries], [value for _, value in entries], ended, error)
