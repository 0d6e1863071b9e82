"""The dataset that `python -m pipeline feed` runs: files, threads that decode, a shuffle buffer, batches.

What limits it is decided in `pipeline/reports/verdict.py`.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline._csv import cut_records
from pipeline.batches.of_any import dataset
from pipeline.command.formats import TEXT, record_bytes, refuse_compressed
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.decode.csv.decode_csv import decode_csv
from pipeline.decode.csv.numbers import number
from pipeline.decode.csv.record import split_record
from pipeline.dtypes import object_vector
from pipeline.errors import InvalidArgumentError
from pipeline.files.crc32c import crc_function
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import contents, open_file
from pipeline.files.os_errors import translated
from pipeline.runners.coordinator import Coordinator
from pipeline.sources.fixed_length import fixed_length
from pipeline.sources.nodes import Parts
from pipeline.sources.order import Epochs
from pipeline.sources.stream import PartsSource
from pipeline.sources.text import Piece, PieceRecords, cut_lines, cut_pieces, opened, skip
from pipeline.sources.tfrecord import RecordFiles
from pipeline.stages.block import Examples

BLOCK = 512  # lines that a thread decodes at once: enough to spread the cost of a call, few enough for the cache


class Settings(NamedTuple):
    """The options of the command line; sizes in examples."""

    files: Sequence[str]
    batch_size: int
    shuffle: bool
    capacity: int
    min_after_dequeue: int
    epochs: int | None
    threads: int
    seed: int | None
    skip_header_lines: int
    format: str = "csv"
    deterministic: bool = False


class LineBlocks(Parts):
    """Blocks of the lines of text files.

    Args:
        names: The files.
        skip_lines: Number of lines to skip at the start of each file.
        first: Called with each piece of a file, and the index of its first line that is not empty.
        blank: Called with the number of lines in a block that has only empty ones, which is left out.
    """

    kind = "text"
    unit = "files"
    one_by_one = True

    def __init__(
        self,
        names: Sequence[str],
        skip_lines: int,
        first: Callable[[Piece, int], object],
        blank: Callable[[int], object],
    ) -> None:
        self.names, self.live = names, any(map(_is_pipe, names))
        self._skip_lines, self._first, self._blank = skip_lines, first, blank

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces; a place is the byte where one begins."""
        name = self.names[part]
        with opened(name) as file:
            if place is None:
                skip(file, self._skip_lines, name)
            else:
                file.go_to(place)
            for piece in cut_pieces(file, cut_lines, name):
                begins: list[int] = []
                for begin in range(0, len(piece.records), BLOCK):
                    lines = piece.records[begin : begin + BLOCK]
                    data = next((i for i, line in enumerate(lines, begin) if line), None)
                    if data is None:
                        self._blank(len(lines))
                        continue
                    if not begins:
                        self._first(piece, data)
                    begins.append(begin)
                yield piece.offset, _Blocks(piece, begins)

    def block(self, given: _Blocks) -> Examples:
        piece = given.piece
        return Examples([PieceRecords(piece, begin, piece.records[begin : begin + BLOCK]) for begin in given.begins])

    def facts(self) -> dict[str, Any]:
        return {"files": len(self.names), "skip_lines": self._skip_lines}


def _is_pipe(name: str) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a URL, or no file at all
        return stat.S_ISFIFO(os.stat(name).st_mode)
    return False


class StrictRecords(RecordFiles):
    """Records of TFRecord files that must be whole."""

    strict = True


class _Blocks(NamedTuple):
    """Blocks of the lines of a piece, by their first lines."""

    piece: Piece
    begins: Sequence[int]

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, which: Any) -> Any:
        return _Blocks(self.piece, self.begins[which])


class FilePipeline:
    """Reads files and makes batches of their records; in CSV files, of their columns.

    The first line with data decides the types of the columns: int64 for an integer, float32 for any other number,
    otherwise bytes. Lines without a comma are text, one column of bytes. Byte order marks are left out. Columns of the
    same number type become one component. Records of a fixed size become rows of uint8; in the other formats each
    record is bytes.

    Attributes:
        types: The dtype of each column; object for bytes. Empty until the first line is read.
        bytes_read: The bytes of the lines or records read so far, counting one for each line end.

    Raises:
        OpError: A file cannot be opened, no line has data, the first one ends within quotes, or text is compressed.
    """

    def __init__(self, settings: Settings) -> None:
        self.types: list[np.dtype[Any]] = []
        self._defaults: list[Any] = []
        self._record_bytes = record_bytes(settings.format)
        if settings.format in TEXT:
            refuse_compressed(settings.files)
        if settings.format == "csv":
            first = _first_line(settings.files, settings.skip_header_lines)
            if first is not None:
                self._decide(*first)
        else:
            self.types = [np.dtype(object if self._record_bytes is None else np.uint8)]
        self.bytes_read = 0
        self._settings = settings
        self._lock = threading.Lock()  # guards bytes_read

    def batches(self, coord: Coordinator | None = None) -> DatasetIterator[Any]:
        """Return the iterator over batches; it ends when `coord` stops."""
        settings = self._settings
        data = self._examples()
        if settings.shuffle:
            # An order that is fixed must not depend on the batch size.
            kept = settings.min_after_dequeue + (1 if settings.deterministic else settings.batch_size)
            data = data.shuffle(kept, seed=settings.seed)
        if settings.deterministic:
            data = data.checksum()
        ahead = max(1, (settings.capacity - settings.min_after_dequeue) // settings.batch_size)
        data = data.batch(settings.batch_size).prefetch(ahead)
        return DatasetIterator(data._node, 0, "examples", coord)

    def _examples(self) -> Dataset[Any]:
        settings, given = self._settings, self._settings.format
        epochs = Epochs(settings.epochs, settings.shuffle, settings.seed if settings.shuffle else None)
        workers: dict[str, Any] = {"workers": settings.threads, "ordered": settings.deterministic}
        if given in TEXT:
            lines = LineBlocks(settings.files, settings.skip_header_lines, self._see_first, self._add)
            return dataset(PartsSource(lines, epochs)).map(self.decode, **workers).unbatch()
        if given == "tfrecord":
            crc_function()  # an error now, not at the first example
            return dataset(PartsSource(StrictRecords(settings.files, None, None, MAX_RECORD_BYTES), epochs))
        if self._record_bytes is not None:
            return dataset(fixed_length(settings.files, self._record_bytes, dtype=np.uint8, **epochs._asdict()))
        files: Dataset[Any] = dataset(list(settings.files))
        if settings.shuffle:
            files = files.shuffle(seed=settings.seed)
        return files.repeat(settings.epochs).map(_contents, **workers)

    def note(self, batch: Any) -> None:
        """Count the bytes of a batch, of which there are no lines."""
        if self._settings.format not in TEXT:
            self._add(batch.nbytes if self._record_bytes is not None else sum(map(len, batch)))

    def _add(self, count: int) -> None:
        with self._lock:
            self.bytes_read += count

    def _see_first(self, piece: Piece, i: int) -> None:
        if not self.types:
            self._decide(piece.records[i].removeprefix(codecs.BOM_UTF8), piece.line(i))

    def _decide(self, first: bytes, place: str) -> None:
        self.types = _types(first, place)
        # A missing float is nan and a missing text is empty; a missing integer is an error.
        defaults = {"f": [np.float32(np.nan)], "O": [b""]}
        self._defaults = [defaults.get(dtype.kind, dtype) for dtype in self.types]

    def decode(self, block: PieceRecords) -> Any:
        """Return the examples of a block of lines, as components whose first dimension is the example."""
        read = list(block.records)
        self._add(sum(map(len, read)) + len(read))
        if read and not block.first and not block.piece.offset:
            read[0] = read[0].removeprefix(codecs.BOM_UTF8)
        lines = [line for line in read if line]
        if len(self.types) == 1 and self.types[0].hasobject:
            return object_vector(lines)
        try:
            columns = decode_csv(lines, self._defaults)
        except InvalidArgumentError as error:
            lines_read = [i for i, line in enumerate(read, block.first) if line]
            raise _with_place(error, block.piece, lines_read) from error
        return self._components(columns)

    def _components(self, columns: list[Any]) -> Any:
        components: list[Any] = []
        for dtype in dict.fromkeys(self.types):
            same = [column for column, own in zip(columns, self.types, strict=True) if own == dtype]
            components += same if dtype.hasobject else [np.stack(same, axis=1)]
        return tuple(components) if len(components) > 1 else components[0]


def _contents(name: str) -> bytes:
    """Return what a file holds."""
    file = open_file(os.fsencode(name))
    try:
        return contents(file, os.fsencode(name), MAX_RECORD_BYTES)
    finally:
        file.close()


def _with_place(error: InvalidArgumentError, piece: Piece, lines: Sequence[int]) -> InvalidArgumentError:
    record: int = error.record  # type: ignore[attr-defined]
    text = error.message.removesuffix("!").replace(f" in record {record}", "")
    return InvalidArgumentError(None, None, f"{piece.line(lines[record])}: {text}")


def _first_line(files: Sequence[str], skip: int) -> tuple[bytes, str] | None:
    """Return the first line with data, and its place; None if looking would consume it, as in a pipe, or fetch a
    URL once more."""
    for name in files:
        if "://" in name:
            return None
        try:
            if not stat.S_ISREG(os.stat(name).st_mode) and not os.path.isdir(name):
                return None
            with open(name, "rb") as file:
                if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                    file.seek(0)
                for number, line in enumerate(file, 1):
                    text = line.rstrip(b"\r\n")
                    if text and number > skip:
                        return text, f"{name}:{number}"
        except (OSError, ValueError) as error:
            raise translated(os.fsencode(name), error) from error
    raise nothing_in(files, "line with data")


def nothing_in(files: Sequence[str], what: str) -> InvalidArgumentError:
    """Return the error for files of which none has anything to read."""
    return InvalidArgumentError(None, None, f"{files[0]}: no {what} in {'it' if len(files) == 1 else 'any file'}")


def _types(line: bytes, place: str) -> list[np.dtype[Any]]:
    if b"," not in line:
        return [_type(line)]
    if not cut_records(line + b"\n", 0, len(line) + 1, b",", True, False, 1)[0]:
        raise InvalidArgumentError(
            None,
            None,
            f"{place}: a quote is still open at the end of the line, and feed reads line by line: use --format lines "
            "for text. In a program, pipeline.csv reads fields of several lines",
        )
    try:
        return [_type(field) for field in split_record(line)]
    except InvalidArgumentError:  # quotes, but not as in CSV: text
        return [np.dtype(object)]


def _type(field: bytes) -> np.dtype[Any]:
    for dtype in (np.dtype(np.int64), np.dtype(np.float32)):
        if number(field, dtype) is not None:
            return dtype
    return np.dtype(object)
