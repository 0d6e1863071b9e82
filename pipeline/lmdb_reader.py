"""LMDBReader: the entries of LMDB databases, in the order of their keys."""

from __future__ import annotations

import errno
import itertools
import os
import struct
import threading
from collections import deque
from typing import Any

from pipeline.errors import DataLossError, OpError
from pipeline.lmdb_pages import missing_page
from pipeline.opening import os_error
from pipeline.reader_base import Block, ReaderBase


class LMDBReader(ReaderBase):
    """Reads LMDB databases: the work is the path of a database, key and value are those of the entries, in order.

    A database is a directory with a `data.mdb` in it, or such a file. It is opened without locks, for reading, so
    nobody may write to it meanwhile. Readers in one process share a database.

    Args:
        name, on_error, max_errors: As ReaderBase.

    Raises:
        ImportError: lmdb is not installed (extra `lmdb`).
    """

    def __init__(self, name: str | None = None, *, on_error: str = "raise", max_errors: int | None = None) -> None:
        super().__init__(name or "lmdb_reader", on_error=on_error, max_errors=max_errors)
        self._lmdb = _lmdb()

    def _start(self, work: bytes) -> None:
        path = _checked(work)
        try:
            self._database = _Database.open(path)
        except self._lmdb.Error as error:
            raise _lmdb_error(work, error) from error
        try:
            self._transaction = self._database.environment.begin()
            self._entries = iter(self._transaction.cursor())
        except self._lmdb.Error as error:
            self._database.close()
            raise _lmdb_error(work, error) from error

    def _finish(self) -> None:
        self._transaction.abort()
        self._database.close()

    def __del__(self) -> None:
        if hasattr(self, "_work") and self._in_progress:
            self._transaction.abort()
            self._database.drop()

    def _read(self, limit: int) -> Block:
        entries: list[tuple[bytes, bytes]] = []
        try:
            entries.extend(itertools.islice(self._entries, limit))
        except self._lmdb.Error as failure:
            error: OpError = _lmdb_error(self._work, failure)
            error.__cause__ = failure
            return Block([key for key, _ in entries], [value for _, value in entries], error=error)
        return Block([key for key, _ in entries], [value for _, value in entries], ended=len(entries) < limit)


class _Database:
    """An open environment. LMDB allows one in a process for each file, so it is shared and closed by the last user."""

    _all: dict[str, _Database] = {}  # noqa: RUF012
    _lock = threading.Lock()
    _dropped: deque[_Database] = deque()  # noqa: RUF012

    def __init__(self, path: str) -> None:
        self.path = path
        self.users = 0
        subdir = os.path.isdir(path)
        self.environment: Any = _lmdb().open(path, subdir=subdir, readonly=True, create=False, lock=False)
        try:
            self._check(os.path.join(path, "data.mdb") if subdir else path)
        except BaseException:
            self.environment.close()
            raise

    def _check(self, file: str) -> None:
        size = os.path.getsize(file)
        if size >= (self.environment.info()["last_pgno"] + 1) * self.environment.stat()["psize"]:
            return
        try:
            with open(file, "rb") as pages:
                missing = missing_page(pages, size)
        except (ValueError, struct.error) as error:
            raise DataLossError(None, None, f"corrupt database {file}: {error}") from error
        if missing is not None:
            raise DataLossError(None, None, f"truncated database {file}: its page {missing} is missing")

    @classmethod
    def open(cls, path: str) -> _Database:
        with cls._lock:
            cls._settle()
            database = cls._all.get(path) or cls(path)
            cls._all[path] = database
            database.users += 1
            return database

    def close(self) -> None:
        with self._lock:
            self._leave()
            self._settle()

    def drop(self) -> None:
        """As `close`, from a destructor: that may run at any point of any thread, also of one that holds the lock. The
        database is then closed by the next call that takes it."""
        self._dropped.append(self)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    @classmethod
    def _settle(cls) -> None:
        while cls._dropped:
            cls._dropped.popleft()._leave()

    def _leave(self) -> None:
        self.users -= 1
        if self.users == 0:
            del self._all[self.path]
            self.environment.close()


def _lmdb() -> Any:
    try:
        import lmdb  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("LMDBReader needs lmdb: pip install 'queue-runner[lmdb]'") from error
    return lmdb


def _checked(work: bytes) -> str:
    """The real path of a database; its error if there is no file to open."""
    path = os.path.realpath(os.fsdecode(work))
    file = os.path.join(path, "data.mdb") if os.path.isdir(path) else path
    try:
        os.stat(file)
    except OSError as error:
        name = os.path.join(work, b"data.mdb") if file != path else work
        raise os_error(name, error) from error
    return path


def _lmdb_error(work: bytes, error: Exception) -> OpError:
    number = next((n for n in (errno.EACCES, errno.ENOENT) if os.strerror(n) in str(error)), None)
    if number is not None:
        return os_error(work, OSError(number, os.strerror(number)))
    return DataLossError(None, None, f"{os.fsdecode(work)} cannot be read as an LMDB database: {error}")
