"""mds: samples from Mosaic Streaming's shards, by index."""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import items, path_text, truth
from pipeline.errors import DataLossError, invalid
from pipeline.files.identity import names_of
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.mds import Columns, LocalShard, Shard, WholeShard, digest_of, read_index
from pipeline.files.random_file import RandomFiles
from pipeline.keywords import tells_keywords
from pipeline.sources.decoded import copied, failure, plain
from pipeline.sources.extras import chosen, last_used
from pipeline.sources.file_table import FileTable
from pipeline.sources.mds_encodings import decoder_of
from pipeline.sources.order import Epochs
from pipeline.sources.paths import at_home
from pipeline.sources.source import TableSource
from pipeline.stages.block import Examples

# Samples read at once, and their approximate bytes.
_MOST, _BYTES = 1024, 1 << 22

# Encodings with arrays, strings or bytes as values, in the form batches use.
_TO_CONVERT = ("json", "str_int", "str_float")


@tells_keywords
def mds(
    folders: Any,
    columns: Sequence[str] | None = None,
    decoders: Mapping[str, Callable[[bytes], Any]] | None = None,
    *,
    verify: bool = False,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> TableSource:
    """Read Mosaic Streaming's MDS shards: each sample is a dict with one value per column.

    Uncompressed shards on a disk are indexed by sample. If a shard is compressed or remote, shards are read as a whole,
    one at a time: `shuffle` then orders the shards and the samples in each, and `shard` divides the shards.

    Integers and floats become NumPy scalars, `ndarray` and `pil` arrays, `jpeg` and `png` uint8 arrays [height, width,
    3], and `str_decimal` str. Nothing is unpickled.

    Args:
        folders: The path or URL of a folder with an `index.json`, or a list of them.
        columns: Columns to read. None reads all.
        decoders: Functions from bytes to a value, by column. They replace the column encoding's decoder.
        verify: Check the hashes in the index before reading a shard's first sample.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the samples, in a different order each epoch.
        shard: (index, count): read every count-th sample, or shard.
        max_record_bytes: Largest shard to read as a whole; None for no limit.

    Raises:
        NotFoundError: There is no such folder, index or shard.
        DataLossError: An index or a shard is damaged. For shards when you iterate.
        ValueError, TypeError: An option is wrong, a column has pickles or an unknown encoding, or the folders have
            different columns.
        ImportError: fsspec, Pillow, backports.zstd, pyarrow (brotli and snappy) or xxhash is missing.
        InvalidArgumentError: When you iterate: a value cannot be decoded.
        ResourceExhaustedError: When you iterate: a shard is too large.
        FailedPreconditionError: When you iterate: a shard changed after you made the dataset.

    Examples:
        >>> from streaming import MDSWriter  # doctest: +SKIP
        >>> with MDSWriter(out="train", columns={"text": "str", "label": "int"}) as writer:  # doctest: +SKIP
        ...     writer.write({"text": "a cat", "label": 7})
        >>> pipeline.mds("train")[0]  # doctest: +SKIP
        {'label': np.int64(7), 'text': 'a cat'}
    """
    if isinstance(folders, (str, bytes, os.PathLike)):
        folders = [folders]
    names = [at_home(path_text(each, "mds: a folder")) for each in items(folders, "mds: folders", "paths")]
    checks = truth(verify, "mds: verify")
    limit = byte_limit(max_record_bytes)
    _check_decoders(decoders)
    shards = [each for name in names for each in read_index(name.removeprefix("file://"))]
    if not shards:
        raise invalid(f"mds: there are no samples in {names!r:.200}")
    if checks and (bare := next((each for each in shards if not each.hashes), None)):
        raise invalid(f"mds: verify=True, and the index of '{bare.name}' has no hash: leave out verify=")
    epochs = Epochs(num_epochs, shuffle, seed, shard)
    return TableSource(_Samples(shards, columns, decoders or {}, checks, limit), epochs)


def _check_decoders(decoders: Any) -> None:
    if decoders is not None and not isinstance(decoders, Mapping):
        raise TypeError(f"mds: decoders must be a dict of functions by column, not {decoders!r:.80}")
    for name, decoder in (decoders or {}).items():
        if not callable(decoder):
            raise TypeError(f"mds: the decoder of {name!r} must be callable, not {decoder!r:.80}")


class _Field(NamedTuple):
    """A column to read: its name, its index in a sample, and its decoder."""

    name: str
    place: int
    decoder: Callable[[bytes], Any]


class _Layout:
    """How to cut up and decode a shard's samples."""

    def __init__(self, columns: Columns, fields: Sequence[_Field]) -> None:
        self._sizes = columns.sizes
        self._head = f"<{sum(not size for size in columns.sizes)}I"
        self._begin = struct.calcsize(self._head)
        self.fields = fields

    def values(self, sample: bytes) -> list[bytes]:
        """Return each column's bytes; ValueError if their total differs from the sample's size."""
        if len(sample) < self._begin:
            raise ValueError(f"it has {len(sample):,} bytes, fewer than the sizes of its values")
        varying = iter(struct.unpack_from(self._head, sample))
        at, found = self._begin, []
        for size in self._sizes:
            end = at + (size or next(varying))
            found.append(sample[at:end])
            at = end
        if at != len(sample):
            raise ValueError(f"it has {len(sample):,} bytes, and by the sizes of its values {at:,}")
        return found


class _Samples(FileTable):
    kind = "mds"
    lighter = "Read fewer columns (`columns=[...]`)"
    one_by_one = True

    def __init__(
        self,
        shards: Sequence[Shard],
        columns: Sequence[str] | None,
        decoders: Mapping[str, Callable[[bytes], Any]],
        verify: bool,
        limit: int,
    ) -> None:
        counts = [each.samples for each in shards]
        super().__init__([each.name for each in shards], counts)
        self._shards, self._verify, self._limit = shards, verify, limit
        self._decoders = tuple(decoders.items())
        self.columns = _chosen(shards, columns, decoders)
        layouts = {each.columns: _Layout(each.columns, _fields(each, self.columns, decoders)) for each in shards}
        self._layouts = [layouts[each.columns] for each in shards]
        whole = any(each.whole for each in shards)
        self.unit, self.sizes = ("shards", counts) if whole else ("samples", None)
        files = RandomFiles("mds")
        self._local = [] if whole else [LocalShard(each, files, verify) for each in shards]
        self.most = max(1, min(_MOST, _BYTES * sum(counts) // max(1, sum(each.raw_size for each in shards))))
        self.ahead = not decoders
        self._whole = last_used(self._loaded)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_whole": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._whole = last_used(self._loaded)

    def functions(self) -> tuple[Any, ...]:
        return self._decoders

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples(self.by_file(numbers, self._read))

    loose = take

    def _read(self, file: int, numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        shard = self._whole(file) if self.sizes is not None else self._local[file]
        samples = zip(numbers.tolist(), shard.read(numbers), strict=True)
        return [self._decoded(file, number, data) for number, data in samples]

    def _loaded(self, file: int) -> WholeShard:
        return WholeShard(self._shards[file], self._limit, self._verify)

    def _decoded(self, file: int, number: int, data: bytes) -> dict[str, Any]:
        layout, name = self._layouts[file], ""
        try:
            values = layout.values(data)
        except ValueError as error:
            raise DataLossError(
                None, None, f"mds: '{self.names[file]}': sample {number} is damaged: {error}"
            ) from error
        try:
            sample = {}
            for name, place, decoder in layout.fields:
                sample[name] = decoder(values[place])
            return sample
        except Exception as error:
            where, hint = f"mds: '{self.names[file]}': sample {number}: {name!r}", f"pass decoders={{{name!r}: bytes}}"
            found = failure(error, where, hint)
            if found is error:
                raise
            raise found from error

    def named(self, number: int) -> str:
        """Return a sample's shard, and its index there."""
        file, inside = self.place(number)
        return f"{self.names[file]}:{inside}"

    def facts(self) -> dict[str, Any]:
        # Unlike other tables, this does not read the ends of the files: the index identifies the shards just as well.
        index = {"files": len(self.names), **names_of(self.names), "index": digest_of(self._shards)}
        return {**index, "columns": self.columns, "whole": self.sizes is not None}


def _chosen(shards: Sequence[Shard], columns: Any, decoders: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns to read; all shards must have them."""
    first = shards[0]
    names = chosen(first.columns.names, columns, "mds")
    unknown = next((name for name in decoders if name not in names), None)
    if unknown is not None:
        raise invalid(f"mds: decoders= has {unknown!r}, and the columns are {', '.join(map(repr, names))}")
    for each in shards:
        here = each.columns.names
        lacks = next((name for name in names if name not in here), None)
        if lacks is None and columns is None:
            lacks = next((name for name in here if name not in names), None)
        if lacks is not None:
            text = f"mds: '{first.name}' and '{each.name}' differ in the column {lacks!r}, which only one of them has"
            raise invalid(f"{text}: pass columns= with those that all shards have")
    return names


def _fields(shard: Shard, names: Sequence[str], decoders: Mapping[str, Callable[[bytes], Any]]) -> list[_Field]:
    return [
        _Field(name, place, _decoder(shard, name, shard.columns.encodings[place], decoders.get(name)))
        for name in names
        for place in [shard.columns.names.index(name)]
    ]


def _decoder(shard: Shard, name: str, encoding: str, own: Callable[[bytes], Any] | None) -> Callable[[bytes], Any]:
    if own is not None:
        return functools.partial(_converted, functools.partial(copied, own))
    hint = f"leave the column out by columns=, or pass decoders={{{name!r}: ...}}"
    if encoding == "pkl":
        text = f"mds: column {name!r} of '{shard.name}' has pickles, which can run any code when they are read"
        raise invalid(f"{text}: {hint}, such as pickle.loads if you trust the shards")
    try:
        found = decoder_of(encoding)
    except ValueError as error:
        raise invalid(f"mds: column {name!r} of '{shard.name}' is encoded as {encoding!r}: {error}: {hint}") from error
    if found is None:
        raise invalid(f"mds: column {name!r} of '{shard.name}' is encoded as {encoding!r}, which is not known: {hint}")
    return functools.partial(_converted, found) if encoding in _TO_CONVERT else found


def _converted(decoder: Callable[[bytes], Any], data: bytes) -> Any:
    return plain(decoder(data))
