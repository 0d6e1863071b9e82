"""The file formats that `python -m pipeline feed --format` knows, and the reader for each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.errors import DataLossError
from pipeline.files.tfrecord import HEADER
from pipeline.readers import fixed, tfrecord
from pipeline.readers.base import ReaderBase
from pipeline.readers.text import TextLineReader
from pipeline.readers.whole import WholeFileReader

HELP = "lines, csv, tfrecord, fixed:N (records of N bytes), or files (each file is one example)"
TEXT = ("lines", "csv")


def record_bytes(given: str) -> int | None:
    """Return the N of "fixed:N"; None for another format.

    Raises:
        ValueError: The format is unknown.
    """
    name, colon, number = given.partition(":")
    if name == "fixed" and number.isascii() and number.isdigit() and int(number) > 0:
        return int(number)
    if colon or name not in (*TEXT, "tfrecord", "files"):
        raise ValueError(f"--format must be one of {HELP}; got {given!r}")
    return None


def make_reader(given: str, skip_header_lines: int) -> ReaderBase:
    """Return a reader for a format; ImportError if it needs an extra that is not installed."""
    size = record_bytes(given)
    if size is not None:
        return FixedLengthRecordReader(size)
    if given == "tfrecord":
        return TFRecordReader()
    return WholeFileReader() if given == "files" else TextLineReader(skip_header_lines)


class FixedLengthRecordReader(fixed.FixedLengthRecordReader):
    """For the command, a file that ends within a record is cut short; TensorFlow leaves that record out.

    The classes here are called what their bases are called, since saved states say of which class a reader is.
    """

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        if self._file.has(1) and not self._file.has(self._needed):
            at = f"{self._file.offset} of {os.fsdecode(self._work_item)}"
            raise DataLossError(None, None, f"truncated record at {at}: the file ends within its {self._needed} bytes")
        return super()._cut(wanted)


class TFRecordReader(tfrecord.TFRecordReader):
    """For the command, a file that ends within the header of a record is cut short; for TensorFlow it is complete."""

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        if self._file.has(1) and not self._file.has(HEADER.size):
            at = f"{self._file.offset} of {os.fsdecode(self._work_item)}"
            text = f"truncated record at {at}: the file ends within its first {HEADER.size} bytes"
            raise DataLossError(None, None, text)
        return super()._cut(wanted)
