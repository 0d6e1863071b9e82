"""gzip and zlib: decompresses a file while it is read, however large it becomes."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

from pipeline.errors import DataLossError

if TYPE_CHECKING:
    from pipeline.files.opening import OpenFile

# What zlib.decompressobj and zlib.compressobj call the formats: the window size, plus 16 for gzip's header.
WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}

_LARGEST_RATIO = 1032  # bytes that one byte of a deflate stream can become: two bits can repeat 258 bytes
_PIECE = 1 << 16  # bytes read at once


class DecompressedFile:
    """The decompressed bytes of an open file. Holds one piece at a time, however well the file compresses."""

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
                # Ask the engine before believing that this is the end: without input it may still have output.
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
        # A call that fails loses the output for the data before the error; go back and approach the error in halves.
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
        """Start the next member of a gzip file that has several; what follows a zlib stream is ignored."""
        if self._window_bits == zlib.MAX_WBITS or not (self._input or self._more()):
            return False
        self._engine = zlib.decompressobj(self._window_bits)
        return True

    def size_limit(self) -> int | None:
        limit = self._file.size_limit()
        return None if limit is None else limit * _LARGEST_RATIO

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._file.identity(ends)

    def close(self) -> None:
        self._file.close()
