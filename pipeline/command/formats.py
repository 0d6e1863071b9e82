"""The file formats for `python -m pipeline feed --format`, and how to detect them."""

from __future__ import annotations

import codecs
import contextlib
import csv
import itertools
import json
import os
import stat
from collections.abc import Sequence
from typing import Any

from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.crc32c import crc_in_python, mask
from pipeline.files.opening import open_file
from pipeline.files.tfrecord import HEADER

HELP = "csv, jsonl, lines, tfrecord, images, fixed:N (records of N bytes), or files (each file is one example)"
TEXT = ("csv", "jsonl", "lines")

_HEAD = 1 << 16  # bytes to look at
_DELIMITERS = ",\t;|"
_MOST = 0.6  # fraction of rows: others may be damaged, which the source reports

# First bytes of files with one example each: images to decode, and other formats.
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF87a", b"GIF89a")
_WHOLE = (b"II*\0", b"MM\0*")
_IMAGE_ENDINGS, _WHOLE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp"), (".webp", ".tif", ".tiff")

# Unsupported files: their first bytes, extensions, format, and the function to read them.
_OTHERS = (
    (b"PAR1", (".parquet",), "a Parquet file", "pipeline.parquet reads it"),
    (b"ARROW1", (".feather", ".arrow"), "a Feather file (Arrow IPC)", "pipeline.feather reads it"),
    (b"\x93NUMPY", (".npy",), "an .npy file", "pipeline.arrays reads it"),
    (b"PK\x03\x04", (".npz", ".zip"), "an .npz file or another zip archive", "pipeline.npz reads .npz files"),
    (b"\x89HDF\r\n", (".h5", ".hdf5"), "an HDF5 file", "pipeline.arrays reads datasets of h5py"),
    (b"\xff\xfe", (), "text in UTF-16", ""),
    (b"\xfe\xff", (), "text in UTF-16", ""),
)

_LOOK_AT = 100  # entries of a folder
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def format_of(files: Sequence[str]) -> str:
    """Return the format of the files, judged by their first bytes or otherwise by their extensions.

    Raises:
        InvalidArgumentError: The formats differ, or `feed` does not read one.
    """
    first, found = "", ""
    for name in files:
        if "://" not in name and os.path.isdir(name):
            raise invalid(f"{name} is a directory: pass its files, such as {_files_in(name)}")
        own = _format_of(name)
        if not found:
            first, found = name, own
        elif own not in ("", found):
            raise invalid(f"{first} would be read as {found}, and {name} as {own}: pass --format, or files of one kind")
    if found in ("", "csv") and any(map(_is_pipe, files)):  # a table is read more than once, first for its types
        return "lines"
    return found or "csv"


def _files_in(folder: str) -> str:
    """Return a pattern for the files in a folder, or in its folders."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        entries = list(itertools.islice(found, _LOOK_AT))
        if entries and all(each.is_dir() for each in entries):
            return os.path.join(folder, "*", "*")
    return os.path.join(folder, "*")


def _format_of(name: str) -> str:
    """Return one file's format; "" if it is empty."""
    head, ending = _head(name), os.path.splitext(name.lower())[1]
    if head is None:
        return _by_ending(name, ending)
    if len(head) >= HEADER.size:
        length, checksum = HEADER.unpack_from(head)
        if mask(crc_in_python(length.to_bytes(8, "little"))) == checksum:
            return "tfrecord"
    if whole := _of_one_example(head):
        return whole
    for magic, kind in _COMPRESSED.items():
        if head.startswith(magic):
            raise _compressed(name, kind)
    if head[257:262] == b"ustar":
        raise _other(name, "a tar archive", "pipeline.webdataset reads it")
    for magic, _, what, reader in _OTHERS:
        if head.startswith(magic):
            raise _other(name, what, reader)
    if ending in (".tfrecord", ".tfrecords"):  # a damaged or empty one
        return "tfrecord"
    if b"\0" in head:
        raise invalid(
            f"{name}: not text, and feed does not know the format from the first bytes: pass --format, {HELP}"
        )
    return _of_text(head, ending) if head else ""


def _of_one_example(head: bytes) -> str:
    """Return the format for a file with one example; "" for others."""
    bitmap = head.startswith(b"BM") and head[6:10] == bytes(4)
    if bitmap or head.startswith(_IMAGES):
        return "images"
    return "files" if head.startswith(_WHOLE) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP") else ""


def _of_text(head: bytes, ending: str) -> str:
    """Return the text format: JSON objects, table rows, or lines."""
    first = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if first.startswith(b"{"):
        with contextlib.suppress(ValueError):
            if isinstance(json.loads(first.splitlines()[0]), dict):
                return "jsonl"
    rows, delimiter = _table(head, 0)
    is_table = delimiter or not rows or ending in (".csv", ".tsv") or any(map(_is_number, rows[0]))
    return "csv" if is_table else "lines"


def csv_form(files: Sequence[str], skip_lines: int) -> dict[str, Any]:
    """Return the options for reading files with `csv`: their delimiter, and column names if there is no header.

    A first line with a number is not a header.

    Raises:
        InvalidArgumentError: No file has a line with data, or a column name comes twice.
    """
    for name in files:
        head = _head_of_url(name) if "://" in name else _head(name)
        if head is None:  # the source raises the error
            return {}
        rows, delimiter = _table(head, skip_lines)
        if rows:
            numbers = any(map(_is_number, rows[0]))
            twice = next((field for field in rows[0] if rows[0].count(field) > 1), None)
            if not numbers and twice is not None:
                data = len(rows) > 1 and any(map(_is_number, rows[1]))  # else the next line would be the names
                skip = f", or leave out the line with --skip-header-lines {skip_lines + 1}" if data else ""
                text = f"{name}: its first line is used as column names, and {twice!r} comes twice: rename a column"
                raise invalid(f"{text}{skip}")
            names = [f"column {i}" for i in range(1, len(rows[0]) + 1)] if numbers else None
            return {"field_delim": delimiter or ",", "names": names}
    raise nothing_in(files, "line with data")


def nothing_in(files: Sequence[str], what: str) -> InvalidArgumentError:
    """Return the error for files with nothing to read."""
    return invalid(f"{files[0]}: no {what} in {'it' if len(files) == 1 else 'any file'}")


def _table(head: bytes, skip_lines: int) -> tuple[list[list[str]], str]:
    """Return a table's first rows, and the delimiter with the most consistent field count; "" if there is none.

    Args:
        head: The file's beginning.
        skip_lines: Lines to skip before the rows.
    """
    lines = head.decode("utf-8-sig", "replace").splitlines(keepends=True)[skip_lines:]
    for delimiter in _DELIMITERS:
        with contextlib.suppress(csv.Error):
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
            rows = rows[:-1] if len(head) == _HEAD and len(rows) > 1 else rows  # the last row may be cut off
            width = len(rows[0]) if rows else 0
            if width > 1 and sum(len(row) == width for row in rows) > _MOST * len(rows):
                return rows, delimiter
    return [[line.strip()] for line in lines if line.strip()], ""


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _by_ending(name: str, ending: str) -> str:
    """Return the format for a file that cannot be read twice, such as a URL or a pipe."""
    if ending in (".tfrecord", ".tfrecords"):
        return "tfrecord"
    if ending in _IMAGE_ENDINGS:
        return "images"
    if ending in _WHOLE_ENDINGS:
        return "files"
    if ending in (".jsonl", ".ndjson"):
        return "jsonl"
    if _is_pipe(name):
        return ""
    if kind := compression_of(name):
        raise _compressed(name, kind.lower())
    if ending == ".tar":
        raise _other(name, "a tar archive", "pipeline.webdataset reads it")
    for _, endings, what, reader in _OTHERS:
        if ending in endings:
            raise _other(name, what, reader)
    return "csv"


def _other(name: str, what: str, reader: str) -> InvalidArgumentError:
    more = f"in a program, {reader}" if reader else "convert it to UTF-8"
    return invalid(f"{name} is {what}, which feed does not read: {more}")


def _compressed(name: str, kind: str) -> InvalidArgumentError:
    return invalid(
        f"{name}: feed does not read text that is compressed by {kind}: decompress it first. "
        "In a program, pipeline.csv and pipeline.text read it"
    )


def _head_of_url(name: str) -> bytes:
    file = open_file(os.fsencode(name))
    try:
        return file.read(_HEAD)
    finally:
        file.close()


def _is_pipe(name: str) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a URL, or not a file
        return stat.S_ISFIFO(os.stat(name).st_mode)
    return False


def _head(name: str) -> bytes | None:
    """Return a file's first bytes; None for a URL, and if it is not a readable file."""
    if "://" in name:
        return None
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            return None
        with open(name, "rb") as file:
            return file.read(_HEAD)
    except (OSError, ValueError):
        return None  # the error is raised when it is read


def refuse_compressed(files: Sequence[str]) -> None:
    """Raise InvalidArgumentError for text with a compressed file's extension."""
    for name in files:
        if kind := compression_of(os.fspath(name)):
            raise _compressed(name, kind.lower())


def record_bytes(given: str) -> int | None:
    """Return N for "fixed:N"; None for another format.

    Raises:
        ValueError: The format is unknown.
    """
    name, colon, number = given.partition(":")
    if name == "fixed" and number.isascii() and number.isdigit() and int(number) > 0:
        return int(number)
    if colon or name not in (*TEXT, "tfrecord", "images", "files"):
        raise ValueError(f"--format must be one of {HELP}; got {given!r}")
    return None
