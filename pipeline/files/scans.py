"""Scans: find the start of each line in a text file, or of each record in a TFRecord file; see Offsets."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pipeline._lines import LineScanner, RecordScanner
from pipeline.errors import DataLossError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.crc32c import crc_function
from pipeline.files.opening import open_file
from pipeline.files.os_errors import translated
from pipeline.files.read_buffer import ReadBuffer
from pipeline.files.tfrecord_cutter import RecordCutter

_PIECE = 1 << 20  # bytes read at once
_MARK = b"\xef\xbb\xbf"  # some programs put it in front of UTF-8


def line_offsets(name: str) -> NDArray[np.int64]:
    r"""Find a file's lines, as `text` splits them: a remainder at the end is no line if it is empty or `\r`."""
    return _lines(name, LineScanner(True))


def filled_line_offsets(name: str) -> NDArray[np.int64]:
    """Find a file's non-blank lines, after any byte order mark."""
    with open(name, "rb") as file:
        begin = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
    return _lines(name, LineScanner(False, begin), begin)


def record_offsets(name: str) -> NDArray[np.int64]:
    """Find a TFRecord file's records by their lengths.

    Raises:
        DataLossError: The lengths do not lead to the file's end.
    """
    size = os.stat(name).st_size
    scanner = RecordScanner(size)
    with open(name, "rb", buffering=0) as file:
        whole = True
        while whole and scanner.next + 16 <= size:
            place = scanner.next
            whole = scanner.add(os.pread(file.fileno(), _PIECE, place), place) and scanner.next > place
    if scanner.next != size:
        _raise_damage(name)
    return np.append(np.frombuffer(scanner.finished(), np.int64), scanner.next)


def refuse_others(names: list[str], function: str) -> None:
    """Reject index=True for compressed or remote files.

    Raises:
        InvalidArgumentError: There is one.
    """
    for name in names:
        if "://" in name:
            raise invalid(f"{function}: index=True takes local files, and '{name}' is a URL: leave out index=")
        if compression_of(name):
            text = f"{function}: index=True takes files that are not compressed, and '{name}' is by its name"
            raise invalid(f"{text}: leave out index=, or decompress it")
        if not os.path.isfile(name):
            raise invalid(f"{function}: index=True takes regular files, and '{name}' is none: leave out index=")


def _lines(name: str, scanner: LineScanner, begin: int = 0) -> NDArray[np.int64]:
    last, end = 0, begin
    for piece in _pieces(name, begin):
        scanner.add(piece)
        last, end = piece[-1], end + len(piece)
    counts = not (end - scanner.rest == 1 and last == ord("\r"))
    begins = np.frombuffer(scanner.finished(counts), np.int64)
    return np.append(begins, end)


def _pieces(name: str, begin: int) -> Iterator[memoryview]:
    """Yield a file's bytes in pieces, each valid until the next."""
    memory = memoryview(bytearray(_PIECE))
    try:
        with open(name, "rb", buffering=0) as file:
            file.seek(begin)
            while count := file.readinto(memory):
                yield memory[:count]
    except OSError as error:
        raise translated(os.fsencode(name), error) from error


def _raise_damage(name: str) -> None:
    """Read a file up to its damage, for a better error."""
    buffer = ReadBuffer(open_file(os.fsencode(name), ""))
    try:
        cutter = RecordCutter(crc_function(), 1 << 62, True)
        while cutter.cut(buffer, os.fsencode(name))[0]:
            pass
    finally:
        buffer.file.close()
    raise DataLossError(None, None, f"tfrecord: '{name}' was changed while its index was made")
