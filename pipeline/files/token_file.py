"""TokenFile: one file with token ids, mapped into memory: raw, .npy, llm.c's, or Megatron's .bin next to its .idx."""

from __future__ import annotations

import os
import stat
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, FailedPreconditionError, invalid
from pipeline.files.npy import checked_header
from pipeline.files.os_errors import translated

# Megatron's index: this mark, the version, the dtype code, the sequence count, and the count of document boundaries
# (one more than documents). Then lengths (int32), byte offsets (int64), boundaries (int64).
MEGATRON = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")
CODES = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 6: "f8", 7: "f4", 8: "u2"}

# llm.c's header has 256 numbers (int32): a mark from this dict, the version, the token count.
_LLM_C = {20240520: "u2", 20240801: "u4"}
_LLM_C_BYTES = 1024

_NPY = b"\x93NUMPY"


class _Layout(NamedTuple):
    """A file's dtype, and its tokens' offset and size in bytes."""

    dtype: np.dtype[Any]
    start: int
    size: int


class TokenFile:
    """One file with token ids.

    Thread safety: every method may be called from any thread.

    Args:
        name: Its path.
        dtype: The ids' dtype in a raw file; None if the file records it.

    Attributes:
        count: Number of tokens.

    Raises:
        NotFoundError, ...: The file, or the index next to it, cannot be read.
        DataLossError: It is damaged, or ends within a token, or its index belongs to another file.
        InvalidArgumentError: It is raw and there is no `dtype`, or it records another dtype, or holds no integers.
    """

    def __init__(self, name: str, dtype: np.dtype[Any] | None) -> None:
        self.name = name
        self._index: str | None = None
        begin, status = _begin_of(name)
        self._status = status.st_size, status.st_mtime_ns
        layout = self._layout(begin, status.st_size, dtype)
        self.dtype, self._start = layout.dtype, layout.start
        if self.dtype.kind not in "iu" or not self.dtype.isnative:
            raise invalid(f"tokens: '{name}' holds {self.dtype}: expected integers in this machine's byte order")
        if dtype is not None and dtype != self.dtype:
            raise invalid(f"tokens: '{name}' holds {self.dtype}, and dtype= is {dtype}: leave dtype= out")
        self.count, rest = divmod(layout.size, self.dtype.itemsize)
        if rest:
            whole = self._start + self.count * self.dtype.itemsize
            text = f"'{name}': at byte {whole:,} the file ends after {rest} of the {self.dtype.itemsize} bytes of a"
            raise _loss(f"{text} token of {self.dtype}")
        self._tokens: NDArray[Any] | None = None
        if self._index is not None:
            _check_size(self._index, name, self.dtype, status.st_size)

    def tokens(self) -> NDArray[Any]:
        """Map the file and return its tokens.

        Raises:
            FailedPreconditionError: The file was changed after this object was made.
        """
        self.check()
        if self._tokens is None:
            flat = np.memmap(self.name, np.uint8, "r") if self.count else np.empty(0, np.uint8)
            found = np.asarray(flat)[self._start : self._start + self.count * self.dtype.itemsize]
            self._tokens = found.view(self.dtype)
        return self._tokens

    def check(self) -> None:
        """Raise FailedPreconditionError if the file was changed after this object was made."""
        status = _status_of(self.name)
        if (status.st_size, status.st_mtime_ns) != self._status:
            text = f"tokens: '{self.name}' had {self._status[0]:,} bytes when the dataset was made and was changed "
            raise FailedPreconditionError(None, None, f"{text}since: make another one")

    def documents(self) -> NDArray[np.int64]:
        """Return document starts in tokens, and the end of the last document.

        Raises:
            InvalidArgumentError: The file has no document boundaries.
            DataLossError: The index is damaged.
        """
        if self._index is None:
            text = f"tokens: '{self.name}' does not tell where documents end: that takes Megatron's .idx beside a .bin"
            raise invalid(f"{text}, as pipeline.write_tokens(..., index=True) writes it")
        return _documents(self._index, self.dtype, self.count)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tokens": None}  # a map would be pickled with all its bytes

    def _layout(self, begin: bytes, size: int, dtype: np.dtype[Any] | None) -> _Layout:
        if begin.startswith(_NPY):
            return _npy(self.name, size)
        if self.name.endswith(".idx") and begin.startswith(MEGATRON):
            raise invalid(f"tokens: '{self.name}' is an index: pass the path of its tokens, '{self.name[:-4]}.bin'")
        index = f"{self.name[:-4]}.idx"
        if self.name.endswith(".bin") and os.path.exists(index):
            self._index = index
            return _Layout(_read_header(index)[0], 0, size)
        if len(begin) >= 12:
            magic, version, count = struct.unpack("<iii", begin[:12])
            known = np.dtype(_LLM_C.get(magic, "u1"))
            if magic in _LLM_C and size == _LLM_C_BYTES + count * known.itemsize:
                return _Layout(known, _LLM_C_BYTES, size - _LLM_C_BYTES)
            if magic in _LLM_C and version == 1:  # no raw file begins with both
                told = (
                    f"the header of llm.c has {count:,} tokens of {known}, which take {count * known.itemsize:,} bytes"
                )
                raise _loss(f"'{self.name}': {told}, and {size - _LLM_C_BYTES:,} follow")
        if dtype is None:
            text = f"tokens: '{self.name}' is a raw file, which does not tell its dtype: pass dtype="
            raise invalid(f"{text}, such as dtype='uint16' for nanoGPT's files")
        return _Layout(dtype, 0, size)


def _status_of(name: str) -> os.stat_result:
    try:
        return os.stat(name)
    except OSError as error:
        raise translated(os.fsencode(name), error) from error


def _begin_of(name: str) -> tuple[bytes, os.stat_result]:
    """Return a file's first bytes, and its size and time."""
    if "://" in name:
        raise invalid(f"tokens: '{name}' is a URL, and only local files can be mapped: download it first")
    status = _status_of(name)
    if not stat.S_ISREG(status.st_mode):
        raise invalid(f"tokens: '{name}' is not a regular file")
    try:
        with open(name, "rb") as file:
            return file.read(16), os.fstat(file.fileno())
    except OSError as error:
        raise translated(os.fsencode(name), error) from error


def _npy(name: str, size: int) -> _Layout:
    with open(name, "rb") as file:
        dtype, shape, _, start = checked_header(file, size, f"tokens: '{name}'")
    if len(shape) != 1:
        raise invalid(f"tokens: '{name}' has shape {shape}, not one dimension: read its rows by pipeline.arrays")
    return _Layout(dtype, start, shape[0] * dtype.itemsize)


def _read_header(index: str) -> tuple[np.dtype[Any], int, int]:
    """Return a Megatron index's dtype, sequence count and boundary count."""
    try:
        with open(index, "rb") as file:
            begin, size = file.read(HEADER.size), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise translated(os.fsencode(index), error) from error
    if len(begin) < HEADER.size or not begin.startswith(MEGATRON):
        raise _loss(f"'{index}': at byte 0 there is no header of a Megatron index: rename it if it is something else")
    _, version, code, sequences, boundaries = HEADER.unpack(begin)
    if version != 1 or code not in CODES:
        raise _loss(f"'{index}': expected version 1 and a code of a dtype from 1 to 8, got {version} and {code}")
    needed = HEADER.size + 12 * sequences + 8 * boundaries
    if size not in (needed, needed + sequences):  # with several kinds of data, one more byte per sequence
        text = f"'{index}' has {size:,} bytes, and {sequences:,} sequences with {boundaries:,} boundaries of documents"
        raise _loss(f"{text} take {needed:,}")
    return np.dtype(CODES[code]), sequences, boundaries


def _sequences(index: str) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return sequence lengths in tokens, byte offsets, and document boundaries."""
    _, sequences, boundaries = _read_header(index)
    flat = np.asarray(np.memmap(index, np.uint8, "r"))
    places = HEADER.size + 4 * sequences
    ends = places + 8 * sequences
    return (
        np.frombuffer(flat, "<i4", sequences, HEADER.size),
        np.frombuffer(flat, "<i8", sequences, places),
        np.frombuffer(flat, "<i8", boundaries, ends),
    )


def _check_size(index: str, name: str, dtype: np.dtype[Any], size: int) -> None:
    """Reject an index whose end differs from the file's."""
    lengths, places, _ = _sequences(index)
    end = int(places[-1]) + int(lengths[-1]) * dtype.itemsize if len(lengths) else 0
    if end != size:
        raise _loss(f"'{index}' does not fit '{name}': its last sequence ends at byte {end:,}, the file at {size:,}")


def _documents(index: str, dtype: np.dtype[Any], count: int) -> NDArray[np.int64]:
    lengths, places, boundaries = _sequences(index)
    begins = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=begins[1:])
    odd = np.flatnonzero((lengths < 0) | (places != begins[:-1] * dtype.itemsize))
    if len(odd):
        at = HEADER.size + 4 * int(odd[0])
        text = f"'{index}': sequence {odd[0]:,}, whose length is at byte {at:,}, does not begin where the one before"
        raise _loss(f"{text} it ends")
    if not len(boundaries) or boundaries[0] != 0 or boundaries[-1] != len(lengths) or (np.diff(boundaries) < 0).any():
        raise _loss(f"'{index}': the boundaries of documents do not ascend from 0 to its {len(lengths):,} sequences")
    found: NDArray[np.int64] = begins[boundaries]
    return found


def _loss(text: str) -> DataLossError:
    return DataLossError(None, None, f"tokens: {text}")
