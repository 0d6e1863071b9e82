"""gzip, zlib, bzip2, xz and zstd: decompress a file while reading it, whatever its decompressed size."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from pipeline.errors import DataLossError

# Formats in zlib.decompressobj and zlib.compressobj: the window size, plus 16 for gzip's header.
WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}

# Compression by file extension.
_ENDINGS = {".gz": "GZIP", ".tgz": "GZIP", ".bz2": "BZIP2", ".xz": "XZ", ".zst": "ZSTD", ".zstd": "ZSTD"}

# Modules and their classes for decompressing one stream.
_ENGINES = {
    "BZIP2": ("bz2", "BZ2Decompressor"),
    "XZ": ("lzma", "LZMADecompressor"),
    "ZSTD": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "ZstdDecompressor"),
}

_LARGEST_RATIO = 1032  # largest expansion per byte in a deflate stream: two bits can repeat 258 bytes
_PIECE = 1 << 16  # bytes read at once


class OpenFile(Protocol):
    """One file's bytes, from start to end. For one thread at a time."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, at least one unless this is the end; OpError if reading fails."""

    def size_limit(self) -> int | None:
        """Return an upper bound for the whole file's size in bytes; None if unknown."""

    def seek(self, offset: int) -> bool:
        """Go to a byte, counted from the start; return False, without moving, if that is impossible."""

    def identity(self, ends: bool) -> list[Any] | None:
        """Return the file's identity without moving in the file; see `file_identity`."""

    def close(self) -> None:
        """Close the file; closing it again is allowed."""


def compression_of(name: str) -> str:
    """Return a file's compression by extension: "GZIP", "BZIP2", "XZ", "ZSTD", or "" for none."""
    return next((kind for ending, kind in _ENDINGS.items() if name.lower().endswith(ending)), "")


def decompressed(name: bytes, file: OpenFile, compression: str) -> OpenFile:
    """Return an open file decompressed, or unchanged for an unknown compression.

    Raises:
        ImportError: A library is missing, such as backports.zstd for "ZSTD" before Python 3.14.
    """
    if compression in WINDOW_BITS:
        return DecompressedFile(name, file, WINDOW_BITS[compression])
    if compression in _ENGINES:
        return UnpackedFile(name, file, _engine(compression))
    return file


class DecompressedFile:
    """An open file's inflated bytes, one piece in memory at a time, even for very compressible files."""

    def __init__(self, name: bytes, file: OpenFile, window_bits: int) -> None:
        self._name = name
        self._file = file
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
                # Check the engine before treating this as the end: without input it may still have output.
                self._input = self._file.read(_PIECE)
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
        self._input = self._file.read(_PIECE)
        return bool(self._input)

    def _inflate(self, size: int) -> bytes:
        self._begun = self._begun or bool(self._input)
        # A failing call loses the output for the data before the error; go back and approach the error in halves.
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
        """Start a file's next member; zeros may separate and follow members."""
        self._input = after_padding(self._input, self._file)
        if self._input:
            self._engine = zlib.decompressobj(self._window_bits)
        return bool(self._input)

    def size_limit(self) -> int | None:
        limit = self._file.size_limit()
        return None if limit is None else limit * _LARGEST_RATIO

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._file.identity(ends)

    def close(self) -> None:
        self._file.close()


def after_padding(piece: bytes, file: OpenFile) -> bytes:
    """Return a piece without leading zeros, or the next piece with other bytes."""
    while not (rest := piece.lstrip(b"\0")):
        piece = file.read(_PIECE)
        if not piece:
            break
    return rest


class _Engine(Protocol):
    """Decompresses one stream, as `bz2.BZ2Decompressor` does."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take more input from the stream, and return up to `max_length` decompressed bytes."""


def _engine(compression: str) -> Callable[[], _Engine]:
    module, name = _ENGINES[compression]
    try:
        engine: Callable[[], _Engine] = getattr(import_module(module), name)
    except ImportError as error:
        hint = f": pip install {module}" if module == "backports.zstd" else ", which this Python lacks"
        raise ImportError(f"files compressed by {compression.lower()} need {module}{hint}") from error
    return engine


class UnpackedFile:
    """An open file's decompressed bytes: one stream, or several with nothing or zeros between them.

    Memory holds one call's result and the engine's own state.
    """

    def __init__(self, name: bytes, file: OpenFile, make: Callable[[], _Engine]) -> None:
        self._name = name
        self._file = file
        self._make = make
        self._engine = make()
        self._rest = b""  # read after the end of a stream
        self._begun = False

    def read(self, size: int) -> bytes:
        while True:
            if self._engine.eof:
                rest = after_padding(self._engine.unused_data, self._file)
                self._rest, self._engine, self._begun = rest, self._make(), False
            piece = b""
            if self._engine.needs_input:
                piece = self._rest or self._file.read(_PIECE)
                if not piece:
                    if self._begun:
                        raise self._failure("the compressed data ends too early")
                    return b""
                self._rest, self._begun = b"", True
            try:
                data = self._engine.decompress(piece, size)
            except Exception as error:  # each library has its own class
                raise self._failure(str(error)) from error
            if data:
                return data

    def _failure(self, why: str) -> DataLossError:
        return DataLossError(None, None, f"{os.fsdecode(self._name)} cannot be decompressed: {why}")

    def size_limit(self) -> int | None:
        return None  # unbounded: zeros compress to a few bytes

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._file.identity(ends)

    def close(self) -> None:
        self._file.close()
