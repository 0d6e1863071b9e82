"""text: lines of files; and how to cut lines and records out of files, with resumable positions."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline._csv import Cut
from pipeline._lines import first_bytes, split_lines
from pipeline.dtypes import integer, object_vector
from pipeline.errors import OpError
from pipeline.files.compression import compression_of
from pipeline.files.encoding import (
    LONGEST_MARK,
    MARK,
    UTF_8,
    InUtf8,
    checked_encoding,
    encoding_fact,
    is_converted,
    refuse_binary,
    refuse_utf_16,
)
from pipeline.files.limits import MAX_RECORD_BYTES, too_long
from pipeline.files.offsets import Offsets
from pipeline.files.opening import open_file
from pipeline.files.read_buffer import ReadBuffer
from pipeline.files.scans import line_offsets
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import MANY, of_record
from pipeline.sources.indexed import IndexedParts, Places, Regular, source_of
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import Source
from pipeline.sources.strings import encoding_hints, not_utf_8


@tells_keywords
def text(
    paths: Any,
    *,
    skip_lines: int = 0,
    encoding: str | None = UTF_8,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    index: bool = False,
    index_folder: Any = None,
) -> Source:
    r"""Read lines of text files: each example is a line, as str.

    Lines end with `\n` or `\r\n`; one `\r` at the end of a file is dropped.
    Names ending in .gz, .bz2, .xz, .zst or .zstd are decompressed.

    Args:
        paths: A path, URL or pattern such as "part-*.txt.gz", or a list.
        skip_lines: Number of lines to skip at the start of each file.
        encoding: Such as "latin-1"; None reads bytes.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the files, in a different order each epoch.
        shard: (index, count): read every count-th file.
        index, index_folder: Read lines by index, as in `jsonl`.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        DataLossError: A file is damaged, or a line is not UTF-8.
        ValueError, TypeError, ImportError: An option or encoding is wrong.

    Examples:
        >>> with open("fruits.txt", "w") as file:
        ...     print("apple", "pear", sep="\n", file=file)
        >>> list(pipeline.text("fruits.txt"))
        ['apple', 'pear']
    """
    lines = _Lines(expanded(paths, "text"), lines_to_skip(skip_lines, "text"), checked_encoding(encoding, "text"))
    return source_of(lines, Epochs(num_epochs, shuffle, seed, shard), index, index_folder)


class _Lines(IndexedParts):
    kind = "text"
    unit = "files"
    most = MANY

    def __init__(self, names: Sequence[str], skip_lines: int, encoding: str | None) -> None:
        self.names = names
        self._skip_lines = self.left_out = skip_lines
        self._encoding = self.encoding = encoding
        self._cut = functools.partial(cut_lines, as_text=encoding is not None)

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield lists of lines; a place is the byte offset of the first line."""
        name = self.names[part]
        with opened(name, self._encoding) as file:
            if place is None:
                file.fill(LONGEST_MARK)
                self._refuse(file.data, name)
                file.position += self._mark(file.data)
                skip(file, self._skip_lines, name)
            else:
                file.go_to(place)
            for piece in cut_pieces(file, self._cut, name, encoding=self._encoding):
                yield piece.offset, PieceRecords(piece, 0, piece.records)

    def _refuse(self, begin: bytes, name: str) -> None:
        """Raise InvalidArgumentError if a file is not text; bytes may begin as they like."""
        refuse = refuse_utf_16 if self._encoding is None else refuse_binary
        refuse(begin, name, "text")

    def _mark(self, begin: bytes) -> int:
        """Return the length of a byte order mark at a file's beginning."""
        return len(MARK) if self._encoding is not None and begin.startswith(MARK) else 0

    def places(self, name: str, folder: str | None) -> Places:
        with opened(name) as file:
            file.fill(LONGEST_MARK)
            self._refuse(file.data, name)
            only_mark = self._encoding is not None and file.data == MARK  # and no line
        found = Offsets(name, "lines", line_offsets, folder)
        return Regular(name, found.identity, 0, 1, 0) if only_mark else found

    def piece(self, name: str, data: bytes, begin: int) -> PieceRecords:
        found = lines_of(name, data, begin, self._cut, 0 if begin else self._mark(data))
        return PieceRecords(found, 0, found.records)

    def joined(self, pieces: Sequence[PieceRecords]) -> PieceRecords:
        return PieceRecords(pieces[0].piece, 0, [record for each in pieces for record in each.records])

    def block(self, given: PieceRecords) -> Any:
        records: Any = given.records  # a list
        if self._encoding is not None and (wrong := first_bytes(records)) >= 0:
            line, name = records[wrong], self.named(given, wrong)
            file, _, number = name.rpartition(":")
            hints = encoding_hints(line, "encoding=None, which reads bytes")
            raise of_record(not_utf_8(f"text: {file}, line {number}", line, *hints), name)
        return object_vector(records)

    def named(self, given: PieceRecords, i: int) -> str:
        """Return a line's file, and its number there."""
        return given.piece.line(given.first + i)

    def facts(self) -> dict[str, Any]:
        return {"files": len(self.names), "skip_lines": self._skip_lines} | encoding_fact(self._encoding)


class _Begin:
    """The start position for reading a file.

    Args:
        name: The file.
        offset: The byte, decompressed and in UTF-8.
        encoding: As for `opened`.
    """

    def __init__(self, name: str, offset: int, encoding: str | None) -> None:
        self.name, self.offset, self._encoding = name, offset, encoding

    @functools.cached_property
    def lines(self) -> int:
        """Count the file's lines ending before it. For errors: it reads the file up to there."""
        count, left = 0, self.offset
        if not left:  # a pipe can be read only once
            return 0
        with opened(self.name, self._encoding) as file:
            while left and (text := file.piece()[:left]):
                count, left = count + text.count(b"\n"), left - len(text)
        return count


class Piece:
    """Neighbouring records in a file.

    Args:
        begin: The start position for reading the file.
        lines: Number of lines ending between `begin` and the piece.
        records: The lines, or CSV records made on access.
        offset: The decompressed file's offset of the first record, or of empty ones before it.
        text: Their origin.
        at: The byte in the text corresponding to `offset` in the file.
    """

    def __init__(self, begin: _Begin, lines: int, records: Sequence[Any], offset: int, text: bytes, at: int) -> None:
        self.name, self._began, self._lines = begin.name, begin, lines
        self.records, self.offset, self.text, self.begin = records, offset, text, at
        self._counted = at, 0  # a byte in the text, and the piece's lines ending before it

    @property
    def lines_before(self) -> int:
        """Count the file's lines ending before the piece."""
        return self._began.lines + self._lines

    def lines_to(self, record: int) -> int:
        """Count the piece's lines ending before a record; its records are a Cut.

        Counting starts from the previously requested record, because errors arrive in order.
        """
        at = self.records.offset(record)  # type: ignore[attr-defined]
        last, lines = self._counted
        lines += self.text.count(b"\n", last, at) if at >= last else -self.text.count(b"\n", at, last)
        self._counted = at, lines
        return lines

    def line(self, lines: int) -> str:
        """Return the file, and the number of the piece's line after `lines` others; the file alone if it is gone."""
        try:
            return f"{self.name}:{self.lines_before + lines + 1}"
        except OpError:
            return self.name


class PieceRecords:
    """Some of a piece's records.

    Args:
        piece: The piece.
        first: The index of the first one there.
        records: The records.
        how: How to read them, if that differs between files.
    """

    __slots__ = ("first", "how", "piece", "records")

    def __init__(self, piece: Piece, first: int, records: Sequence[bytes], how: Any = None) -> None:
        self.piece, self.first, self.records, self.how = piece, first, records, how

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, rows: slice) -> PieceRecords:
        return PieceRecords(self.piece, self.first + (rows.start or 0), self.records[rows], self.how)


# Cuts a text's part between two byte offsets into records, and returns the start of the first incomplete one. If the
# text ends there, the rest is a record.
Cutter = Callable[[bytes, int, int, bool], tuple[Sequence[bytes], int]]


def cut_pieces(
    file: ReadBuffer, cut: Cutter, name: str, limit: int | None = None, encoding: str | None = None
) -> Iterator[Piece]:
    """Yield the rest of a file, cut into records, of one line each unless they are a `Cut`, which counts lines.

    A piece ends with the last complete record before a multiple of `ReadBuffer.CHUNK`. Pieces depend only on their
    start, so a run resumed at any piece gets the same ones.

    Raises:
        ResourceExhaustedError: A record exceeds both the limit (MAX_RECORD_BYTES if that is None) and the chunk
            size.
        OpError: Reading fails.
    """
    given = limit is not None
    chunks, begun, lines = 1, _Begin(name, file.offset, encoding), 0
    limit = MAX_RECORD_BYTES if limit is None else limit
    while True:
        offset = file.offset
        end = (offset // file.CHUNK + chunks) * file.CHUNK
        more = file.fill(end - offset)
        begin, text = file.position, file.data
        records, file.position = cut(text, begin, begin + end - offset if more else len(text), not more)
        if records:
            yield Piece(begun, lines, records, offset, text, begin)
        elif not more:
            return
        elif end - file.offset > limit:
            raise too_long(f"{name}: the line or record at byte {file.offset:,} has", limit, given)
        lines += records.lines if isinstance(records, Cut) else len(records)
        # For a longer record, double the search range, but not beyond the limit.
        chunks = 1 if file.position > begin else min(2 * chunks, limit // file.CHUNK + 2)


def cut_lines(text: bytes, begin: int, end: int, last: bool, as_text: bool = False) -> tuple[list[Any], int]:
    """Cut lines; see Cutter. `as_text`: as str, but lines not in UTF-8 stay bytes."""
    past = text.rfind(b"\n", begin, end) + 1
    if last and text[max(begin, past) : end] not in (b"", b"\r"):
        return split_lines(text, begin, end, as_text), end
    return split_lines(text, begin, past - 1, as_text) if past else [], end if last else past or begin


def lines_of(name: str, data: bytes, offset: int, cut: Cutter = cut_lines, begin: int = 0) -> Piece:
    """Return the lines in a part of a file, from the part's byte `begin` on."""
    return Piece(_Begin(name, offset, None), 0, cut(data, begin, len(data), True)[0], offset, data, begin)


@contextmanager
def opened(name: str, encoding: str | None = None) -> Iterator[ReadBuffer]:
    """Open a file as a context, decompressed according to its name.

    Args:
        name: The file.
        encoding: Its encoding, for reading it as UTF-8; None reads its bytes, as for UTF-8.
    """
    file = open_file(os.fsencode(name), compression_of(name))
    if encoding is not None and is_converted(encoding):
        file = InUtf8(os.fsencode(name), file, encoding)
    try:
        yield ReadBuffer(file)
    finally:
        file.close()


def skip(file: ReadBuffer, lines: int, name: str) -> None:
    """Skip lines, up to the file's end."""
    for _ in range(lines):
        if not first_line(file, name):
            return


def first_line(file: ReadBuffer, name: str) -> bytes:
    """Take one line, with its end; b"" at the file's end."""
    wanted = 1
    while True:
        more = file.fill(wanted)
        end = file.data.find(b"\n", file.position) + 1
        if end or not more:
            line = file.data[file.position : end or None]
            file.position += len(line)
            return line
        if wanted > MAX_RECORD_BYTES:
            raise too_long(f"{name}: a line has", MAX_RECORD_BYTES, False)
        wanted = min(2 * (len(file.data) - file.position), MAX_RECORD_BYTES + 1)


def lines_to_skip(given: Any, function: str) -> int:
    """Validate and return `skip_lines`; ValueError if it is negative, TypeError if it is not an integer."""
    number = integer(given, f"{function}: skip_lines")
    if number < 0:
        raise ValueError(f"{function}: skip_lines must be at least 0, got {number}")
    return number
