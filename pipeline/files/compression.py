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
        return DecompressedFile(_Packed(name, file, compression), WINDOW_BITS[compression])
    if compression in _ENGINES:
        return UnpackedFile(_Packed(name, file, compression), _engine(compression))
    return file


class _Packed:
    """An open compressed file: its next bytes, and the error if they are damaged."""

    def __init__(self, name: bytes, file: OpenFile, compression: str) -> None:
        self.file, self._name, self._compression = file, os.fsdecode(name), compression.lower()
        self._end = 0  # bytes read so far

    def piece(self) -> bytes:
        """Return the next bytes; b"" at the end."""
        found = self.file.read(_PIECE)
        self._end += len(found)
        return found

    def after_padding(self, piece: bytes) -> bytes:
        """Return a piece without leading zeros, or the next piece with other bytes."""
        while not (rest := piece.lstrip(b"\0")):
            piece = self.piece()
            if not piece:
                break
        return rest

    def damage(self, why: str, left: int, begun: bool) -> DataLossError:
        """Return the error for damaged data.

        Args:
            why: The reason in the words of the library.
            left: How many bytes of the pieces follow the damage.
            begun: False if the file's beginning is damaged.
        """
        what = "is damaged" if begun else f"is damaged, or not compressed by {self._compression}"
        text = f"{self._name} {what}: it cannot be decompressed beyond byte {self._end - left:,}: {why}"
        return DataLossError(None, None, text)


class DecompressedFile:
    """An open file's inflated bytes, one piece in memory at a time, even for very compressible files."""

    def __init__(self, packed: _Packed, window_bits: int) -> None:
        self._packed = packed
        self._window_bits = window_bits
        self._engine = zlib.decompressobj(window_bits)
        self._begun = False  # the engine has seen data
        self._read = False  # some data was inflated
        self._input = b""
        self._broken = ""

    def read(self, size: int) -> bytes:
        while not self._broken:
            if self._engine.eof and not self._next_member():
                return b""
            if not self._input:
                # Check the engine before treating this as the end: without input it may still have output.
                self._input = self._packed.piece()
            data = self._inflate(size)
            if data:
                self._read = True
                return data
            if not self._input and not self._engine.eof and not self._more():
                if not self._begun:
                    return b""
                self._broken = "the compressed data ends too early"
        raise self._packed.damage(self._broken, len(self._input), self._read)

    def _more(self) -> bool:
        self._input = self._packed.piece()
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
                self._broken = str(error).rpartition(": ")[2]
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
        self._input = self._packed.after_padding(self._input)
        if self._input:
            self._engine = zlib.decompressobj(self._window_bits)
        return bool(self._input)

    def size_limit(self) -> int | None:
        limit = self._packed.file.size_limit()
        return None if limit is None else limit * _LARGEST_RATIO

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._packed.file.identity(ends)

    def close(self) -> None:
        self._packed.file.close()


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

    def __init__(self, packed: _Packed, make: Callable[[], _Engine]) -> None:
        self._packed = packed
        self._make = make
        self._engine = make()
        self._rest = b""  # read after the end of a stream
        self._begun = self._read = False  # this stream, and some data of the file

    def read(self, size: int) -> bytes:
        while True:
            if self._engine.eof:
                rest = self._packed.after_padding(self._engine.unused_data)
                self._rest, self._engine, self._begun = rest, self._make(), False
            piece = b""
            if self._engine.needs_input:
                piece = self._rest or self._packed.piece()
                if not piece:
                    if self._begun:
                        raise self._packed.damage("the compressed data ends too early", 0, True)
                    return b""
                self._rest, self._begun = b"", True
            try:
                data = self._engine.decompress(piece, size)
            except Exception as error:  # each library has its own class
                raise self._packed.damage(str(error), len(piece), self._read) from error
            if data:
                self._read = True
                return data

    def size_limit(self) -> int | None:
        return None  # unbounded: zeros compress to a few bytes

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._packed.file.identity(ends)

    def close(self) -> None:
        self._packed.file.close()
