"""Shards in MDS, Mosaic Streaming's format: their index, and their samples' bytes."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, NotFoundError, invalid
from pipeline.files.compression import OpenFile, decompressed
from pipeline.files.limits import too_long
from pipeline.files.near_names import no_such_file
from pipeline.files.offsets import identity_of
from pipeline.files.opening import read_whole
from pipeline.files.random_file import RandomFiles

INDEX = "index.json"
_LARGEST_INDEX = 1 << 30
_PIECE = 1 << 20  # bytes decompressed or hashed at once

# Compressions by MDS name, with their names in `open_file`. pyarrow decompresses the others.
_COMPRESSIONS = {"gz": "GZIP", "bz2": "BZIP2", "zstd": "ZSTD"}
_OF_ARROW = {"br": "brotli", "snappy": "snappy"}


class Columns(NamedTuple):
    """A shard's columns.

    Attributes:
        names, encodings: Per column.
        sizes: Bytes per value; None if that varies.
    """

    names: tuple[str, ...]
    encodings: tuple[str, ...]
    sizes: tuple[int | None, ...]


class Shard(NamedTuple):
    """A shard as its index describes it.

    Attributes:
        name: Path or URL of the file to read.
        size: Its size in bytes.
        raw_size: Its decompressed size in bytes.
        compression: "" for none.
        hashes: Its hashes by algorithm name.
        samples: Number of samples.
        columns: Their columns.
    """

    name: str
    size: int
    raw_size: int
    compression: str
    hashes: dict[str, str]
    samples: int
    columns: Columns

    @property
    def whole(self) -> bool:
        """True if the shard is read as a whole: it is compressed or remote."""
        return bool(self.compression) or "://" in self.name


def read_index(folder: str) -> list[Shard]:
    """Return a folder's shards, without empty ones.

    Args:
        folder: A path or URL.

    Raises:
        NotFoundError, ...: The index or a shard is not there.
        DataLossError: The index is damaged, or a local shard's size differs from the index.
        InvalidArgumentError: It describes files in another format or version.
        ImportError: fsspec is missing.
    """
    place = f"{folder.rstrip('/')}/{INDEX}"
    if "://" not in folder and not os.path.exists(place):
        raise _no_index(folder, place)
    data = read_whole(os.fsencode(place), _LARGEST_INDEX)
    try:
        index = json.loads(data)
        version, shards = index["version"], index["shards"]
        found = [] if version != 2 else [_shard(folder, each) for each in shards]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, DataLossError):
            raise
        text = f"mds: '{place}' is not an index of MDS, or is damaged: {type(error).__name__}: {error}"
        raise DataLossError(None, None, text) from error
    if version != 2:
        raise invalid(f"mds: '{place}' has the version {version!r}, and only version 2 is known")
    other = next((each for each in found if isinstance(each, str)), None)
    if other is not None:
        raise invalid(f"mds: the shards of '{folder}' have the format {other!r}, and not 'mds'")
    return [_there(each, place) for each in found if isinstance(each, tuple) and each[0].samples]


def _no_index(folder: str, place: str) -> NotFoundError:
    if not os.path.isdir(folder):
        return no_such_file(folder)
    splits = sorted(each for each in os.listdir(folder) if os.path.exists(os.path.join(folder, each, INDEX)))
    hint = f": pass one of its folders, such as '{os.path.join(folder, splits[0])}'" if splits else ""
    return NotFoundError(None, None, f"mds: there is no '{place}'{hint}")


def _shard(folder: str, given: dict[str, Any]) -> str | tuple[Shard, Shard | None]:
    """Return a shard uncompressed, and compressed or None; if its format is not MDS, return the format."""
    if given["format"] != "mds":
        return str(given["format"])
    sizes = [None if each is None else _count(each) for each in given["column_sizes"]]
    columns = Columns(_names(given["column_names"]), _names(given["column_encodings"]), tuple(sizes))
    if not len(columns.names) == len(columns.encodings) == len(columns.sizes) == len(set(columns.names)):
        raise ValueError("there are not as many encodings and sizes as different columns")
    raw, packed, samples = given["raw_data"], given.get("zip_data"), _count(given["samples"])
    size = _count(raw["bytes"])
    if samples and 4 * (samples + 2) > size:
        raise ValueError(f"{samples:,} samples do not fit into the {size:,} bytes of {raw['basename']!r:.200}")
    plain = Shard(_place(folder, raw["basename"]), size, size, "", _hashes(raw), samples, columns)
    if not packed:
        return plain, None
    kind = str(given["compression"]).partition(":")[0]
    name = _place(folder, packed["basename"])
    return plain, Shard(name, _count(packed["bytes"]), size, kind, _hashes(packed), samples, columns)


def _count(given: Any) -> int:
    if type(given) is not int or given < 0:
        raise ValueError(f"{given!r:.80} is not a number of bytes or samples")
    return given


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"{given!r:.80} is not a list of names")
    return tuple(given)


def _hashes(given: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in (given.get("hashes") or {}).items()}


def _place(folder: str, name: str) -> str:
    """Return a file's path in a folder; the index must not name files elsewhere."""
    if not isinstance(name, str) or not name or name.startswith("/") or "://" in name or ".." in name.split("/"):
        raise ValueError(f"{name!r:.200} is not the name of a file in this folder")
    return f"{folder.rstrip('/')}/{name}"


def _there(shard: tuple[Shard, Shard | None], place: str) -> Shard:
    """Return whichever of the two exists. A remote shard is compressed if its index lists it so."""
    plain, packed = shard
    if "://" in plain.name:
        return packed or plain
    found = plain if packed is None or os.path.exists(plain.name) else packed
    if not os.path.exists(found.name):
        raise NotFoundError(None, None, f"mds: there is no '{found.name}', which '{place}' has")
    if (size := os.stat(found.name).st_size) != found.size:
        text = f"mds: '{found.name}' has {size:,} bytes, and by '{place}' it has {found.size:,}"
        raise DataLossError(None, None, text)
    return found


class LocalShard:
    """An uncompressed shard on a disk, with samples read individually. It pickles without its offsets.

    Thread safety: every method may be called from any thread.

    Args:
        shard: The shard.
        files: Reads it.
        verify: Check its hashes before reading the first sample.
    """

    def __init__(self, shard: Shard, files: RandomFiles, verify: bool) -> None:
        self.shard, self._files, self._verify = shard, files, verify
        self._identity = identity_of(shard.name)
        self._offsets: NDArray[np.int64] | None = None

    def read(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return samples as bytes.

        Raises:
            DataLossError: The shard is damaged.
            FailedPreconditionError: It has changed since the dataset was made.
        """
        if self._offsets is None:
            self._offsets = self._read_offsets()
        begins, ends = self._offsets[numbers], self._offsets[numbers + 1]
        return self._files.read(self.shard.name, self._identity, begins.tolist(), ends.tolist())

    def _read_offsets(self) -> NDArray[np.int64]:
        shard = self.shard
        if self._verify:
            hashes = _Hashes(shard)
            for begin in range(0, shard.size, _PIECE):
                hashes.update(self._bytes(begin, min(begin + _PIECE, shard.size)))
            hashes.check()
        return _offsets(self._bytes(0, min(4 * (shard.samples + 2), shard.size)), shard)

    def _bytes(self, begin: int, end: int) -> bytes:
        return self._files.read(self.shard.name, self._identity, [begin], [end])[0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_offsets": None}


class WholeShard:
    """A shard in memory.

    Args:
        shard: The shard.
        limit: Maximum size in bytes.
        verify: Check its hashes.

    Raises:
        NotFoundError, ...: It cannot be read.
        DataLossError: It is damaged.
        ResourceExhaustedError: It exceeds the limit.
        ImportError: A library that decompresses it is missing.
    """

    def __init__(self, shard: Shard, limit: int, verify: bool) -> None:
        if max(shard.size, shard.raw_size) > limit:
            raise too_long(f"mds: '{shard.name}' is read as a whole and has", limit)
        data = read_whole(os.fsencode(shard.name), limit)
        if len(data) != shard.size:
            raise _damage(shard, f"it has {len(data):,} bytes, and by its index {shard.size:,}")
        if verify:
            hashes = _Hashes(shard)
            hashes.update(data)
            hashes.check()
        self._data = _unpacked(data, shard) if shard.compression else data
        self._offsets = _offsets(self._data, shard)

    def read(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return samples as bytes."""
        ends = self._offsets[numbers + 1].tolist()
        return [self._data[begin:end] for begin, end in zip(self._offsets[numbers].tolist(), ends, strict=True)]


def _offsets(data: bytes, shard: Shard) -> NDArray[np.int64]:
    """Return a shard's sample offsets from its first bytes, and the end of the last sample."""
    count = shard.samples
    if len(data) < 4 * (count + 2) or int.from_bytes(data[:4], "little") != count:
        raise _damage(shard, f"it should begin with the places of {count:,} samples")
    offsets = np.frombuffer(data, "<u4", count + 1, 4).astype(np.int64)
    if offsets[0] < 4 * (count + 2) or (np.diff(offsets) < 0).any() or offsets[-1] != shard.raw_size:
        raise _damage(shard, f"its samples do not lie one after the other in {shard.raw_size:,} bytes")
    return offsets


class _Hashes:
    """A shard's hashes."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._found = {name: _hash(name, shard) for name in shard.hashes}

    def update(self, data: bytes) -> None:
        for each in self._found.values():
            each.update(data)

    def check(self) -> None:
        for name, each in self._found.items():
            if each.hexdigest() != self._shard.hashes[name]:
                raise _damage(self._shard, f"its {name} is not that of its index")


def _hash(name: str, shard: Shard) -> Any:
    import hashlib  # 3 ms, as it loads OpenSSL; programs that check no hashes skip it

    if name in hashlib.algorithms_available and not name.startswith("shake_"):
        return hashlib.new(name, usedforsecurity=False)
    if name not in ("xxh32", "xxh64", "xxh128", "xxh3_64", "xxh3_128"):
        raise invalid(f"mds: '{shard.name}' has a hash by {name!r}, which is not known: leave out verify=")
    try:
        import xxhash  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(f"mds: verify=True with the hash {name!r} needs xxhash: pip install xxhash") from error
    return getattr(xxhash, name)()


class _Held:
    """Bytes in memory as an open file."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def read(self, size: int) -> bytes:
        piece = bytes(self._data[self._at : self._at + size])
        self._at += len(piece)
        return piece

    def size_limit(self) -> int | None:
        return len(self._data)

    def seek(self, offset: int) -> bool:
        self._at = offset
        return True

    def identity(self, ends: bool) -> list[Any] | None:
        return None

    def close(self) -> None:
        pass


def _unpacked(data: bytes, shard: Shard) -> bytes:
    """Decompress a shard's bytes, up to the size in its index."""
    if shard.compression in _OF_ARROW:
        found = _by_arrow(data, shard)
    elif shard.compression in _COMPRESSIONS:
        file = decompressed(os.fsencode(shard.name), _Held(data), _COMPRESSIONS[shard.compression])
        found = _read_up_to(file, shard.raw_size + 1)
    else:
        known = ", ".join(map(repr, [*_COMPRESSIONS, *_OF_ARROW]))
        raise invalid(f"mds: '{shard.name}' is compressed by {shard.compression!r}; known are {known}")
    if len(found) != shard.raw_size:
        raise _damage(shard, f"decompressed it does not have {shard.raw_size:,} bytes")
    return found


def _read_up_to(file: OpenFile, size: int) -> bytes:
    pieces = []
    while size and (piece := file.read(min(size, _PIECE))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _by_arrow(data: bytes, shard: Shard) -> bytes:
    kind = _OF_ARROW[shard.compression]
    try:
        import pyarrow  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError(f"mds: shards compressed by {kind} need pyarrow: pip install pyarrow") from error
    try:
        if kind == "brotli":
            with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), kind) as file:
                return bytes(file.read(shard.raw_size + 1))
        if _snappy_size(data) != shard.raw_size:  # memory is allocated for it
            return b""
        return bytes(pyarrow.Codec(kind).decompress(data, shard.raw_size, asbytes=True))
    except (OSError, ValueError) as error:  # raised by Arrow
        raise _damage(shard, f"it cannot be decompressed: {error}") from error


def _snappy_size(data: bytes) -> int:
    """Return the decompressed size from the first bytes: seven bits per byte, in up to five bytes."""
    size = 0
    for i, byte in enumerate(data[:5]):
        size |= (byte & 127) << (7 * i)
        if byte < 128:
            break
    return size


def digest_of(shards: Sequence[Shard]) -> str:
    """Return a digest that identifies shards by their index entries."""
    text = repr([(each.samples, each.raw_size, sorted(each.hashes.items()), each.columns) for each in shards])
    return f"{zlib.crc32(text.encode()):08x}"


def _damage(shard: Shard, why: str) -> DataLossError:
    return DataLossError(None, None, f"mds: '{shard.name}' is damaged: {why}")
