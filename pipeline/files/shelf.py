"""Shelf: byte columns, growing in whole chunks, in a folder's files or in memory.

A folder survives `kill -9` at any time. A chunk's bytes are written after the previous chunk's, and synced. Then one
log line counts them, with their checksums. The next writer overwrites uncounted bytes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import mmap
import os
import weakref
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, FailedPreconditionError, OpError, ResourceExhaustedError
from pipeline.files.os_errors import FULL, os_error
from pipeline.files.regular import regular
from pipeline.locks import Lock

_LOG, _LOCK, _SUFFIX = "log", "lock", ".column"

# Bytes verified together.
_PIECE = 1 << 20


class Shelf:
    """Byte columns by name, and a log. Its first line describes the columns; each later line counts a chunk.

    A chunk's line maps each column it extends to the new `ends`.

    Thread safety: every method may be called from any thread.
    """

    def lines(self) -> list[dict[str, Any]]:
        """Return the log, as plain data.

        Raises:
            DataLossError: It is damaged.
        """
        raise NotImplementedError

    def view(self, name: str, size: int) -> NDArray[np.uint8]:
        """Return a column's first bytes, read-only.

        Raises:
            DataLossError: The column is shorter.
        """
        raise NotImplementedError

    def writer(self) -> Writer | None:
        """Return the writer; None while there is another one, in any process."""
        raise NotImplementedError


class Writer:
    """Adds to a shelf; only one writer exists at a time. It closes once it is unreferenced.

    Thread safety: one thread at a time.

    Attributes:
        bytes: Bytes added since the last chunk.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._ends = ends_of(shelf.lines()[1:])
        self._crcs: dict[str, int] = {}
        self.bytes = 0

    def begin(self, about: dict[str, Any]) -> None:
        """Remove everything, and begin a log with this line."""
        self._ends, self._crcs, self.bytes = {}, {}, 0
        self._begin(about)

    def append(self, name: str, data: NDArray[np.uint8], expected: int = 0) -> None:
        """Add bytes to a column. They count once a chunk is committed.

        Args:
            name: The column.
            data: The bytes.
            expected: The column's final length, if known.

        Raises:
            ResourceExhaustedError: The disk is full.
        """
        end = self._ends.get(name, 0)
        self._crcs[name] = self._put(name, data, end, self._crcs.get(name, 0), expected)
        self._ends[name] = end + len(data)
        self.bytes += len(data)

    def commit(self, chunk: dict[str, Any]) -> None:
        """Commit the added bytes as one chunk.

        Raises:
            ResourceExhaustedError: The disk is full.
        """
        ends = {name: self._ends[name] for name in self._crcs}
        self._commit({**chunk, "ends": ends, "crcs": self._crcs})
        self._crcs, self.bytes = {}, 0

    def close(self) -> None:
        """Let others write."""

    def _begin(self, about: dict[str, Any]) -> None:
        raise NotImplementedError

    def _put(self, name: str, data: NDArray[np.uint8], at: int, crc: int, expected: int) -> int:
        raise NotImplementedError

    def _commit(self, line: dict[str, Any]) -> None:
        raise NotImplementedError


def ends_of(chunks: list[dict[str, Any]]) -> dict[str, int]:
    """Return the committed byte count per column."""
    return {name: end for chunk in chunks for name, end in chunk["ends"].items()}


class Memory(Shelf):
    """Columns in this process's memory. A copy, as by pickle, is empty."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.columns: dict[str, NDArray[np.uint8]] = {}  # may be longer than their committed part
        self._writer: weakref.ref[_InMemory] | None = None
        self._guard = Lock()

    def __reduce__(self) -> Any:
        return Memory, ()

    def lines(self) -> list[dict[str, Any]]:
        return self.log

    def view(self, name: str, size: int) -> NDArray[np.uint8]:
        found = self.columns[name][:size] if size else np.empty(0, np.uint8)
        found.flags.writeable = False
        return found

    def writer(self) -> Writer | None:
        with self._guard:
            known = None if self._writer is None else self._writer()
            if known is not None and not known.closed:
                return None
            writer = _InMemory(self)
            self._writer = weakref.ref(writer)
            return writer


class _InMemory(Writer):
    closed = False

    def __init__(self, shelf: Memory) -> None:
        self._shelf = shelf
        super().__init__(shelf)

    def close(self) -> None:
        self.closed = True

    def _begin(self, about: dict[str, Any]) -> None:
        self._shelf.log, self._shelf.columns = [about], {}

    def _put(self, name: str, data: NDArray[np.uint8], at: int, crc: int, expected: int) -> int:
        end, column = at + len(data), self._shelf.columns.get(name)
        if column is None or len(column) < end:
            longer = np.frombuffer(mmap.mmap(-1, max(1 << 16, 2 * end, expected)), np.uint8)
            if column is not None:
                longer[:at] = column[:at]
            column = self._shelf.columns[name] = longer
        column[at:end] = data
        return 0

    def _commit(self, line: dict[str, Any]) -> None:
        self._shelf.log = [*self._shelf.log, line]


class Folder(Shelf):
    """Columns in a folder's files, shared by several processes.

    Args:
        path: The folder. Writers make it.
        what: Prefix for error messages.

    Raises:
        FailedPreconditionError: There is something else.
        OpError: It cannot be read.
    """

    def __init__(self, path: str, what: str) -> None:
        self.path, self.what = os.path.realpath(path), what
        self._known: tuple[Any, list[dict[str, Any]], int] = None, [], 0  # the log's identity, its lines, their bytes
        with contextlib.suppress(FileNotFoundError), self.errors(FileNotFoundError):
            for name in sorted(os.listdir(self.path)):
                if name not in (_LOG, _LOCK) and not name.endswith(_SUFFIX):
                    text = f"{what}: '{self.path}' holds something else, such as {name!r}: give a folder of its own"
                    raise FailedPreconditionError(None, None, text)

    def __reduce__(self) -> Any:
        return Folder, (self.path, self.what)

    def at(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.path, name)

    def lines(self) -> list[dict[str, Any]]:
        return self.log()[0]

    def log(self) -> tuple[list[dict[str, Any]], int]:
        """Return the log's lines and their size in bytes."""
        try:
            with self.errors(FileNotFoundError), open(self.at(_LOG), "rb", opener=regular(self.what)) as file:
                status = os.fstat(file.fileno())
                identity = status.st_ino, status.st_size, status.st_mtime_ns
                if identity == self._known[0]:
                    return self._known[1:]
                text = file.read()
        except FileNotFoundError:
            return [], 0
        lines: list[dict[str, Any]] = []
        for line in text.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break  # the writer was killed there, or is writing it now
            crc, _, rest = line.partition(b" ")
            if crc != b"%08x" % zlib.crc32(rest):
                raise self.damaged(f"line {len(lines) + 1} of '{self.at(_LOG)}' has another checksum")
            lines.append(json.loads(rest))
        self._known = identity, lines, len(text) if text.endswith(b"\n") else text.rfind(b"\n") + 1
        return self._known[1:]

    def view(self, name: str, size: int) -> NDArray[np.uint8]:
        if not size:
            return np.empty(0, np.uint8)
        path = self.at(name + _SUFFIX)
        try:
            with self.errors(FileNotFoundError), open(path, "rb", opener=regular(self.what)) as file:
                there = os.fstat(file.fileno()).st_size
                if there >= size:  # reading past a mapped file's end would kill the process
                    return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), np.uint8)
        except FileNotFoundError:
            raise self.damaged(f"'{path}' is missing") from None
        raise self.damaged(f"'{path}' has {there:,} bytes, and should have {size:,}")

    def verify(self) -> None:
        """Compare all committed bytes with their checksums.

        Raises:
            DataLossError: They differ.
        """
        begins: dict[str, int] = {}
        for number, chunk in enumerate(self.lines()[1:]):
            for name, end in chunk["ends"].items():
                data, crc = self.view(name, end), 0
                for first in range(begins.get(name, 0), end, _PIECE):
                    crc = zlib.crc32(data[first : min(first + _PIECE, end)].data, crc)
                if crc != chunk["crcs"][name]:
                    raise self.damaged(f"chunk {number} of '{self.at(name + _SUFFIX)}' has another checksum")
                begins[name] = end

    def writer(self) -> Writer | None:
        lock = None  # held while the writer is open
        try:
            with self.errors(BlockingIOError):
                os.makedirs(self.path, exist_ok=True)
                lock = io.FileIO(self.at(_LOCK), "ab", opener=regular(self.what))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _InFolder(self, lock)
        except BaseException as error:  # also an interrupt, because its traceback would keep it open
            if lock is not None:
                lock.close()
            if isinstance(error, BlockingIOError):
                return None
            raise

    def clear(self) -> None:
        """Remove everything, the log first, so nothing looks complete. Mapped files stay until unmapped."""
        with self.errors():
            for name in (_LOG, *os.listdir(self.path)):
                if name == _LOG or name.endswith(_SUFFIX):
                    with contextlib.suppress(FileNotFoundError):
                        self._remove(self.at(name))
            self.sync()

    def _remove(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            raise FailedPreconditionError(None, None, f"{self.what}: '{path}' is not a regular file")
        os.unlink(path)

    def sync(self) -> None:
        """Make the filenames survive a power cut."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # raised by file systems without this
                raise
        finally:
            os.close(descriptor)

    def damaged(self, text: str) -> DataLossError:
        """Return the error for a damaged folder."""
        return DataLossError(None, None, f"{self.what}: {text}: pass rebuild=True to compute the elements again")

    @contextlib.contextmanager
    def errors(self, *kept: type[OSError]) -> Iterator[None]:
        """Raise operating system errors as the library's, except `kept`."""
        try:
            yield
        except kept:
            raise
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> OpError:
        if error.errno not in FULL:
            return os_error(os.fsencode(self.path), error)
        why = "its files may not grow further" if error.errno == errno.EFBIG else "the disk is full"
        text = (
            f"{self.what}: '{self.path}': {why}. The chunks that were finished stay: free some space and run again, "
            "which continues behind them, or give another folder"
        )
        return ResourceExhaustedError(None, None, text)


class _InFolder(Writer):
    """Writes to a folder while holding the lock. In a fork's child it does nothing."""

    def __init__(self, folder: Folder, lock: Any) -> None:
        self._folder, self._lock, self._pid = folder, lock, os.getpid()
        self._files: dict[str, Any] = {}
        self._synced = False  # True once all filenames are on the disk
        super().__init__(folder)

    def _begin(self, about: dict[str, Any]) -> None:
        self._close_files()
        self._folder.clear()
        self._add(about)

    def _put(self, name: str, data: NDArray[np.uint8], at: int, crc: int, expected: int) -> int:
        self._check()
        with self._folder.errors():
            file = self._files.get(name)
            if file is None:
                path = self._folder.at(name + _SUFFIX)
                file = self._files[name] = io.FileIO(path, "r+b" if at else "wb", opener=regular(self._folder.what))
                self._synced = False
            _write(file, data.data, at)
        return zlib.crc32(data.data, crc)

    def _commit(self, line: dict[str, Any]) -> None:
        self._check()
        with self._folder.errors():
            for name in line["ends"]:
                os.fsync(self._files[name].fileno())
            if not self._synced:
                self._folder.sync()  # before a line counts them
                self._synced = True
        self._add(line)

    def _add(self, line: dict[str, Any]) -> None:
        text = json.dumps(line).encode() + b"\n"
        with self._folder.errors():
            end = self._folder.log()[1]
            new = not end
            with io.FileIO(self._folder.at(_LOG), "wb" if new else "r+b", opener=regular(self._folder.what)) as file:
                file.truncate(end)  # cut off a killed writer's partial line
                _write(file, memoryview(b"%08x %s" % (zlib.crc32(text), text)), end)
                os.fsync(file.fileno())
            if new:
                self._folder.sync()

    def _check(self) -> None:
        if self._pid != os.getpid():
            text = f"{self._folder.what}: the process that began to fill '{self._folder.path}' was forked"
            raise FailedPreconditionError(None, None, text)

    def _close_files(self) -> None:
        files, self._files = self._files, {}
        for file in files.values():
            with contextlib.suppress(OSError):  # everything that counts is synced
                file.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._lock.close()  # first, because an interrupt may strike after it
        self._close_files()


def _write(file: Any, data: memoryview, at: int) -> None:
    while data:
        count = os.pwrite(file.fileno(), data, at)
        data, at = data[count:], at + count
