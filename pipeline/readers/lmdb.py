"""LMDBReader: the entries of LMDB databases, in the order of their keys."""

from __future__ import annotations

import itertools
import os

from pipeline.errors import DataLossError, OpError
from pipeline.files.lmdb_pages import Damage, Entry, LongValue, Pages
from pipeline.files.opening import MAX_RECORD_BYTES, byte_limit, too_long, translated
from pipeline.readers.base import Block, ReaderBase


class LMDBReader(ReaderBase):
    """Reads LMDB databases: the work is the path of a database, key and value are those of the entries, in order.

    A database is a directory with a `data.mdb` in it, or such a file. It is read without locks and not through LMDB:
    what somebody writes to it meanwhile may be missed or come as a DataLossError, and harms nothing else. LMDB keeps no
    check sums, so that damage within a value is not noticed.

    Args:
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A longer value is a ResourceExhaustedError; None is without limit.

    Raises:
        InvalidArgumentError: `max_record_bytes` is negative.
        TypeError: It is not an integer.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name or "lmdb_reader", on_error=on_error, max_errors=max_errors)
        self._most = byte_limit(max_record_bytes)
        self._file = -1
        self._failure: Exception | None = None

    def _start(self, work: bytes) -> None:
        name = os.path.join(work, b"data.mdb") if os.path.isdir(work) else work
        try:
            self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            self._entries = Pages(self._file, self._most).entries()
        except (OSError, ValueError) as error:
            self._finish()
            raise self._error(name, error) from error
        self._failure = None

    def _finish(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._finish()

    def _read(self, limit: int) -> Block:
        entries: list[Entry] = []
        error = None
        if self._failure is None:
            try:
                entries.extend(itertools.islice(self._entries, limit))
            except (OSError, ValueError) as failure:
                self._failure = failure
        if self._failure is not None:
            error = self._error(self._work, self._failure)
            error.__cause__ = self._failure
        ended = error is None and len(entries) < limit
        return Block([key for key, _ in entries], [value for _, value in entries], ended, error)

    def _error(self, name: bytes, error: Exception) -> OpError:
        if isinstance(error, LongValue):
            return too_long(f"database {os.fsdecode(name)}: {error}", self._most)
        if isinstance(error, Damage):
            what = "truncated" if str(error).endswith("is missing") else "corrupt"
            return DataLossError(None, None, f"{what} database {os.fsdecode(name)}: {error}")
        found = translated(name, error)
        assert isinstance(found, OpError)
        return found
