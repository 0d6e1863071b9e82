"""Opening what a name stands for: a file here or behind a URL, plain or compressed, to be read piece by piece."""

from __future__ import annotations

import errno
import operator
import os
import stat
import sys
import zlib
from typing import IO, Any, Protocol

from pipeline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

# How zlib.decompressobj and zlib.compressobj name the formats: the size of the window, plus 16 for gzip's header.
WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}

# No byte of a deflate stream stands for more: two bits can repeat 258 bytes.
_MOST_INFLATED = 1032

_PIECE = 1 << 16  # bytes that are read at once where nothing says how many there are

# Bytes of one line, record or whole file, unless told otherwise: a file that is not what it should be, or that packs
# too well, takes no more memory than a small multiple of this.
MAX_RECORD_BYTES = 1 << 30


class Source(Protocol):
    """The bytes of one file, from start to end. Not for several threads at a time."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, at least one unless the end was reached; OpError if that fails."""

    def most(self) -> int | None:
        """Return a number of bytes that the whole file cannot exceed; None if that is not known."""

    def close(self) -> None:
        """Close the file; again is no error."""


def open_source(name: bytes, compression: str = "") -> Source:
    """Open a file for reading.

    Args:
        name: A path, or a URL that fsspec knows, such as `s3://bucket/file`.
        compression: "GZIP", "ZLIB" or, for none, anything else.

    Raises:
        NotFoundError, PermissionDeniedError, ...: It cannot be opened. A directory can; reading it is an error.
        ImportError: The name is a URL and fsspec is not installed.
    """
    source: Source = _Remote(name) if b"://" in name else _Local(name)
    return _Inflated(name, source, WINDOW_BITS[compression]) if compression in WINDOW_BITS else source


def read_whole(name: bytes, limit: int) -> bytes:
    """Return all that is in a file that is not compressed; path, URL and errors as in `open_source`.

    Raises:
        ResourceExhaustedError: It has more than `limit` bytes.
    """
    source = open_source(name)
    try:
        most = source.most()
        pieces: list[bytes] = []
        have, wanted = 0, _PIECE if most is None else most + 1
        if most is not None and most > limit:
            have = most
        # Files may grow and shrink meanwhile: what counts is what the reads give.
        while have <= limit:
            piece = source.read(wanted)
            if not piece:
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.append(piece)
            have, wanted = have + len(piece), _PIECE
    finally:
        source.close()
    raise too_long(f"{os.fsdecode(name)} has", limit)


def byte_limit(value: int | None) -> int:
    """A `max_record_bytes` as a number; InvalidArgumentError if it is negative, TypeError if it is no integer."""
    limit = sys.maxsize if value is None else operator.index(value)
    if limit < 0:
        raise InvalidArgumentError(None, None, f"max_record_bytes must be >= 0 not {limit}")
    return limit


def too_long(what: str, limit: int) -> ResourceExhaustedError:
    """The error for something that is longer than the limit; `what` ends in a verb."""
    return ResourceExhaustedError(
        None, None, f"{what} more than the limit of {limit:,} bytes; max_record_bytes= sets another limit"
    )


def open_sink(name: bytes) -> IO[bytes]:
    """Open a file for writing, empty; path, URL and errors as in `open_source`."""
    try:
        if b"://" in name:
            remote: IO[bytes] = remote_file(name, "wb")
            return remote
        return open(name, "wb")
    except Exception as error:
        raise translated(name, error) from error


class _Local:
    """A file of this machine; also a pipe or a device."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._file = -1
        try:
            # Not open(): a directory can be opened like this, and is an error of reading.
            self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise translated(name, error) from error

    def read(self, size: int) -> bytes:
        try:
            return os.read(self._file, size)
        except OSError as error:
            raise translated(self._name, error) from error

    def most(self) -> int | None:
        status = os.fstat(self._file)
        # Files that the kernel makes up, as in /proc, are regular and say 0.
        return status.st_size or None if stat.S_ISREG(status.st_mode) else None

    def close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def __del__(self) -> None:
        self.close()


class _Remote:
    """A file behind a URL."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        try:
            self._file: Any = remote_file(name, "rb")
        except Exception as error:
            raise translated(name, error) from error

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._file.read(size))
        except Exception as error:
            raise translated(self._name, error) from error

    def most(self) -> int | None:
        size = getattr(self._file, "size", None)
        return size if isinstance(size, int) else None

    def close(self) -> None:
        self._file.close()


class _Inflated:
    """The decompressed bytes of another source. Only one piece of each is held at a time, however well it packs."""

    def __init__(self, name: bytes, source: Source, window_bits: int) -> None:
        self._name = name
        self._source = source
        self._window_bits = window_bits
        self._engine = zlib.decompressobj(window_bits)
        self._begun = False  # the engine has seen data
        self._input = b""
        self._broken = ""

    def read(self, size: int) -> bytes:
        while not self._broken:
            if self._engine.eof and not self._next_member():
                return b""
            if not self._input:
                # Even without input the engine may have some output left, so it is asked before the end is believed.
                self._input = self._source.read(_PIECE)
            data = self._inflate(size)
            if data:
                return data
            if not self._input and not self._engine.eof and not self._more():
                if not self._begun:
                    return b""
                self._broken = "the compressed data ends too early"
        text = f"inflate() failed for {os.fsdecode(self._name)}: {self._broken}"
        raise DataLossError(None, None, text)

    def _more(self) -> bool:
        self._input = self._source.read(_PIECE)
        return bool(self._input)

    def _inflate(self, size: int) -> bytes:
        self._begun = self._begun or bool(self._input)
        # An error takes with it what the same call had made of the data before it; so go back, and up to it in halves.
        before = self._engine.copy()
        try:
            data = self._engine.decompress(self._input, size)
        except zlib.error as error:
            half = len(self._input) // 2
            if half == 0:
                self._broken = str(error)
                return b""
            self._engine = before
            rest, self._input = self._input[half:], self._input[:half]
            data = self._inflate(size)
            self._input += rest
            return data
        self._input = self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail
        return data

    def _next_member(self) -> bool:
        """Go on with the next one of several gzip files in one; what follows a zlib stream does not count."""
        if self._window_bits == zlib.MAX_WBITS or not (self._input or self._more()):
            return False
        self._engine = zlib.decompressobj(self._window_bits)
        return True

    def most(self) -> int | None:
        most = self._source.most()
        return None if most is None else most * _MOST_INFLATED

    def close(self) -> None:
        self._source.close()


def remote_file(name: bytes, mode: str) -> Any:
    try:
        import fsspec  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        text = f"reading and writing {os.fsdecode(name)} needs fsspec: pip install 'queue-runner[remote]'"
        raise ImportError(text) from error
    return fsspec.open(os.fsdecode(name), mode).open()


_OS_ERRORS: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
}
# Remote file systems raise these without a number.
_NUMBERS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    PermissionError: errno.EACCES,
}


def os_error(name: bytes, error: OSError) -> OpError:
    """The pipeline's error for an OSError, with the text that TensorFlow gives it."""
    number = error.errno or next((number for kind, number in _NUMBERS.items() if isinstance(error, kind)), None)
    text = error.strerror or (str(error) if number is None else os.strerror(number))
    return _OS_ERRORS.get(number, UnknownError)(None, None, f"{os.fsdecode(name)}; {text}")


def translated(name: bytes, error: Exception) -> Exception:
    """The error to raise for one of opening, reading or writing `name`; ImportErrors stay as they are."""
    if isinstance(error, (OpError, ImportError)):
        return error
    if isinstance(error, OSError):
        return os_error(name, error)
    kind = InvalidArgumentError if isinstance(error, ValueError) else UnknownError
    return kind(None, None, f"{os.fsdecode(name)}; {type(error).__name__}: {error}")
