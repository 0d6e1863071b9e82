"""Arrays in one file: `.npz` archives, with members read straight into arrays, and `.npy` files."""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
import weakref
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, OpError, invalid
from pipeline.files.inflate import InflateError, crc32, decompressobj
from pipeline.files.limits import too_long
from pipeline.files.npy import filled, read_layout
from pipeline.files.opening import read_whole
from pipeline.files.os_errors import translated

_NPY = np.lib.format.MAGIC_PREFIX

# Before each member: signature, version, flags, method, time, date, CRC, two sizes, and the lengths of name and extra.
_LOCAL = struct.Struct("<4s5H3I2H")
_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED, _UTF_8 = 1, 0x800  # flags

# After the directory: signature, four disk and member counts, and the directory's size and offset. A comment follows.
_END = struct.Struct("<4s4H2IH")
_END_SIGNATURE = b"PK\x05\x06"
_MANY = (1 << 16) - 1  # from this member count on, zip64 has the directory; also the longest comment in bytes

_SMALL = 1 << 16  # files up to this size are read by one call
_PIECE = 1 << 20  # bytes decompressed at once
_CHECKED = 1 << 18  # bytes read before their checksum is computed, while they are in the processor's cache
_LARGEST_RATIO = 1032  # largest expansion per byte in a deflate stream
_WINDOW_BITS = 15  # of zip files, which have no header of zlib


def read_arrays(name: str, keys: Sequence[str] | None, limit: int, verify: bool) -> Any:
    """Read a `.npz` file's arrays as a dict, or a `.npy` file's array. The first bytes decide.

    Args:
        name: A path or URL.
        keys: The arrays to read; None for all.
        limit: Maximum size of the arrays in bytes.
        verify: Check the CRC-32 of each array in an archive.

    Raises:
        NotFoundError, ...: The file cannot be opened or read.
        DataLossError: It is neither, or it is damaged or truncated.
        InvalidArgumentError: It lacks a key, holds Python objects, or has a compression NumPy does not use.
        ResourceExhaustedError: The arrays exceed the limit.
    """
    where = f"npz: {name}"
    file = _opened(name, limit)
    try:
        if file.read(0, len(_NPY)) == _NPY:
            if keys is not None:
                raise invalid(f"{where}: it is a .npy file, which has one array without a key: leave out keys=")
            if file.size > limit:
                raise too_long(f"{where} has", limit)
            return _array(_Stored(file, 0, file.size), file.size, where)
        return _Archive(file, where, verify).arrays(keys, limit)
    except OSError as error:
        if isinstance(error, OpError):
            raise
        raise translated(os.fsencode(name), error) from error


class _Bytes(Protocol):
    """A file's bytes."""

    size: int

    def read(self, begin: int, size: int) -> bytes:
        """Return bytes; fewer at the file's end."""

    def into(self, begin: int, out: NDArray[np.uint8]) -> int:
        """Copy bytes into an array; return the number copied."""

    def as_file(self) -> Any:
        """Return a Python file object."""


class _Memory:
    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    def read(self, begin: int, size: int) -> bytes:
        return self._data[begin : begin + size]

    def into(self, begin: int, out: NDArray[np.uint8]) -> int:
        count = max(0, min(len(out), self.size - begin))
        out[:count] = np.frombuffer(self._data, np.uint8, count, begin) if count else 0
        return count

    def as_file(self) -> Any:
        return io.BytesIO(self._data)


class _Local:
    """An open file, closed once it is unreferenced."""

    def __init__(self, file: int) -> None:
        self._file = file
        weakref.finalize(self, os.close, file).atexit = False
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            kind = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            raise OSError(kind, os.strerror(kind))
        self.size = status.st_size

    def read(self, begin: int, size: int) -> bytes:
        data = os.pread(self._file, size, begin)
        while len(data) < size and (more := os.pread(self._file, size - len(data), begin + len(data))):
            data += more  # a read has at most 2 GiB
        return data

    def into(self, begin: int, out: NDArray[np.uint8]) -> int:
        count = 0
        while count < len(out):
            piece = out[count:]
            if hasattr(os, "preadv"):
                more = os.preadv(self._file, [piece.data], begin + count)
            else:  # some Pythons for macOS
                data = os.pread(self._file, min(len(piece), _PIECE), begin + count)
                more = len(data)
                piece[:more] = np.frombuffer(data, np.uint8)
            if not more:
                break
            count += more
        return count

    def as_file(self) -> Any:
        return open(self._file, "rb", closefd=False)


def _opened(name: str, limit: int) -> _Bytes:
    if "://" in name:
        return _Memory(read_whole(os.fsencode(name), limit))
    try:
        # Without O_NONBLOCK, opening a pipe would block.
        found = _Local(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        return _Memory(found.read(0, found.size)) if found.size <= _SMALL else found
    except (OSError, ValueError) as error:
        raise translated(os.fsencode(name), error) from error


class _Content(Protocol):
    """The bytes of an array's file, from start to end."""

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end."""

    def into(self, out: NDArray[np.uint8]) -> int:
        """Copy the next bytes into an array; return the number copied."""


class _Stored:
    """Bytes stored uncompressed."""

    def __init__(self, file: _Bytes, begin: int, size: int) -> None:
        self._file, self._at, self._end = file, begin, begin + size

    def read(self, size: int) -> bytes:
        data = self._file.read(self._at, min(size, self._end - self._at))
        self._at += len(data)
        return data

    def into(self, out: NDArray[np.uint8]) -> int:
        count = self._file.into(self._at, out[: self._end - self._at])
        self._at += count
        return count


class _Deflated:
    """Bytes decompressed while reading; InflateError if that fails."""

    def __init__(self, file: _Bytes, begin: int, size: int) -> None:
        self._compressed = _Stored(file, begin, size)
        self._engine = decompressobj(-_WINDOW_BITS)
        self._input = b""

    def read(self, size: int) -> bytes:
        pieces = []
        while size and (piece := self._piece(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def into(self, out: NDArray[np.uint8]) -> int:
        count = 0
        while count < len(out) and (piece := self._piece(min(_PIECE, len(out) - count))):
            out[count : count + len(piece)] = np.frombuffer(piece, np.uint8)
            count += len(piece)
        return count

    def _piece(self, size: int) -> bytes:
        while not self._engine.eof:
            self._input = self._input or self._compressed.read(_PIECE)
            last = not self._input  # the engine may still have output then
            piece: bytes = self._engine.decompress(self._input, size)
            self._input = self._engine.unconsumed_tail
            if piece or last:
                return piece
        return b""


class _Checked:
    """Bytes with a CRC-32 of everything read so far."""

    def __init__(self, content: _Content) -> None:
        self._content = content
        self.crc = 0

    def read(self, size: int) -> bytes:
        data = self._content.read(size)
        self.crc = crc32(data, self.crc)
        return data

    def into(self, out: NDArray[np.uint8]) -> int:
        count = 0
        while count < len(out):
            piece = out[count : count + _CHECKED]
            more = self._content.into(piece)
            self.crc = crc32(piece[:more].data, self.crc)
            count += more
            if more < len(piece):
                break
        return count


class _Archive:
    """A zip archive with `.npy` files.

    The standard library reads its directory, but not its members: it would copy each of them twice.
    """

    def __init__(self, file: _Bytes, where: str, verify: bool) -> None:
        self._file, self._where, self._verify = file, where, verify
        try:
            with file.as_file() as opened, zipfile.ZipFile(opened) as archive:
                members = archive.infolist()
        except Exception as error:  # such as BadZipFile, struct.error or a codec error
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # an offset before the start of the file
                raise
            raise _damage(where, f"it is not a .npz or .npy file, or it is damaged: {error}") from error
        claimed = self._claimed()
        if len(members) < claimed < _MANY:
            raise _damage(where, f"its directory has {len(members):,} of {claimed:,} members")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for each in members:
            key = each.filename.removesuffix(".npy")
            if key in self._members:
                raise _damage(where, f"it has {key!r} twice")
            self._members[key] = each

    def _claimed(self) -> int:
        """Return the archive's own member count: `zipfile` accepts any number."""
        begin = max(0, self._file.size - _END.size - _MANY)
        data = self._file.read(begin, self._file.size - begin)
        return int(_END.unpack_from(data, data.rfind(_END_SIGNATURE))[4])

    def arrays(self, keys: Sequence[str] | None, limit: int) -> dict[str, Any]:
        missing = [key for key in keys or () if key not in self._members]
        if missing:
            has = ", ".join(map(repr, self._members)) or "no arrays"
            raise invalid(f"{self._where}: there is no {missing[0]!r}: it has {has:.200}")
        chosen = {key: self._members[key] for key in (self._members if keys is None else keys)}
        if sum(each.file_size for each in chosen.values()) > limit:
            raise too_long(f"{self._where}: its arrays have", limit)
        return {key: self._read(key, each) for key, each in chosen.items()}

    def _read(self, key: str, member: zipfile.ZipInfo) -> NDArray[Any]:
        where = f"{self._where}: {key!r}"
        try:
            content = self._content(member, where)
            checked = _Checked(content) if self._verify else None
            array = _array(checked or content, member.file_size, where)
            ends = not content.read(1)
        except (InflateError, struct.error) as error:  # struct.error: the file has become shorter
            raise _damage(where, f"it cannot be read: {error}") from error
        if not ends:
            raise _damage(where, f"it has more than the {member.file_size:,} bytes of the archive's directory")
        if checked is not None and checked.crc != member.CRC:
            raise _damage(where, "its checksum is wrong")
        return array

    def _content(self, member: zipfile.ZipInfo, where: str) -> _Content:
        """Return a member's bytes, with plausible sizes."""
        place = member.header_offset
        if not 0 <= place <= self._file.size - _LOCAL.size:
            raise _damage(where, "its header is missing")
        signature, _, flags, method, *_, name_size, extra_size = _LOCAL.unpack(self._file.read(place, _LOCAL.size))
        begin = place + _LOCAL.size + name_size + extra_size
        name = self._file.read(place + _LOCAL.size, name_size)
        if signature != _SIGNATURE or method != member.compress_type or name != _name_of(member, flags):
            raise _damage(where, "its header is damaged")
        if (flags | member.flag_bits) & _ENCRYPTED:
            raise invalid(f"{where}: it is encrypted")
        make = _CONTENTS.get(method)
        if make is None:
            raise invalid(f"{where}: it is compressed by method {method} of zip: save it with NumPy")
        most = member.compress_size * (1 if make is _Stored else _LARGEST_RATIO)
        if begin + member.compress_size > self._file.size or member.file_size > most:
            text = f"its {member.file_size:,} bytes should be stored as {member.compress_size:,}"
            raise _damage(where, f"{text}, and {max(0, self._file.size - begin):,} follow in the file")
        return make(self._file, begin, member.compress_size)


_CONTENTS: dict[int, Callable[[_Bytes, int, int], _Content]] = {
    zipfile.ZIP_STORED: _Stored,
    zipfile.ZIP_DEFLATED: _Deflated,
}


def _name_of(member: zipfile.ZipInfo, flags: int) -> bytes:
    """Return a member's name from its own header."""
    return member.orig_filename.encode("utf-8" if flags & _UTF_8 else "cp437", "backslashreplace")


def _array(content: _Content, size: int, where: str) -> NDArray[Any]:
    """Read an array from a file with the given size."""
    layout = read_layout(content.read, size, where)
    return filled(layout, content.into, where)


def _damage(where: str, why: str) -> DataLossError:
    return DataLossError(None, None, f"{where}: {why}")
