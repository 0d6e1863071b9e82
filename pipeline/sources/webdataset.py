"""webdataset: the samples of tar shards, whose files are grouped by key and decoded by extension."""

from __future__ import annotations

import functools
import io
import itertools
import json
import os
import re
import tarfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.decode.image.decode import decode_image
from pipeline.errors import DataLossError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.opening import open_file
from pipeline.keywords import tells_keywords
from pipeline.nest import Nest, is_nested
from pipeline.sources.extras import stacked
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.stream import StreamSource

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")

# Samples that are read at once, at most so many bytes of them.
_SAMPLES = 32
_BYTES = 1 << 22

# Bytes that are read at once after the end of an archive.
_REST = 1 << 16


def _image(data: bytes) -> Any:
    return decode_image(data, channels=3, expand_animations=False)


@functools.lru_cache(256)
def _layout(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What the head of an .npy file says: shape, whether the first index runs fastest, and dtype."""
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(head[8:]))
    return shape, fortran, dtype


def _array(data: bytes) -> Any:
    """As `np.load`, which reads the same head anew for each sample: three quarters of the time of a small array."""
    end = 10 + int.from_bytes(data[8:10], "little")
    if data[:8] != b"\x93NUMPY\x01\x00" or len(data) < end or (layout := _layout(data[:end]))[2].hasobject:
        return np.load(io.BytesIO(data), allow_pickle=False)
    shape, fortran, dtype = layout
    return np.ndarray(shape, dtype, data, end, order="F" if fortran else "C").copy(order="K")


def _arrays(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


DECODERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "bmp"), _image),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), int),
    "json": json.loads,
    "npy": _array,
    "npz": _arrays,
}


@tells_keywords
def webdataset(
    urls: Any,
    columns: Sequence[str] | None = None,
    decoders: Mapping[str, Callable[[bytes], Any]] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> StreamSource:
    """Make a source of the samples of WebDataset shards: each is a dict with a value for each file of a key.

    Files of a tar archive that follow each other and have the same name up to the first dot of the last part are a
    sample: that name is its `__key__`, and the rest, in lower case, names each value. Archives are streamed; nothing is
    written to disk. They may be compressed: `.tar.gz`, `.tgz`, `.tar.bz2`, `.tar.xz`, `.tar.zst`.

    Args:
        urls: A path, URL or pattern, or a list of them; braces stand for several, as in "train-{000..146}.tar" and
            "{train,test}.tar". URLs are opened by fsspec.
        columns: The names of the values to take. "jpg;png" takes the first of these that a sample has. None takes all,
            and the key, as bytes, under the name `__key__`, which may also be chosen.
        decoders: What makes a value of the bytes of a file, by the part of its name after the last dot: by default
            images become RGB arrays of uint8, `cls` and `id` integers, `json` what it holds, `npy` an array and `npz` a
            dict of arrays; all others, texts too, stay bytes. Yours come before these. Several threads call them.
        num_epochs: How often the shards are read; None means without end.
        shuffle: Whether the shards come in random order, another one in each epoch; `shuffle_batch` mixes samples.
        seed: Seed of the orders.
        shard: (index, count): read the shards `index`, `index + count`, ... of each order.

    Returns:
        The source, for the batch functions.

    Raises:
        NotFoundError: There is no such file, or a pattern matches nothing.
        ValueError: `num_epochs` or `shard` is out of range, no columns are chosen, or the extension of a decoder has
            capitals or a dot in front.
        TypeError: A decoder is not callable, or a number is not an integer.
        ImportError: A path is a URL and fsspec is not installed.

        When a batch is taken: DataLossError, if a file is no archive, damaged or cut short, or goes on after the end of
        the archive; InvalidArgumentError, if a sample has no such value, or the same one twice, or cannot be decoded.
        The error names the file and the key.
    """
    if isinstance(columns, (str, bytes)):
        raise TypeError(f"webdataset: columns must be a list of names, such as [{columns!r}], not {columns!r}")
    if columns is not None and not columns:
        raise ValueError("webdataset: no columns are chosen")
    _check_decoders(decoders)
    given = [urls] if isinstance(urls, (str, bytes, os.PathLike)) else urls
    if isinstance(given, (list, tuple)):
        given = [name for each in given for name in _without_braces(each)]
    names = expanded(given, "webdataset")
    return StreamSource(
        _Shards(names, columns, {**DECODERS, **(decoders or {})}), Epochs(num_epochs, shuffle, seed, shard)
    )


def _check_decoders(decoders: Any) -> None:
    if decoders is not None and not isinstance(decoders, Mapping):
        raise TypeError(f"webdataset: decoders must be a dict of functions by extension, not {decoders!r:.80}")
    for extension, decoder in (decoders or {}).items():
        if not callable(decoder):
            raise TypeError(
                f"webdataset: the decoder of {extension!r} must be callable, not {decoder!r:.80}; "
                "bytes leaves values as they are"
            )
        usual = str(extension).lower().lstrip(".")
        if extension != usual:
            raise ValueError(
                f"webdataset: no value has the extension {extension!r}, as names are in lower case, without the first "
                f"dot: pass the decoder as {usual!r}"
            )


def _without_braces(path: Any) -> list[Any]:
    """Return the paths that one with braces stands for."""
    found = _BRACES.search(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else None
    if found is None:
        return [path]
    name, inner = os.fsdecode(path), _RANGE.fullmatch(found[1])
    if inner is not None:
        first, last = inner.groups()
        parts = [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    elif "," in found[1]:
        parts = found[1].split(",")
    else:
        return [path]
    return [each for part in parts for each in _without_braces(name[: found.start()] + part + name[found.end() :])]


class Sample(NamedTuple):
    """The files of a key.

    Attributes:
        place: Where it begins in the archive; its number where the archive is compressed.
        shard: The name of the archive.
        key: What the names have in common.
        files: The bytes of each by extension.
    """

    place: int
    shard: str
    key: str
    files: dict[str, bytes]


class _Shards:
    kind = "webdataset"
    unit = "shards"
    most = _SAMPLES
    singly = True
    of_files = True
    no_state: str | None = None

    def __init__(
        self, names: Sequence[str], columns: Sequence[str] | None, decoders: Mapping[str, Callable[[bytes], Any]]
    ) -> None:
        self.names = names
        self._columns = None if columns is None else [(each, each.lower().split(";")) for each in columns]
        self._decoders = decoders

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield lists of samples; a place is that of the first of them."""
        piece: list[Sample] = []
        size = 0
        for sample in _samples(self.names[part], place or 0):
            piece.append(sample)
            size += sum(map(len, sample.files.values()))
            if len(piece) == _SAMPLES or size >= _BYTES:
                yield piece[0].place, piece
                piece, size = [], 0
        if piece:
            yield piece[0].place, piece

    def block(self, piece: Sequence[Sample]) -> dict[str, Any]:
        rows = [self._decoded(sample) for sample in piece]
        if any(row.keys() != rows[0].keys() for row in rows):
            other = next(i for i, row in enumerate(rows) if row.keys() != rows[0].keys())
            first, second = (f"{piece[i].key!r} has {', '.join(sorted(rows[i]))}" for i in (0, other))
            raise invalid(f"webdataset: {piece[other].shard}: samples differ: {first}; {second}. Choose columns")
        return {name: self._column(piece, [row[name] for row in rows], name) for name in rows[0]}

    def _column(self, piece: Sequence[Sample], values: list[Any], name: str) -> Any:
        """A column of samples; an error names the first that is not like the first of all."""
        try:
            return stacked(values, f"webdataset: {name!r}")
        except (TypeError, ValueError):
            for sample, value in zip(piece, values, strict=True):
                stacked([values[0], value], f"webdataset: {sample.shard}: sample {sample.key!r}: {name!r}")
            raise

    def named(self, piece: Sequence[Sample], i: int) -> str:
        """Shard and key of a sample."""
        return f"{piece[i].shard}:{piece[i].key}"

    def facts(self) -> dict[str, Any]:
        columns = None if self._columns is None else [name for name, _ in self._columns]
        return {"files": len(self.names), "values": columns}

    def _decoded(self, sample: Sample) -> dict[str, Any]:
        chosen = self._columns or [(name, [name]) for name in ["__key__", *sample.files]]
        return {name: self._value(sample, name, extensions) for name, extensions in chosen}

    def _value(self, sample: Sample, name: str, extensions: Sequence[str]) -> Any:
        if name == "__key__":
            return sample.key.encode()
        where = f"webdataset: {sample.shard}: sample {sample.key!r}"
        found = next((each for each in extensions if each in sample.files), None)
        if found is None:
            raise invalid(f"{where} has no {name!r}; it has {', '.join(map(repr, sorted(sample.files)))}")
        decoder = self._decoders.get(found) or self._decoders.get(found.rpartition(".")[2])
        if decoder is None:
            return sample.files[found]
        try:
            return _plain(decoder(sample.files[found]))
        except Exception as error:
            raise invalid(f"{where}: {found!r} cannot be decoded: {error}") from error


def _plain(value: Any) -> Any:
    """A value as what can be stacked: lists and numbers as arrays."""
    if is_nested(value, False):
        nest = Nest(value, False)
        return nest.pack([_plain(inner) for inner in nest.flatten(value)])
    return value if isinstance(value, (bytes, str)) else np.asarray(value)


class _Member(tarfile.TarInfo):
    """A file of an archive, whose header is not the end: tarfile takes damage for that too."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: Any, errors: Any) -> Any:
        """As `TarInfo.frombuf`; ReadError if these bytes are no header, nor the zeros at the end of an archive."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) < tarfile.BLOCKSIZE:
                raise tarfile.ReadError("the archive is cut short") from error
            if any(buf):
                raise tarfile.ReadError(f"the archive is damaged: {error}") from error
            raise


def _samples(name: str, place: int) -> Iterator[Sample]:
    """Yield the samples of an archive from a place on."""
    # tarfile would decompress too, but without looking at the checksum.
    compression = compression_of(name)
    file = open_file(os.fsencode(name), compression)
    base = 0
    if not compression and place:  # tar archives can be read from any file on
        file.seek(place)
        base = place
    try:
        archive = tarfile.open(  # type: ignore[call-overload]  # noqa: SIM115 (holds no file)
            fileobj=file, mode="r|", tarinfo=_Member
        )
        members = _members(archive, base)
        for number, (key, group) in enumerate(itertools.groupby(members, lambda member: member[1])):
            files: dict[str, bytes] = {}
            at = None
            for offset, _, extension, data in group:
                at = offset if at is None else at
                if extension in files:
                    raise invalid(f"webdataset: {name}: sample {key!r} has {extension!r} twice")
                files[extension] = data
            if not compression:
                yield Sample(at or 0, name, key, files)
            elif number >= place:
                yield Sample(number, name, key, files)
    except (tarfile.TarError, EOFError, OSError, DataLossError) as error:
        raise DataLossError(None, None, f"webdataset: {name}: {error}") from error
    finally:
        file.close()


def _members(archive: tarfile.TarFile, base: int) -> Iterator[tuple[int, str, str, bytes]]:
    """Yield where each file of an archive begins, the key and the extension that make its name, and its bytes."""
    for member in archive:
        folder, slash, last = member.name.rpartition("/")
        stem, dot, extension = last.partition(".")
        if member.isfile() and dot and stem:
            data = archive.extractfile(member)
            assert data is not None  # it is a file
            yield base + member.offset, folder + slash + stem, extension.lower(), data.read()
        archive.members.clear()  # type: ignore[attr-defined]  # it would remember all of them
    # Read on to the end: that checks what is compressed, and finds files that come after zeros in the middle.
    rest: Any = archive.fileobj
    while piece := rest.read(_REST):
        if piece.count(0) < len(piece):
            raise tarfile.ReadError(f"it goes on after the end of the archive at byte {base + archive.offset:,}")
