"""tfrecord: records from TFRecord files, as bytes or parsed as Examples."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.decode.example.features import Wanted, wanted
from pipeline.decode.example.parse import block_values
from pipeline.decode.example.sparse_value import SparseTensorValue
from pipeline.dtypes import object_vector
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.crc32c import crc_function
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.offsets import Offsets
from pipeline.files.opening import open_file
from pipeline.files.read_buffer import ReadBuffer, held
from pipeline.files.scans import record_offsets
from pipeline.files.tfrecord import TFRecordOptions
from pipeline.files.tfrecord_cutter import RecordCutter
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import MANY, of_record
from pipeline.sources.indexed import IndexedParts, Places, source_of
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.records import Records
from pipeline.sources.source import Source


@tells_keywords
def tfrecord(
    files: Any,
    features: Mapping[str, Any] | None = None,
    *,
    compression: str | None = None,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    index: bool = False,
    index_folder: Any = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> Source:
    """Read TFRecord files, parsed as Examples if you name their features.

    A resumed run continues mid-file. A `VarLenFeature` varies in length: see `pad=` of `Dataset.batch`.

    Args:
        files: Your files: a path, URL or pattern such as "part-*.tfrecord", or a list.
        features: FixedLenFeature, VarLenFeature or FixedLenSequenceFeature by name: each example is then a dict. None
            gives records as bytes. A FixedLenSequenceFeature has no default_value here: `batch(pad=)` pads.
        compression: "GZIP" or "ZLIB"; "" for none. None decides by the file's name, such as .gz.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the files, in a different order each epoch; add `.shuffle(n)` to mix records.
        seed: Seed for the order.
        shard: (index, count): read every count-th file.
        index: Read records by index: `shuffle`, `shuffle=True` and `shard=` then work on records, and `len` and `d[i]`
            work. The offsets are computed once per machine. Files must be local and not compressed.
        index_folder: Folder for the index; None for the user's cache folder.
        max_record_bytes: Longest record; None for no limit.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        ValueError, TypeError: An option has a wrong value or type.
        ImportError: google-crc32c (extra `tfrecord`) or fsspec is not installed.
        DataLossError: When you iterate: a file is damaged or truncated. The error names file and byte. Up to 11 bytes
            at the end, too few for a record's length, are ignored, as in TensorFlow; `index=True` refuses them.
        InvalidArgumentError: When you iterate: a record is not an Example with these features.
        ResourceExhaustedError: When you iterate: a record is too long.

    Examples:
        >>> from pipeline.proto import Example, Feature, Features, Int64List
        >>> label = Feature(int64_list=Int64List(value=[7]))
        >>> example = Example(features=Features(feature={"label": label}))
        >>> with pipeline.TFRecordWriter("labels.tfrecord") as writer:
        ...     writer.write(example.SerializeToString())
        >>> source = pipeline.tfrecord("labels.tfrecord", {"label": pipeline.FixedLenFeature([], "int64")})
        >>> [example["label"].item() for example in source]
        [7]
    """
    asked = None if features is None else wanted(features)
    for one in asked or ():
        if one.form == "rows" and one.default is not None:  # in TensorFlow, it pads
            text = f"tfrecord: feature {one.name!r} has a default_value, and batch pads here"
            raise invalid(f"{text}: leave it out, and write .batch(n, pad={{{one.name!r}: {one.default[0]!r}}})")
    if compression is not None:
        TFRecordOptions.get_compression_type_string(compression)
    crc_function()  # raise an error now, not at the first example
    records = RecordFiles(expanded(files, "tfrecord"), asked, compression, byte_limit(max_record_bytes))
    if index and compression:
        raise invalid(
            f"tfrecord: index=True takes files that are not compressed: leave out compression={compression!r}"
        )
    return source_of(records, Epochs(num_epochs, shuffle, seed, shard), index, index_folder)


class RecordFiles(IndexedParts):
    """Records in TFRecord files.

    Args:
        names: The files.
        asked: The features to parse; None for bytes.
        compression: All files' compression; None to go by their names.
        limit: Limit for a record's bytes.

    Attributes:
        strict: Treat a file ending within a record's header as an error. TensorFlow treats it as complete.
    """

    kind = "tfrecord"
    unit = "files"
    most = MANY
    strict = False

    def __init__(
        self, names: Sequence[str], asked: Sequence[Wanted] | None, compression: str | None, limit: int
    ) -> None:
        self.names = names
        self._asked, self._compression, self._limit = asked, compression, limit

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield lists of records; a place is the byte offset of the first record."""
        name = self.names[part]
        compression = compression_of(name) if self._compression is None else self._compression
        file = open_file(os.fsencode(name), compression)
        try:
            buffer = ReadBuffer(file, small=not compression and "://" not in name)
            if place is not None:
                buffer.go_to(place)
            cutter = RecordCutter(crc_function(), self._limit, self.strict)
            cut = functools.partial(cutter.cut, buffer, os.fsencode(name))
            for records in _groups(cut, name, buffer.CHUNK):
                yield records.places[0], records
        finally:
            file.close()

    def places(self, name: str, folder: str | None) -> Places:
        return Offsets(name, "records", record_offsets, folder)

    def piece(self, name: str, data: bytes, begin: int) -> Records[str]:
        buffer, cutter = held(data, begin), RecordCutter(crc_function(), self._limit, True)
        cut = functools.partial(cutter.cut, buffer, os.fsencode(name))
        (found,) = _groups(cut, name, 1 << 62)
        return found

    def joined(self, pieces: Sequence[Records[str]]) -> Records[str]:
        return Records.joined(pieces)

    def block(self, given: Records[str]) -> Any:
        if self._asked is None:
            return object_vector(given.records)
        count = len(given)
        try:
            # Values varying in number are padded only on request.
            plain = [one if one.form == "fixed" else one._replace(form="any") for one in self._asked]
            values = block_values(given.records, plain, ["<unknown>"] * count)
            named = zip(self._asked, values, strict=True)
            return {one.name: value if one.form == "fixed" else _rows_of(one, value, count) for one, value in named}
        except InvalidArgumentError as error:
            raise self._told(error, given) from error

    def named(self, given: Records[str], i: int) -> str:
        """Return a record's file, and its byte offset there."""
        return f"{given.source}:{given.places[i]}"

    def facts(self) -> dict[str, Any]:
        asked = self._asked and {one.name: [one.form, str(one.kind.dtype), list(one.shape)] for one in self._asked}
        return {"files": len(self.names), "features": asked}

    def _told(self, error: InvalidArgumentError, given: Records[str]) -> InvalidArgumentError:
        record = getattr(error, "record", None) or 0
        failed = invalid(f"tfrecord: {given.source}, record at byte {given.places[record]:,}: {error.message}")
        return of_record(failed, self.named(given, record))


# Fewer records make a group only if they fill so many chunks: parsing a group costs 80 us, besides its records.
_FEW, _ENOUGH = 16, 16


def _groups(cut: Callable[[], tuple[list[bytes], list[int]]], name: str, chunk: int) -> Iterator[Records[str]]:
    """Yield records in groups: records beginning in the same chunk of the file, or more if these are few.

    A run resumed at any group thus gets the same groups, however much of the file was read at once.
    """
    records: list[bytes] = []
    places: list[int] = []
    while True:
        try:
            found, begins = cut()
        except Exception:
            if records:  # deliver them before the error
                yield Records(name, records, places)
            raise
        for record, place in zip(found, begins, strict=True):
            if (
                places
                and place // chunk != places[0] // chunk
                and (len(places) >= _FEW or place - places[0] >= _ENOUGH * chunk)
            ):
                yield Records(name, records, places)
                records, places = [], []
            records.append(record)
            places.append(place)
        if not found:
            if records:
                yield Records(name, records, places)
            return


def _rows_of(one: Wanted, found: SparseTensorValue, count: int) -> Any:
    """Return a feature's values if they vary in number: one array per example.

    Raises:
        InvalidArgumentError: They do not fill rows with the feature's shape; `record` is the example's index.
    """
    counts = np.bincount(found.indices[:, 0], minlength=count)
    if one.form == "rows" and len(wrong := np.flatnonzero(counts % one.size)):
        text = f"{one.name!r} has {counts[wrong[0]]} values, which do not fill rows of shape {list(one.shape)}"
        error = invalid(text)
        vars(error)["record"] = int(wrong[0])
        raise error
    shape = (-1, *one.shape) if one.form == "rows" else (-1,)
    return object_vector([each.reshape(shape) for each in np.split(found.values, np.cumsum(counts)[:-1])])
