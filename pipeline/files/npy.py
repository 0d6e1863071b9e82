"""NpyFile: a `.npy` file's rows, read by index; its header is validated before use."""

from __future__ import annotations

import functools
import io
import math
import os
import stat
import struct
import sys
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import read_rows
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, OpError
from pipeline.files.os_errors import translated

# Maximum number of empty rows in a file: they take no bytes, so its size does not limit them.
_MOST_EMPTY = 1 << 24

_MOST_DIMENSIONS = 64  # NumPy's limit

# Maximum header size in bytes, as in NumPy.
_LONGEST = 10_000


class NpyFile:
    """An open `.npy` file with an array's row access: `file[numbers]` reads rows by index.

    Thread safety: every method may be called from any thread.

    Args:
        name: Its path.
        where: Prefix for error messages.

    Raises:
        NotFoundError, ...: It cannot be opened.
        DataLossError: It is not a `.npy` file, or is shorter than its header claims.
        InvalidArgumentError: It holds Python objects.
    """

    def __init__(self, name: bytes, where: str) -> None:
        self._name, self._where = name, f"{where}: {os.fsdecode(name)}"
        try:
            self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            weakref.finalize(self, os.close, self._file).atexit = False  # a thread may still read at exit
            with open(self._file, "rb", closefd=False) as file:
                status = os.fstat(self._file)
                size = status.st_size if stat.S_ISREG(status.st_mode) else 0
                self._changed = status.st_size, status.st_mtime_ns
                self.dtype, self.shape, self.fortran, self._start = checked_header(file, size, self._where)
        except OSError as error:
            raise translated(name, error) from error

    @property
    def nbytes(self) -> int:
        """The size of its values in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Read rows by index.

        Raises:
            DataLossError: The file has become shorter.
            FailedPreconditionError: It was modified after it was opened.
        """
        rows = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        if rows.nbytes:
            numbers = np.ascontiguousarray(numbers, np.int64)
            count = self._read(numbers, rows.reshape(-1).view(np.uint8))
            if count < len(numbers):
                raise DataLossError(
                    None, None, f"{self._where}: the file was cut short: row {numbers[count]} is missing"
                )
            status = os.fstat(self._file)
            if status.st_size < self._changed[0]:
                whole = max(0, status.st_size - self._start) // (rows.nbytes // len(rows))
                raise DataLossError(None, None, f"{self._where}: the file was cut short: row {whole} is missing")
            if (status.st_size, status.st_mtime_ns) != self._changed:
                text = f"{self._where} was written to since the dataset was made: make another one"
                raise FailedPreconditionError(None, None, text)
        return rows

    def whole(self) -> NDArray[Any]:
        """Read the array. DataLossError if the file has become shorter."""
        layout = Layout(self.dtype, self.shape, self.fortran)
        return filled(layout, lambda out: len(out) * self._read(np.zeros(1, np.int64), out), self._where)

    def _read(self, numbers: NDArray[np.int64], out: NDArray[np.uint8]) -> int:
        try:
            return read_rows(self._file, self._start, numbers, out)
        except OSError as error:
            raise translated(self._name, error) from error


class Layout(NamedTuple):
    """How a `.npy` file stores its values.

    Attributes:
        dtype, shape: The array's.
        fortran: True if the first dimension varies fastest.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool


def read_layout(read: Callable[[int], bytes], size: int, where: str) -> Layout:
    """Read a `.npy` file's header.

    Args:
        read: Returns the next bytes.
        size: File size in bytes.
        where: Prefix for error messages.

    Raises:
        DataLossError, InvalidArgumentError: As for `checked_header`; or the file is longer than its header claims.
    """
    head = read(10)
    if head[6:7] in (b"\2", b"\3"):  # the header's length takes four bytes
        head += read(2)
    length = int.from_bytes(head[8:], "little")
    head += read(min(length, _LONGEST + 1))
    try:
        layout = _layout(head)
    except OpError:
        checked_header(io.BytesIO(head), sys.maxsize, where)  # its error has the name
        raise
    if math.prod(layout.shape) * layout.dtype.itemsize != size - len(head):
        raise _other_size(layout.dtype, layout.shape, size - len(head), where)
    return layout


@functools.lru_cache(256)
def _layout(head: bytes) -> Layout:
    """Parse a header. This takes longer than reading a small array."""
    dtype, shape, fortran, _ = checked_header(io.BytesIO(head), sys.maxsize, "")
    return Layout(dtype, shape, fortran)


def filled(layout: Layout, into: Callable[[NDArray[np.uint8]], int], where: str) -> NDArray[Any]:
    """Read the values after a header into an array.

    Args:
        layout: The header's contents.
        into: Copies the values' bytes into an array; returns the byte count.
        where: Prefix for error messages.

    Raises:
        DataLossError: There are too few, or a character does not exist.
    """
    dtype, shape, fortran = layout
    values = np.empty(math.prod(shape), dtype)
    if values.nbytes and into(values.view(np.uint8)) < values.nbytes:
        raise DataLossError(None, None, f"{where}: the file was cut short")
    if dtype.kind == "U" and values.nbytes:
        codes = values.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise DataLossError(None, None, f"{where}: it has a character U+{codes.max():X}, and there is none")
    return values.reshape(shape, order="F" if fortran else "C")


def _other_size(dtype: np.dtype[Any], shape: tuple[int, ...], size: int, where: str) -> DataLossError:
    text = f"{where}: its header says {dtype} of shape {shape}, and {max(0, size):,} bytes follow"
    return DataLossError(None, None, text)


def checked_header(file: BinaryIO, size: int, where: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Read a `.npy` file's header.

    Args:
        file: At its start.
        size: File size in bytes.
        where: Prefix for error messages.

    Returns:
        dtype, shape, whether the first dimension varies fastest, and the values' offset.

    Raises:
        DataLossError: There is no header, or the file is shorter than it claims.
        InvalidArgumentError: It holds Python objects.
        OSError: It cannot be read.
    """
    try:
        shape, fortran, dtype = _header(file)
        if dtype.subdtype is not None:
            raise ValueError(f"values of {dtype}")
    except OSError:
        raise
    except Exception as error:  # NumPy parses it as Python, so any exception can come up
        raise DataLossError(None, None, f"{where}: it is not a .npy file, or its header is damaged: {error}") from error
    start, count = file.tell(), math.prod(shape)
    if dtype.hasobject:
        text = f"{where}: it holds Python objects, which are not unpickled: save numbers or strings"
        raise InvalidArgumentError(None, None, text)
    if min(shape, default=0) < 0 or count * dtype.itemsize > size - start:
        raise _other_size(dtype, shape, size - start, where)
    if len(shape) > _MOST_DIMENSIONS:
        raise DataLossError(None, None, f"{where}: its header says {len(shape)} dimensions, more than arrays have")
    if (count and not dtype.itemsize) or (not count and shape[0] > _MOST_EMPTY):
        raise DataLossError(None, None, f"{where}: its header says {dtype} of shape {shape}, which has no bytes")
    return dtype, shape, fortran and len(shape) > 1, start


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    if version != (3, 0):
        raise ValueError(f"version {version} of the format is not known")
    # NumPy has no function for version 3, which allows any letter in its text: escaped, it is valid version 2.
    (length,) = struct.unpack("<I", file.read(4))
    if length > _LONGEST:
        raise ValueError(f"a header of {length:,} bytes")
    found = file.read(length)
    if len(found) < length:
        raise ValueError(f"it has {length:,} bytes, and {len(found):,} follow")
    text = found.decode().encode("ascii", "backslashreplace")
    return np.lib.format.read_array_header_2_0(io.BytesIO(struct.pack("<I", len(text)) + text))
