"""Offsets: the starts of a file's records, computed once per machine and cached in a folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import FailedPreconditionError, OpError, PermissionDeniedError
from pipeline.files.os_errors import make_folder, translated
from pipeline.files.replacing import replacing
from pipeline.logs import logger

# Header: this mark, the file's stamp, the offset count, and the CRC-32 of everything else.
_HEADER = struct.Struct("<8sQqqQI")
_MAGIC = b"QROFFS2\n"

# A file's size, modification time and change time in ns. Programs such as `cp -p` and tar set the first time, but none
# sets the second. Inodes are left out, because some network file systems change them at each mount.
Stamp = tuple[int, int, int]

# Longer than a tick of the clock that stamps files: two changes in one tick have the same time.
_TICK_NS = 20_000_000

# Indexes up to this size are read. Larger ones are mapped, so processes share them.
_READ_BYTES = 1 << 20

_VARIABLE = "PIPELINE_INDEX_FOLDER"

_log = logger("pipeline.sources")

# Finds a file's offsets: the start of each record, and the end of the last.
Scan = Callable[[str], "NDArray[np.int64]"]


class Offsets:
    """The starts of a file's records.

    It pickles without its numbers: another process reads them from the cache folder, or computes them again.

    Thread safety: every method may be called from any thread.

    Args:
        name: The file's path.
        kind: The indexed unit, such as "lines"; a file has one index per kind.
        scan: Finds the offsets; picklable.
        folder: For the index; None for the folder named by `PIPELINE_INDEX_FOLDER`, or the user's cache folder.

    Raises:
        FailedPreconditionError: The file changes during reading.
        PermissionDeniedError, ...: The file cannot be read; or the index cannot be written to a named folder.
    """

    def __init__(self, name: str, kind: str, scan: Scan, folder: str | None) -> None:
        self.name, self._kind, self._scan, self._folder = name, kind, scan, folder
        self._stamp = _stamp_of(name)
        self.identity = self._stamp[:2]
        self._numbers: NDArray[np.int64] | None = self._found()

    def __len__(self) -> int:
        return len(self._all()) - 1

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return record starts; for the index after the last record, its end."""
        return self._all()[numbers]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_numbers": None}

    def _all(self) -> NDArray[np.int64]:
        if self._numbers is None:
            self._numbers = self._found()
        return self._numbers

    def _found(self) -> NDArray[np.int64]:
        """Return the offsets from the cache folder; if missing, compute and store them."""
        folder = self._folder or os.environ.get(_VARIABLE) or None
        chosen = folder is not None
        try:
            path = self._path(os.path.expanduser(folder) if folder else _cache_folder())
            known = _loaded(path, self._stamp)
            if known is not None:
                return known
            if folder:
                make_folder(os.path.dirname(path))
            else:
                _make_private(os.path.dirname(path))
            with _locked(f"{path}.lock", self.name):
                return self._written(path)
        except OSError as error:
            if chosen:
                raise _not_there(folder or "", error) from error
            _log.warning(
                "the index of '%s' cannot be kept in the cache folder (%s), so that each process makes its own: pass "
                "index_folder=, or set %s",
                self.name,
                error,
                _VARIABLE,
            )
        return self._scanned()

    def _path(self, folder: str) -> str:
        import hashlib  # 3 ms, as it loads OpenSSL; programs without an index skip it

        key = f"{os.path.realpath(self.name)}\0{self._kind}"
        return os.path.join(folder, hashlib.blake2b(os.fsencode(key), digest_size=16).hexdigest() + ".offsets")

    def _written(self, path: str) -> NDArray[np.int64]:
        """Return the offsets, possibly written by another process meanwhile."""
        known = _loaded(path, self._stamp)
        if known is not None:
            return known
        age = time.time_ns() - self._stamp[2]
        if 0 <= age < _TICK_NS:  # a change after the scan would have the same time
            time.sleep((_TICK_NS - age) / 1e9)
        numbers = self._scanned()
        begin = _HEADER.pack(_MAGIC, *self._stamp, len(numbers), 0)[:-4]
        data = numbers.view(np.uint8).data
        with replacing(os.fsencode(path)) as file:
            file.write(begin + struct.pack("<I", zlib.crc32(data, zlib.crc32(begin))))
            file.write(data)
        return _loaded(path, self._stamp, False) if data.nbytes > _READ_BYTES else numbers  # type: ignore[return-value]

    def _scanned(self) -> NDArray[np.int64]:
        numbers = self._scan(self.name)
        if _stamp_of(self.name) != self._stamp:
            raise FailedPreconditionError(None, None, f"'{self.name}' was changed while its index was made")
        return np.ascontiguousarray(numbers, "<i8")


def identity_of(name: str) -> tuple[int, int]:
    """Return a file's size and modification time in ns."""
    return _stamp_of(name)[:2]


def _stamp_of(name: str) -> Stamp:
    try:
        status = os.stat(name)
    except OSError as error:
        raise translated(os.fsencode(name), error) from error
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _cache_folder() -> str:
    """Return the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        raise OSError(None, "there is no home folder")
    return os.path.join(base, "queue-runner", "index")


def _make_private(folder: str) -> None:
    """Make the user's cache folder, which other users cannot read or fill."""
    above = os.path.dirname(folder)
    make_folder(os.path.dirname(above))
    for each in (above, folder):
        make_folder(each, 0o700)


def _loaded(path: str, stamp: Stamp, check: bool = True) -> NDArray[np.int64] | None:
    """Return an index's offsets; None if it is missing, damaged, or older than the file's last change."""
    try:
        with open(path, "rb") as file:
            begin = file.read(_HEADER.size)
            if len(begin) < _HEADER.size:
                return None
            magic, *found, count, crc = _HEADER.unpack(begin)
            length = os.fstat(file.fileno()).st_size - _HEADER.size
            if magic != _MAGIC or tuple(found) != stamp or count < 1 or length != 8 * count:
                return None
            if length <= _READ_BYTES:
                numbers = np.frombuffer(file.read(), "<i8")
            else:
                numbers = np.asarray(np.memmap(file, "<i8", "r", _HEADER.size, (count,)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(numbers) != count or (check and zlib.crc32(numbers.view(np.uint8).data, zlib.crc32(begin[:-4])) != crc):
        return None
    return numbers


@contextlib.contextmanager
def _locked(path: str, name: str) -> Iterator[None]:
    """Let one process at a time make an index; the others wait for it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.info("another process makes the index of '%s': waiting for it", name)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # also unlocks it


def _not_there(folder: str, error: OSError) -> OpError:
    """Return the error for a user's unwritable index folder."""
    found = translated(os.fsencode(folder), error)
    kind = type(found) if isinstance(found, OpError) else PermissionDeniedError
    return kind(None, None, f"the index cannot be written into '{folder}': {error.strerror or error}")
