"""The dataset behind `python -m pipeline feed`: files as the sources read them, a shuffle buffer, batches.

For its bottleneck see `pipeline/reports/verdict.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.batches.of_any import dataset
from pipeline.command.formats import csv_form, record_bytes
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.decode.image.rgb import rgb_image
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.crc32c import crc_function
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import contents, open_file
from pipeline.locks import Lock
from pipeline.nest import Nest, parts_of
from pipeline.runners.coordinator import Coordinator
from pipeline.sources.arrays import arrays
from pipeline.sources.csv import csv
from pipeline.sources.fixed_length import fixed_length
from pipeline.sources.jsonl import jsonl
from pipeline.sources.nodes import Parts
from pipeline.sources.npz import npz
from pipeline.sources.order import Epochs
from pipeline.sources.parquet import feather, parquet
from pipeline.sources.source import TableSource
from pipeline.sources.stream import PartsSource
from pipeline.sources.text import text
from pipeline.sources.tfrecord import RecordFiles
from pipeline.sources.webdataset import webdataset

_TABLES: dict[str, Callable[..., TableSource]] = {"parquet": parquet, "feather": feather, "npz": npz}
_WHOLE = ("images", "files", "npy", "npz")  # formats shuffled as a whole: a buffer would only use memory
_TYPED = ("parquet", "feather")
_LOOSE = ("jsonl", "npz", "tar")  # formats with examples of different shapes


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


class StrictRecords(RecordFiles):
    """TFRecord records; a truncated one is an error."""

    strict = True


class FilePipeline:
    """Reads files and batches their examples.

    CSV files give rows as in `pipeline.csv`, JSON Lines files rows as in `pipeline.jsonl`, and text files lines. Images
    are decoded. Rows of Parquet, Feather and .npy files, .npz files and WebDataset samples are as in their sources.
    Records with a fixed size become uint8 rows. Other records and files are bytes.

    Attributes:
        columns: Column count per type. Empty until the first batch.
        bytes_read: File bytes read so far.

    Raises:
        OpError: A file cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self.columns: dict[str, int] = {}
        self.bytes_read = 0
        self._settings = settings
        self._record_bytes = record_bytes(settings.format)
        self._bytes_each = 0.0  # of a table's rows on average
        self._examples_read = 0
        self._lock = Lock()  # guards bytes_read

    def batches(self, coord: Coordinator | None = None) -> DatasetIterator[Any]:
        """Return the iterator over batches; it ends when `coord` stops."""
        settings = self._settings
        data = self._examples()
        lists = settings.format in _TYPED and any(map(_is_list, _parts(next(iter(data), {}))))
        if settings.shuffle and settings.format not in _WHOLE:
            # A deterministic order must not depend on the batch size.
            kept = settings.min_after_dequeue + (1 if settings.deterministic else settings.batch_size)
            data = data.shuffle(kept, seed=settings.seed)
        if settings.deterministic:
            data = data.checksum()
        ahead = max(1, (settings.capacity - settings.min_after_dequeue) // settings.batch_size)
        loose = settings.format in _LOOSE
        if settings.deterministic:  # a fingerprint needs batches of arrays
            loose = lists = False
        if loose:
            data = data.batch(settings.batch_size, collate=list)
        elif lists:
            data = data.batch(settings.batch_size, pad=0)
        else:
            data = data.batch(settings.batch_size)
        data = data.prefetch(ahead)
        return DatasetIterator(data._node, 0, "examples", coord)

    def _examples(self) -> Dataset[Any]:
        settings, given = self._settings, self._settings.format
        files, skip = list(settings.files), settings.skip_header_lines
        epochs = Epochs(settings.epochs, settings.shuffle, settings.seed if settings.shuffle else None)
        options = epochs._asdict()
        if given == "csv":
            rows = self._counted(csv(files, skip_lines=skip, **csv_form(files, skip), **options))
            return rows.map(_packed) if settings.deterministic else rows
        if given == "lines":
            return self._counted(text(files, skip_lines=skip, encoding=None, **options))
        if given == "jsonl":
            return self._counted(jsonl(files, **options))
        if given == "tar":
            return self._counted(webdataset(files, **options))
        if given in _TABLES:
            return self._sized(_TABLES[given](files, **options))
        if given == "npy":
            return self._sized(arrays(_only(files), **options))
        if given == "tfrecord":
            crc_function()  # an error now, not at the first example
            return self._counted(PartsSource(StrictRecords(files, None, None, MAX_RECORD_BYTES), epochs))
        if self._record_bytes is not None:
            return self._counted(fixed_length(files, self._record_bytes, dtype=np.uint8, **options))
        names: Dataset[Any] = dataset(files)
        if settings.shuffle:
            names = names.shuffle(seed=settings.seed)
        read = self._decoded if given == "images" else self._contents
        return names.repeat(settings.epochs).map(read, workers=settings.threads, ordered=settings.deterministic)

    def note(self, batch: Any) -> int:
        """Look at the first batch's columns. Return the batch's example count."""
        rows = batch if isinstance(batch, list) else None
        found = _parts(batch if rows is None else rows[0])
        if not self.columns:
            settings = self._settings
            image = settings.format == "images"
            counts: Counter[str] = Counter()
            for each in found:
                lists = settings.format in _TYPED and (_is_list(each[0]) or each.ndim > 1)
                kind = "image" if image else _kind(each, rows is None)
                counts[f"list of {kind}" if lists else kind] += self._width(each)
            self.columns = dict(counts)
        count = len(found[0] if rows is None else rows)
        self._examples_read += count
        if self._bytes_each:
            self.bytes_read = round(self._examples_read * self._bytes_each)
        return count

    def _width(self, value: Any) -> int:
        """Return how many file columns a value has."""
        packed = self._settings.format == "csv" and isinstance(value, np.ndarray) and value.ndim == 2
        return int(value.shape[1]) if packed else 1

    def _counted(self, source: Any) -> Dataset[Any]:
        source.parts.read = _Counting(source.parts, self._add)
        return source  # type: ignore[no-any-return]

    def _sized(self, table: TableSource) -> TableSource:
        with contextlib.suppress(OSError):  # a URL
            rows = table.order.length
            self._bytes_each = sum(map(os.path.getsize, self._settings.files)) / max(1, rows)
        return table

    def _add(self, count: int) -> None:
        with self._lock:
            self.bytes_read += count

    def _contents(self, name: str) -> bytes:
        """Return a file's contents."""
        file = open_file(os.fsencode(name))
        try:
            found = contents(file, os.fsencode(name), MAX_RECORD_BYTES)
        finally:
            file.close()
        self._add(len(found))
        return found

    def _decoded(self, name: str) -> bytes:
        """Return an image's pixels, as bytes because different sizes cannot be stacked."""
        contents = self._contents(name)
        try:
            return rgb_image(contents).tobytes()
        except InvalidArgumentError as error:
            raise invalid(f"{name}: {error.message}") from error


def _only(files: Sequence[str]) -> str:
    """Return the only file."""
    if len(files) > 1:
        raise invalid(
            f"feed reads one .npy file by rows, and got {len(files)}: pass --format npz if each is one example"
        )
    return files[0]


class _Counting:
    """Reads a part as before, and counts its bytes.

    Args:
        parts: The files.
        add: Called with the byte count.
    """

    def __init__(self, parts: Parts, add: Callable[[int], object]) -> None:
        self._read, self._names, self._add = parts.read, parts.names, add

    def __call__(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        at, packed = place or 0, bool(compression_of(self._names[part]))
        for begin, piece in self._read(part, epoch, place):
            if not packed:  # else places count decompressed bytes
                self._add(max(0, begin - at))
                at = max(at, begin)
            yield begin, piece
        with contextlib.suppress(OSError, ValueError):  # a URL
            self._add(max(0, os.path.getsize(self._names[part]) - at * (not packed)))


def _packed(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return a row with all numbers of one type in one array: summing each alone takes 20 times as long."""
    same: dict[Any, list[Any]] = {}
    for value in row.values():
        same.setdefault(value.dtype if isinstance(value, np.generic) else str, []).append(value)
    texts = same.pop(str, [])
    return (*(np.array(values) for values in same.values()), *texts)


def _parts(example: Any) -> list[Any]:
    """Return the values in an example or a batch, without their structure."""
    return [example] if parts_of(example) is None else list(Nest(example, False).flatten(example))


def _is_list(value: Any) -> bool:
    return isinstance(value, (np.ndarray, list))


def _kind(value: Any, batched: bool) -> str:
    """Return the name for a column's type of value."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype.name)
    return type(value[0] if batched else value).__name__
