"""webdataset: samples from tar shards, with files grouped by key and decoded by extension."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError, invalid
from pipeline.files.compression import compression_of
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit, too_long
from pipeline.files.offsets import Offsets
from pipeline.files.opening import open_file
from pipeline.files.read_buffer import ReadBuffer, held
from pipeline.files.tar import Member, TarReader
from pipeline.keywords import tells_keywords
from pipeline.sources.braces import without_braces
from pipeline.sources.decoded import copied, failure, plain
from pipeline.sources.extras import names_of
from pipeline.sources.indexed import IndexedParts, Places, source_of
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import Source
from pipeline.sources.webdataset_decoders import decoders as usual_decoders
from pipeline.sources.webdataset_decoders import unpacked
from pipeline.stages.block import Examples

# Samples read at once, and their maximum bytes.
_SAMPLES = 32
_BYTES = 1 << 22

_END = bytes(1024)  # ends an archive
_ANY = 1 << 62  # a limit no file exceeds


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
    index: bool = False,
    index_folder: Any = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> Source:
    """Read WebDataset tar shards: each sample is a dict with one value per file.

    Consecutive files with the same name up to the first dot are a sample. This name is its `__key__`; the rest names
    the value. Files without a dot are skipped. Archives are streamed, and may be compressed. Nothing is unpickled.

    Args:
        urls: A path, URL or pattern, or a list of them, with bash's braces: "train-{000..146}.tar", "{train,test}.tar".
        columns: Values to read. "jpg;png" reads the first one in a sample. None reads all.
        decoders: Functions from bytes to a value, by extension; they override the built-in ones: images become uint8
            arrays, `txt`, `text` and `transcript` str, `cls` and `id` integers, and `json`, `jsn`, `npy`, `npz`,
            `cbor`, `mp`, `msg` their contents, with a `ListValue` for a list of lists or objects. `gz` is decompressed
            first. Others stay bytes.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the shards, in a different order each epoch; add `.shuffle(n)` to mix samples.
        seed: Seed for the order.
        shard: (index, count): read every count-th shard.
        index: Read samples by index: `shuffle`, `shuffle=True` and `shard=` then work on samples, and `len` and
            `d[i]` work. The offsets are computed once per machine. Shards must be local and not compressed.
        index_folder: Folder for the index; None for the user's cache folder.
        max_record_bytes: Size limit for a file or sample; None for no limit.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        ValueError, TypeError, ImportError: An option is wrong, or fsspec, Pillow, cbor2 or msgpack is missing.
        DataLossError: When you iterate: an archive is damaged or truncated, or a text is not UTF-8. The error names
            shard and key.
        InvalidArgumentError: When you iterate: a value is missing, doubled or cannot be decoded, a file is sparse,
            a link, a device or a pipe, a sample's files are not neighbours, or no file in a shard belongs to a sample.
        ResourceExhaustedError: When you iterate: a file or sample is too large.

    Examples:
        >>> import io, tarfile
        >>> with tarfile.open("shard-0.tar", "w") as tar:
        ...     member = tarfile.TarInfo("cat.cls")
        ...     member.size = 1
        ...     tar.addfile(member, io.BytesIO(b"7"))
        >>> [(sample["__key__"], int(sample["cls"])) for sample in pipeline.webdataset("shard-0.tar")]
        [('cat', 7)]
    """
    chosen = names_of(columns, "webdataset")
    if chosen is not None and not chosen:
        raise ValueError("webdataset: no columns are chosen")
    _check_decoders(decoders)
    given = [urls] if isinstance(urls, (str, bytes, os.PathLike)) else urls
    if isinstance(given, (list, tuple)):
        paths = [os.fsdecode(each) if isinstance(each, (bytes, os.PathLike)) else each for each in given]
        given = [name for each in paths for name in (without_braces(each) if isinstance(each, str) else [each])]
    shards = _Shards(expanded(given, "webdataset"), chosen, decoders or {}, byte_limit(max_record_bytes))
    return source_of(shards, Epochs(num_epochs, shuffle, seed, shard), index, index_folder)


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


class ShardSample(NamedTuple):
    """The files with a common key.

    Attributes:
        place: Its start in the archive; its index if the archive is compressed.
        shard: The archive's name.
        key: The common part of the names.
        files: Each file's bytes, by extension.
        twice: A repeated extension; "" if there is none.
    """

    place: int
    shard: str
    key: str
    files: dict[str, bytes]
    twice: str = ""


class _Shards(IndexedParts):
    joins = False  # neighbours with one key would be one sample
    kind = "webdataset"
    unit = "shards"
    lighter = 'Leave decoding to `.map(..., workers=n)`, with `decoders={"jpg": bytes}` and the like'
    most = _SAMPLES
    one_by_one = True

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[str] | None,
        own_decoders: Mapping[str, Callable[[bytes], Any]],
        limit: int,
    ) -> None:
        self.names = names
        self._columns = None if columns is None else [(each, each.lower().split(";")) for each in columns]
        own = {name: functools.partial(copied, decoder) for name, decoder in own_decoders.items()}
        self._decoders: dict[str, Callable[[bytes], Any]] = {**usual_decoders(limit), **own}
        self._limit = limit
        self._own_decoders = tuple(own_decoders.items())
        self.calls = bool(own_decoders)

    def functions(self) -> tuple[Any, ...]:
        return self._own_decoders

    def places(self, name: str, folder: str | None) -> Places:
        return Offsets(name, "samples", sample_offsets, folder)

    def piece(self, name: str, data: bytes, begin: int) -> list[ShardSample]:
        archive = TarReader(held(data + _END, begin), self._limit)
        groups = itertools.groupby(_members(archive, []), operator.attrgetter("key"))
        with _named(name):
            return [_gathered(name, key, group, self._limit, True) for key, group in groups]

    def joined(self, pieces: Sequence[list[ShardSample]]) -> list[ShardSample]:
        return [sample for each in pieces for sample in each]

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield lists of samples; a place is the first sample's."""
        piece: list[ShardSample] = []
        size = 0
        for sample in _samples(self.names[part], place or 0, self._limit):
            piece.append(sample)
            size += sum(map(len, sample.files.values()))
            if len(piece) == _SAMPLES or size >= _BYTES:
                yield piece[0].place, piece
                piece, size = [], 0
        if piece:
            yield piece[0].place, piece

    def block(self, piece: Sequence[ShardSample]) -> Examples:
        return Examples([self._decoded(sample) for sample in piece])

    def named(self, piece: Sequence[ShardSample], i: int) -> str:
        """Return a sample's shard and key."""
        key = os.fsencode(piece[i].key).decode(errors="backslashreplace")  # it may be shown anywhere
        return f"{piece[i].shard}:{key}"

    def facts(self) -> dict[str, Any]:
        columns = None if self._columns is None else [name for name, _ in self._columns]
        return {"files": len(self.names), "values": columns}

    def _decoded(self, sample: ShardSample) -> dict[str, Any]:
        if sample.twice:
            raise invalid(f"webdataset: {sample.shard}: sample {sample.key!r} has {sample.twice!r} twice")
        chosen = self._columns or [(name, [name]) for name in ["__key__", *sample.files]]
        return {name: self._value(sample, name, extensions) for name, extensions in chosen}

    def _value(self, sample: ShardSample, name: str, extensions: Sequence[str]) -> Any:
        if name == "__key__":
            return sample.key
        where = f"webdataset: {sample.shard}: sample {sample.key!r}"
        found = next((each for each in extensions if each in sample.files), None)
        if found is None:
            raise invalid(f"{where} has no {name!r}; it has {', '.join(map(repr, sorted(sample.files)))}")
        try:
            return self._decoded_file(found, sample.files[found])
        except Exception as error:
            found_error = failure(error, f"{where}: {found!r}", f"pass decoders={{{found!r}: bytes}}")
            if found_error is error:
                raise
            raise found_error from error

    def _decoded_file(self, name: str, data: bytes) -> Any:
        """Return the decoded file, or its bytes if its name has no decoder."""
        while True:
            rest, _, last = name.rpartition(".")
            decoder = self._decoders.get(name) or self._decoders.get(last)
            if decoder is not None:
                return plain(decoder(data))
            if last != "gz":
                return data
            name, data = rest, unpacked(data, self._limit)


def _samples(name: str, place: int, limit: int) -> Iterator[ShardSample]:
    """Yield an archive's samples from a place on; none has more bytes than the limit."""
    compression = compression_of(name)
    opened = open_file(os.fsencode(name), compression)
    with contextlib.closing(opened), _named(name):
        file = ReadBuffer(opened)
        seen: dict[str, frozenset[str]] = {}
        if not compression and place:  # tar archives can be read from any file on
            # If the archive is ordered by extension, the first key is the first to repeat.
            for first in itertools.islice(_members(TarReader(file, limit), []), 1):
                seen[first.key] = frozenset([first.extension])
            file.go_to(place)
        others: list[str] = []
        members = _members(TarReader(file, limit), others)
        empty = place == 0
        for number, (key, group) in enumerate(itertools.groupby(members, operator.attrgetter("key"))):
            empty = False
            sample = _gathered(name, key, group, limit, number >= place or not compression)
            _check_whole(key, sample.files, seen)
            if not compression:
                yield sample
            elif number >= place:
                yield sample._replace(place=number)
        if empty:
            _refuse_others(others)


def sample_offsets(name: str) -> NDArray[np.int64]:
    """Find an archive's samples; see Offsets."""
    opened = open_file(os.fsencode(name))
    begins: list[int] = []
    others: list[str] = []
    seen: dict[str, frozenset[str]] = {}
    with contextlib.closing(opened), _named(name):
        members = _members(TarReader(ReadBuffer(opened), _ANY), others)
        for key, group in itertools.groupby(members, operator.attrgetter("key")):
            files = list(group)
            begins.append(files[0].member.offset)
            _check_whole(key, {each.extension: b"" for each in files}, seen)
        if not begins:
            _refuse_others(others)
        return np.array([*begins, opened.size_limit() or 0], np.int64)


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Add the archive's name to errors."""
    try:
        yield
    except (DataLossError, InvalidArgumentError, ResourceExhaustedError) as error:
        raise type(error)(None, None, f"webdataset: {name}: {error}") from error


def _refuse_others(others: list[str]) -> None:
    """Raise an error for an archive without files belonging to samples."""
    if others:
        text = "no file belongs to a sample: their names have no dot after a key, as 0001.jpg has"
        raise invalid(f"{text}; the first is {others[0]!r}")


def _gathered(shard: str, key: str, group: Iterable[_File], limit: int, read: bool) -> ShardSample:
    """Gather a sample from its files, with their bytes only if `read`."""
    files: dict[str, bytes] = {}
    at, size, twice = None, 0, ""
    for each in group:
        at = each.member.offset if at is None else at
        if each.extension in files:
            twice = each.extension
            continue
        size += each.member.size
        if size > limit:
            raise too_long(f"with {each.member.name!r}, sample {key!r} has", limit)
        files[each.extension] = each.read() if read else b""
    return ShardSample(at or 0, shard, key, files, twice)


def _check_whole(key: str, files: Mapping[str, bytes], seen: dict[str, frozenset[str]]) -> None:
    """Raise an error for a partial sample if its other part came earlier; a whole sample may repeat.

    Args:
        key: Its key.
        files: Its files, by extension.
        seen: Each key's extensions so far; this key's are added.
    """
    here = frozenset(files)
    before = seen.get(key, here)
    if before.isdisjoint(here):
        shown = (", ".join(map(repr, sorted(each))) for each in (before, here))
        raise invalid(
            f"sample {key!r} has {' and, after other samples, '.join(shown)}: the files of a sample must be next to "
            "each other, as tar --sort=name writes them"
        )
    seen[key] = here


class _File(NamedTuple):
    """A sample's file.

    Attributes:
        key: The common part of the sample's filenames.
        extension: The rest of its name, in lower case.
        member: Its header in the archive.
        read: Returns its bytes, until the next file is requested.
    """

    key: str
    extension: str
    member: Member
    read: Callable[[], bytes]


def _members(archive: TarReader, others: list[str]) -> Iterator[_File]:
    """Yield an archive's files belonging to samples; appends the first other file's name to `others`."""
    for member in archive.members():
        folder, slash, last = member.name.rpartition("/")
        stem, dot, extension = last.partition(".")
        if dot and stem:
            if member.link:
                text = f"{member.name!r} is a link to {member.link!r}, and its sample would be lost: write the archive"
                raise invalid(f"{text} with tar --dereference --hard-dereference")
            yield _File(folder + slash + stem, extension.lower(), member, functools.partial(archive.read, member))
        elif not others:
            others.append(member.name)
