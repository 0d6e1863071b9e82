"""Opens files for reading and writing: local files, URLs (by fsspec) and compressed files, piece by piece."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from typing import IO, Any

from pipeline.files.compression import OpenFile, decompressed
from pipeline.files.limits import too_long
from pipeline.files.os_errors import translated
from pipeline.files.remote import open_url
from pipeline.files.urls import remote_file

_PIECE = 1 << 16  # bytes read at once from a file with unknown size


def open_file(name: bytes, compression: str = "") -> OpenFile:
    """Open a file for reading.

    Args:
        name: A path, or a URL supported by fsspec, such as `s3://bucket/file`.
        compression: "GZIP", "ZLIB", "BZIP2", "XZ", "ZSTD", or anything else for none.

    Raises:
        NotFoundError, PermissionDeniedError, ...: It cannot be opened. Opening a directory works; reading it fails.
        ImportError: The name is a URL and fsspec is not installed, or its decompression library is not.
    """
    file: OpenFile = open_url(name) if b"://" in name else _Local(name)
    return decompressed(name, file, compression)


def read_whole(name: bytes, limit: int) -> bytes:
    """Return an uncompressed file's contents; path, URL and errors as for `open_file`.

    Raises:
        ResourceExhaustedError: It exceeds `limit` bytes.
    """
    file = open_file(name)
    try:
        return contents(file, name, limit)
    finally:
        file.close()


def contents(file: OpenFile, name: bytes, limit: int) -> bytes:
    """Return the rest of an open file; `name` is for errors.

    Raises:
        ResourceExhaustedError: It exceeds `limit` bytes.
    """
    bound = file.size_limit()
    pieces: list[bytes] = []
    have, wanted = 0, _PIECE if bound is None else bound + 1
    if bound is not None and bound > limit:
        have = bound
    # The file may grow or shrink meanwhile, so only the bytes actually read count.
    while have <= limit:
        piece = file.read(wanted)
        if not piece:
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.append(piece)
        have, wanted = have + len(piece), _PIECE
    raise too_long(f"{os.fsdecode(name)} has", limit)


def create_file(name: bytes) -> IO[bytes]:
    """Open an empty file for writing; path, URL and errors as for `open_file`."""
    try:
        if b"://" in name:
            remote: IO[bytes] = remote_file(name, "wb")
            return remote
        return open(name, "wb")
    except Exception as error:
        raise translated(name, error) from error


class _Local:
    """A local file, pipe or device."""

    _close_file = staticmethod(os.close)  # at interpreter exit, `__del__` may find `os` already gone
    _file = -1  # default until opened, also if Ctrl-C strikes earlier

    def __init__(self, name: bytes) -> None:
        self._name = name
        try:
            # Not open(): os.open also opens a directory, so the error comes from reading.
            self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise translated(name, error) from error

    def read(self, size: int) -> bytes:
        try:
            return os.read(self._file, size)
        except OSError as error:
            raise translated(self._name, error) from error

    def size_limit(self) -> int | None:
        status = os.fstat(self._file)
        # Files made up by the kernel, as in /proc, are regular files with size 0.
        return status.st_size or None if stat.S_ISREG(status.st_mode) else None

    def seek(self, offset: int) -> bool:
        try:
            os.lseek(self._file, offset, os.SEEK_SET)
        except OSError as error:
            if error.errno == errno.ESPIPE:
                return False
            raise translated(self._name, error) from error
        return True

    def identity(self, ends: bool) -> list[Any] | None:
        try:
            return descriptor_identity(self._file, ends)
        except OSError as error:
            raise translated(self._name, error) from error

    def close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            self._close_file(file)

    def __del__(self) -> None:
        self.close()


def descriptor_identity(file: int, ends: bool) -> list[Any] | None:
    """Return `file_identity` for a descriptor; None if it is not a regular file."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        return None
    crc = None
    if ends:
        head = os.pread(file, _PIECE, 0)
        tail = os.pread(file, _PIECE, max(0, status.st_size - _PIECE))
        crc = f"{zlib.crc32(tail, zlib.crc32(head)):08x}"
    return [status.st_size, status.st_mtime_ns, crc]
