"""The file formats for `python -m pipeline feed --format`, and how to detect them."""

from __future__ import annotations

import codecs
import contextlib
import csv
import json
import os
import stat
from collections.abc import Sequence
from typing import Any

from pipeline.decode.image.rgb import EXTENSIONS
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.crc32c import crc_in_python, mask
from pipeline.files.opening import open_file
from pipeline.files.os_errors import translated
from pipeline.files.tfrecord import HEADER
from pipeline.sources.paths import expanded

HELP = (
    "csv, jsonl, lines, tfrecord, parquet, feather, npy (rows of an array), npz, tar (WebDataset), images, fixed:N "
    "(records of N bytes), or files (each file is one example)"
)
TEXT = ("csv", "jsonl", "lines")

_NAMES = (*TEXT, "tfrecord", "parquet", "feather", "npy", "npz", "tar", "images", "files")
_DECOMPRESSED = (*TEXT, "tfrecord", "tar")  # by their sources, from the file names

_HEAD = 1 << 16  # bytes to look at
_DELIMITERS = ",\t;|"
_MOST = 0.6  # fraction of rows: others may be damaged, which the source reports

# First bytes by format.
_MAGIC = {
    b"\xff\xd8\xff": "images",
    b"\x89PNG\r\n": "images",
    b"GIF87a": "images",
    b"GIF89a": "images",
    b"II*\0": "images",
    b"MM\0*": "images",
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\x93NUMPY": "npy",
}
_ENDINGS = {
    **dict.fromkeys(EXTENSIONS, "images"),
    **dict.fromkeys((".tfrecord", ".tfrecords"), "tfrecord"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".feather", ".arrow"), "feather"),
    **dict.fromkeys((".tar", ".tgz"), "tar"),
    ".parquet": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}

# Unsupported files: their first bytes, the ends of their names, format, and the function to read them.
_OTHERS = (
    (b"PK\x03\x04", (".zip",), "a zip archive", "pipeline.npz reads .npz files"),
    (b"\x89HDF\r\n", (".h5", ".hdf5"), "an HDF5 file", "pipeline.arrays reads datasets of h5py"),
    (None, (".mds",), "a shard of a MosaicML dataset", "pipeline.mds reads its folder"),
    (None, ("data.mdb", "lock.mdb"), "an LMDB file", "pipeline.lmdb reads its folder"),
    (None, ("zarr.json",), "a part of a Zarr array", "pipeline.arrays reads arrays of zarr"),
    (b"\xff\xfe", (), "text in UTF-16", ""),
    (b"\xfe\xff", (), "text in UTF-16", ""),
)

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_PACKED_ENDINGS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def files_of(given: Sequence[str]) -> list[str]:
    """Return the given files: patterns are expanded, a folder stands for the files in and below it, "-" for stdin.

    Names that begin with a dot or an underscore, such as `_SUCCESS`, are left out of folders.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        InvalidArgumentError: A folder has no files.
    """
    files = []
    for name in given:
        for path in expanded("/dev/stdin" if name == "-" else name, "feed"):
            if "://" in path or not os.path.isdir(path):
                files.append(path)
                continue
            below = [(folder, names) for folder, _, names in os.walk(path, onerror=_refuse, followlinks=True)]
            found = [os.path.join(folder, each) for folder, names in below for each in names if each[0] not in "._"]
            if not found:
                raise invalid(f"{path}: no file in this folder")
            files += sorted(found)
    return files


def _refuse(error: OSError) -> None:
    raise translated(os.fsencode(error.filename), error) from error


def format_of(files: Sequence[str]) -> str:
    """Return the format of the files, judged by their first bytes or otherwise by their extensions.

    Raises:
        InvalidArgumentError: The formats differ, or `feed` does not read one.
    """
    first, found = "", ""
    for name in files:
        own = _format_of(name)
        if not found:
            first, found = name, own
        elif own not in ("", found):
            raise invalid(f"{first} would be read as {found}, and {name} as {own}: pass --format, or files of one kind")
    if found in ("", "csv") and any(map(_is_pipe, files)):  # a table is read more than once, first for its types
        return "lines"
    return found or "csv"


def _format_of(name: str) -> str:
    """Return one file's format; "" if it is empty."""
    kind = compression_of(name).lower()
    ending = os.path.splitext(os.path.splitext(name.lower())[0] if kind else name.lower())[1]
    head = _head(name)
    found = _by_ending(name, ending) if head is None else _by_content(name, head, ending)
    if kind and found and found not in _DECOMPRESSED:
        raise invalid(f"{name}: feed does not read {found} files that are compressed by {kind}: decompress it first")
    return found


def _by_content(name: str, head: bytes, ending: str) -> str:
    if found := _by_first_bytes(head, ending):
        return found
    for magic, kind in _PACKED.items():
        if head.startswith(magic):
            text = f"{name} is compressed by {kind}, but its name does not end in {_PACKED_ENDINGS[kind]}: rename it"
            raise invalid(text)
    binary, known = b"\0" in head, _ENDINGS.get(ending, "")
    for first, endings, what, reader in _OTHERS:
        if (first and head.startswith(first)) or (binary and name.endswith(endings)):
            raise _other(name, what, reader)
    if known == "tfrecord" or (head and known == "jsonl") or (binary and known):  # perhaps a damaged one
        return known
    if binary:
        raise invalid(f"{name}: not text, and its first bytes are of no format that feed knows: pass --format, {HELP}")
    found = _of_text(name, head, ending) if head else ""
    return known if known and found == "lines" else found  # such as the page of an error instead of the file


def _by_first_bytes(head: bytes, ending: str) -> str:
    """Return the format of a binary file that feed reads; "" for others."""
    if len(head) >= HEADER.size:
        length, checksum = HEADER.unpack_from(head)
        if mask(crc_in_python(length.to_bytes(8, "little"))) == checksum:
            return "tfrecord"
    if (head.startswith(b"BM") and head[6:10] == bytes(4)) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "images"
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith(b"PK\x03\x04") and ending == ".npz":
        return "npz"
    return next((form for magic, form in _MAGIC.items() if head.startswith(magic)), "")


def _of_text(name: str, head: bytes, ending: str) -> str:
    """Return the text format: JSON objects, table rows, or lines."""
    first = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if first.startswith(b"{"):
        with contextlib.suppress(ValueError):
            if isinstance(json.loads(first.splitlines()[0]), dict):
                return "jsonl"
    if ending == ".json" and first.startswith((b"[", b"{")):
        raise invalid(f"{name} is one JSON value, which feed does not read: write one object per line (JSON Lines)")
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
        head = _first_bytes(name) if "://" in name else _head(name)
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
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if _is_pipe(name):
        return ""
    for _, endings, what, reader in _OTHERS:
        if endings and name.endswith(endings):
            raise _other(name, what, reader)
    return "csv"


def _other(name: str, what: str, reader: str) -> InvalidArgumentError:
    more = f"in a program, {reader}" if reader else "convert it to UTF-8"
    return invalid(f"{name} is {what}, which feed does not read: {more}")


def _first_bytes(name: str) -> bytes:
    """Return the first bytes of a file or URL, decompressed."""
    file = open_file(os.fsencode(name), compression_of(name))
    pieces, left = [], _HEAD
    try:
        while left and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    finally:
        file.close()
    return b"".join(pieces)


def _is_pipe(name: str) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a URL, or not a file
        return stat.S_ISFIFO(os.stat(name).st_mode)
    return False


def _head(name: str) -> bytes | None:
    """Return a file's first bytes, decompressed; None for a URL, and if it is not a regular file."""
    return _first_bytes(name) if "://" not in name and os.path.isfile(name) else None


def record_bytes(given: str) -> int | None:
    """Return N for "fixed:N"; None for another format.

    Raises:
        ValueError: The format is unknown.
    """
    name, colon, number = given.partition(":")
    if name == "fixed" and number.isascii() and number.isdigit() and int(number) > 0:
        return int(number)
    if colon or name not in _NAMES:
        raise ValueError(f"--format must be one of {HELP}; got {given!r}")
    return None
