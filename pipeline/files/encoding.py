"""Encodings for text files: conversion to UTF-8 while reading, and detection from bytes."""

from __future__ import annotations

import codecs
import os
from typing import Any

from pipeline.errors import DataLossError, invalid
from pipeline.files.compression import OpenFile

UTF_8 = "utf-8"  # as Python's codecs spell it
MARK = codecs.BOM_UTF8  # some programs put it in front of UTF-8

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# First bytes in files with other formats, and how to read them.
_FORMATS = {
    b"PAR1\x15": "a Parquet file: use pipeline.parquet",
    b"ARROW1\x00\x00": "a Feather file: use pipeline.feather",
    b"FEA1\x00": "a Feather file of version 1: write it in version 2, and use pipeline.feather",
    b"\x1f\x8b": "compressed by gzip: rename it to *.gz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: rename it to *.zst",
    b"\xfd7zXZ\x00": "compressed by xz: rename it to *.xz",
    b"BZh91AY&SY": "compressed by bzip2: rename it to *.bz2",
    b"PK\x03\x04": "a zip file, or an Excel workbook: save its sheets as CSV",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x93NUMPY": "a .npy file: use pipeline.arrays",
}
LONGEST_MARK = max(map(len, _FORMATS))


def checked_encoding(encoding: Any, function: str, raw: bool = True) -> str | None:
    """Return Python's name for an encoding; None, for bytes, if `raw` allows it.

    Raises:
        TypeError: It is not a string.
        InvalidArgumentError: There is no such text encoding.
    """
    if encoding is None and raw:
        return None
    if not isinstance(encoding, str):
        raise TypeError(f"{function}: encoding must be a string, such as 'latin-1', not {encoding!r:.80}")
    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise invalid(f"{function}: encoding: there is no encoding of text {encoding!r:.80}") from error


def is_converted(encoding: str | None) -> bool:
    """Return whether files with an encoding are converted to UTF-8 while they are read."""
    return encoding not in (None, UTF_8)


def encoding_fact(encoding: str | None) -> dict[str, str]:
    """Return an encoding's entry in states; empty by default."""
    return {} if encoding == UTF_8 else {"encoding": encoding or "bytes"}


def refuse_utf_16(begin: bytes, name: str, function: str) -> None:
    """Raise InvalidArgumentError if a file read as UTF-8 begins with UTF-16's mark: its lines would be wrong."""
    if begin.startswith(_MARKS):
        raise invalid(f"{function}: {name} is in UTF-16: pass encoding='utf-16'")


def refuse_binary(begin: bytes, name: str, function: str) -> None:
    """As `refuse_utf_16`, and also for other formats with bytes at the start that begin no line of text."""
    refuse_utf_16(begin, name, function)
    for mark, what in _FORMATS.items():
        if begin.startswith(mark):
            raise invalid(f"{function}: {name} is {what.replace('*', name)}")


def likely_encoding(text: bytes) -> str:
    """Return hints for text in an encoding other than UTF-8."""
    if 0 not in text:
        return "pass encoding=, such as 'latin-1' or 'cp1252'"
    little, big = (text[first::2].count(0) * 4 for first in (1, 0))  # all in Latin text; else digits and blanks
    if max(little, big) < max(len(text) // 2, 8):
        return "it has bytes of zero, which no text has"
    return f"it looks like UTF-16: pass encoding='utf-16-{'le' if little >= big else 'be'}'"


class InUtf8:
    """An open file's text, converted to UTF-8.

    Args:
        name: For errors.
        file: The open file.
        encoding: Its encoding.
    """

    def __init__(self, name: bytes, file: OpenFile, encoding: str) -> None:
        self._name, self._file, self._encoding = name, file, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._before = 0  # bytes already decoded
        self._rest = b""

    def read(self, size: int) -> bytes:
        while not self._rest:
            piece = self._file.read(size)
            try:
                text = self._decoder.decode(piece, final=not piece)
                self._rest = text.encode()
            except UnicodeError as error:
                raise self._failure(error) from error
            self._before += len(piece)
            if not piece:
                break
        given, self._rest = self._rest[:size], self._rest[size:]
        return given

    def _failure(self, error: UnicodeError) -> DataLossError:
        why = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
        name, place = os.fsdecode(self._name), f"after byte {self._before:,}"
        return DataLossError(None, None, f"{name} cannot be read by encoding={self._encoding!r}: {why} {place}")

    def size_limit(self) -> int | None:
        return None

    def seek(self, offset: int) -> bool:
        return False

    def identity(self, ends: bool) -> list[Any] | None:
        return self._file.identity(ends)

    def close(self) -> None:
        self._file.close()
