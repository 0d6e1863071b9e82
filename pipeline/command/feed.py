"""The pipeline that `python -m pipeline feed` runs: file names, reader threads, a queue of examples, batches.

What holds it back is decided in `pipeline/monitoring/verdict.py`.
"""

from __future__ import annotations

import codecs
import os
import stat
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline._csv import cut_records
from pipeline.batches.functions import batch, shuffle_batch
from pipeline.command.formats import TEXT, make_reader, record_bytes, refuse_compressed
from pipeline.datasets.iterator import DatasetIterator
from pipeline.decode.csv.decode_csv import decode_csv
from pipeline.decode.csv.numbers import number
from pipeline.decode.csv.record import split_record
from pipeline.errors import InvalidArgumentError
from pipeline.files.os_errors import translated
from pipeline.producers.producers import string_input_producer
from pipeline.runners.coordinator import Coordinator

BLOCK = 512  # lines that a thread reads at once: enough to spread the cost of a call, few enough for the cache


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


class FilePipeline:
    """Reads files in blocks of records and makes batches of them; in CSV files, of their columns.

    The first line with data decides the types of the columns: int64 for an integer, float32 for any other number,
    otherwise bytes. Lines without a comma are text, one column of bytes. Byte order marks are left out. Columns of the
    same number type become one component. Records of a fixed size become rows of uint8; in the other formats each
    record is bytes.

    Attributes:
        types: The dtype of each column; object for bytes. Empty until the first line is read.
        bytes_read: The bytes of the lines read so far, counting one for each line end.
        files: The queue of file names.

    Raises:
        OpError: A file cannot be opened, no line has data, the first one ends within quotes, or text is compressed.
    """

    def __init__(self, settings: Settings) -> None:
        self.types: list[np.dtype[Any]] = []
        self._defaults: list[Any] = []
        self._record_bytes = record_bytes(settings.format)
        self._reader = make_reader(settings.format, settings.skip_header_lines)
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
        self._lock = threading.Lock()  # guards bytes_read and the types
        self.files = string_input_producer(
            settings.files, settings.epochs, settings.shuffle, settings.seed, name="files", collection=[]
        )

    def batches(self, coord: Coordinator | None = None) -> DatasetIterator[Any]:
        """Return the iterator over batches; its threads start with the first one, and end when `coord` stops."""
        settings = self._settings
        shared: dict[str, Any] = {
            "num_threads": settings.threads,
            "capacity": settings.capacity,
            "enqueue_many": True,
            "allow_smaller_final_batch": True,
            "name": "examples",
            "deterministic": settings.deterministic,
            "coord": coord,
        }
        if not settings.shuffle:
            return batch(self.read_and_decode, settings.batch_size, **shared)
        return shuffle_batch(
            self.read_and_decode,
            settings.batch_size,
            min_after_dequeue=settings.min_after_dequeue,
            seed=settings.seed,
            **shared,
        )

    def _decide(self, first: bytes, place: str) -> None:
        self.types = _types(first, place)
        # A missing float is nan and a missing text is empty; a missing integer is an error.
        defaults = {"f": [np.float32(np.nan)], "O": [b""]}
        self._defaults = [defaults.get(dtype.kind, dtype) for dtype in self.types]

    def read_and_decode(self) -> list[Any]:
        """Return the next block of examples, as components whose first dimension is the example."""
        text = self._settings.format in TEXT
        keys, read = self._read()
        while text and not any(read):
            keys, read = self._read()
        if self._record_bytes is not None:
            return [np.frombuffer(b"".join(read), np.uint8).reshape(-1, self._record_bytes)]
        lines = read if all(read) or not text else [line for line in read if line]
        with self._lock:
            if not self.types:
                self._decide(lines[0], os.fsdecode(keys[read.index(lines[0])]))
        if len(self.types) == 1 and self.types[0].hasobject:
            return [lines]
        try:
            columns = decode_csv(lines, self._defaults)
        except InvalidArgumentError as error:
            raise _with_place(error, [key for key, line in zip(keys, read, strict=True) if line]) from error
        return self._components(columns)

    def _read(self) -> tuple[Sequence[bytes], list[bytes]]:
        keys, read = self._reader.read_up_to(self.files, BLOCK)
        ends = len(read) if self._settings.format in TEXT else 0
        with self._lock:
            self.bytes_read += sum(map(len, read)) + ends
        if ends and keys[0].endswith(b":1"):
            read = [read[0].removeprefix(codecs.BOM_UTF8), *read[1:]]
        return keys, read

    def _components(self, columns: list[Any]) -> list[Any]:
        components: list[Any] = []
        for dtype in dict.fromkeys(self.types):
            same = [column for column, own in zip(columns, self.types, strict=True) if own == dtype]
            components += [column.tolist() for column in same] if dtype.hasobject else [np.stack(same, axis=1)]
        return components


def _with_place(error: InvalidArgumentError, keys: list[bytes]) -> InvalidArgumentError:
    record: int = error.record  # type: ignore[attr-defined]
    text = error.message.removesuffix("!").replace(f" in record {record}", "")
    return InvalidArgumentError(None, None, f"{os.fsdecode(keys[record])}: {text}")


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
