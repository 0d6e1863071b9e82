"""fixed_length: records from files with a fixed number of bytes per record."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import integer, native, numpy_dtype, object_vector, truth
from pipeline.errors import DataLossError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit, too_long
from pipeline.files.offsets import identity_of
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import MANY, of_record
from pipeline.sources.indexed import IndexedParts, Places, Regular, source_of
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import Source
from pipeline.sources.text import opened


@tells_keywords
def fixed_length(
    files: Any,
    record_bytes: int,
    *,
    dtype: Any = None,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    drop_remainder: bool = False,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    index: bool = False,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> Source:
    """Read records with a fixed number of bytes.

    Names ending in .gz, .bz2, .xz, .zst or .zstd are decompressed. A resumed run continues mid-file.

    Args:
        files: A path, URL or pattern such as "data_batch_*.bin", or a list.
        record_bytes: Bytes per record.
        dtype: Dtype of arrays, such as "uint8" or "<f4"; None reads bytes.
        header_bytes: Bytes to skip at the start of each file.
        footer_bytes: Bytes to skip at the end of each file.
        drop_remainder: Drop an incomplete record at a file's end; by default it is an error.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the files, in a different order each epoch; add `.shuffle(n)` to mix records.
        seed: Seed for the order.
        shard: (index, count): read every count-th file.
        index: Read records by index: `shuffle`, `shuffle=True` and `shard=` then work on records, and `len` and `d[i]`
            work. Files must be local and not compressed.
        max_record_bytes: Limit for `record_bytes`; None for no limit.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        ValueError, TypeError, ImportError: An option is wrong, or fsspec is missing.
        ResourceExhaustedError: `record_bytes` is more than `max_record_bytes`.
        DataLossError: When you iterate: a file ends with an incomplete record, and `drop_remainder` is False. The
            error names file and record.

    Examples:
        >>> with open("points.bin", "wb") as file:
        ...     _ = file.write(np.arange(6, dtype="<f4").tobytes())
        >>> [point.tolist() for point in pipeline.fixed_length("points.bin", 8, dtype="<f4")]
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    size = _bytes(record_bytes, "record_bytes", 1)
    limit = byte_limit(max_record_bytes)
    if size > limit:
        raise too_long("fixed_length: a record has", limit)
    kind = None if dtype is None else numpy_dtype(dtype, "fixed_length: dtype")
    if kind is not None and kind.hasobject:
        raise TypeError(f"fixed_length: values of dtype {kind} are Python objects, which a file cannot hold")
    if kind is not None and (not kind.itemsize or size % kind.itemsize):
        raise invalid(f"fixed_length: records of {size:,} bytes do not consist of whole values of dtype {kind}")
    header, footer = _bytes(header_bytes, "header_bytes", 0), _bytes(footer_bytes, "footer_bytes", 0)
    drop = truth(drop_remainder, "fixed_length: drop_remainder")
    records = _FixedLength(expanded(files, "fixed_length"), size, kind, (header, footer), drop)
    return source_of(records, Epochs(num_epochs, shuffle, seed, shard), index, None)


def _bytes(given: Any, name: str, least: int) -> int:
    number = integer(given, f"fixed_length: {name}")
    if number < least:
        raise invalid(f"fixed_length: {name} must be at least {least}, got {number}")
    return number


class _Rows:
    """Records from a file, as rows of bytes.

    Args:
        name: The file.
        first: The first record's index in the file.
        rows: The records.
    """

    __slots__ = ("first", "name", "rows")

    def __init__(self, name: str, first: int, rows: NDArray[np.uint8]) -> None:
        self.name, self.first, self.rows = name, first, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: slice) -> _Rows:
        return _Rows(self.name, self.first + which.indices(len(self))[0], self.rows[which])


class _FixedLength(IndexedParts):
    kind = "fixed_length"
    unit = "files"
    most = MANY

    def __init__(
        self, names: Sequence[str], size: int, dtype: np.dtype[Any] | None, ends: tuple[int, int], drop: bool
    ) -> None:
        self.names = names
        self._size, self._dtype, self._drop = size, dtype, drop
        self._header, self._footer = ends

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield rows of bytes; a place is the first row's record index in the file."""
        name, size, footer = self.names[part], self._size, self._footer
        with opened(name) as file:
            number = place or 0
            if not number and not file.skip(self._header):
                raise _loss(name, 0, f"the file is shorter than its header of {self._header:,} bytes")
            if number:
                file.go_to(self._header + number * size)
            while True:
                # Up to the end of a chunk, so a run resumed here gets the same rows.
                count = max(1, math.ceil((file.CHUNK - file.offset % file.CHUNK) / size))
                more = file.fill(count * size + footer)
                if not more:
                    have = len(file.data) - file.position - footer
                    count, rest = divmod(have, size)
                if count > 0:
                    rows = np.frombuffer(file.data, np.uint8, count * size, file.position).reshape(count, size)
                    file.position += count * size
                    yield number, _Rows(name, number, rows)
                    number += count
                if not more:
                    if have < 0 and not number:
                        raise _loss(name, number, "the file is shorter than its header and footer")
                    if have >= 0 and rest and not self._drop:
                        raise _loss(name, number, f"the file ends after {rest:,} of its {size:,} bytes")
                    return

    def places(self, name: str, folder: str | None) -> Places:
        identity = identity_of(name)
        have = identity[0] - self._header - self._footer
        count, rest = divmod(have, self._size)
        if have < 0:
            raise _loss(name, 0, "the file is shorter than its header and footer")
        if rest and not self._drop:
            raise _loss(name, count, f"the file ends after {rest:,} of its {self._size:,} bytes")
        return Regular(name, identity, self._header, self._size, count)

    def piece(self, name: str, data: bytes, begin: int) -> _Rows:
        first = (begin - self._header) // self._size
        return _Rows(name, first, np.frombuffer(data, np.uint8).reshape(-1, self._size))

    def joined(self, pieces: Sequence[_Rows]) -> _Rows:
        return _Rows(pieces[0].name, 0, np.concatenate([each.rows for each in pieces]))

    def block(self, given: _Rows) -> Any:
        if self._dtype is None:
            return object_vector(given.rows.view(f"V{self._size}").reshape(-1).tolist())
        if self._dtype == np.bool_:
            return given.rows != 0  # each byte in a bool array must be 0 or 1
        return native(given.rows.copy().view(self._dtype))

    def named(self, given: _Rows, i: int) -> str:
        """Return a record's file, and its index there."""
        return f"{given.name}:{given.first + i}"

    def facts(self) -> dict[str, Any]:
        dtype = None if self._dtype is None else str(self._dtype)
        return {
            "files": len(self.names),
            "record_bytes": self._size,
            "dtype": dtype,
            "header_bytes": self._header,
            "footer_bytes": self._footer,
            **({"drop_remainder": True} if self._drop else {}),
        }


def _loss(name: str, number: int, text: str) -> DataLossError:
    failed = DataLossError(None, None, f"fixed_length: {name}, record {number:,}: {text}")
    return of_record(failed, f"{name}:{number}")
