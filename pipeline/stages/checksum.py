"""checksum: include the bytes of delivered elements in `fingerprint`."""

from __future__ import annotations

import dataclasses
import math
import zlib
from typing import Any

import numpy as np

from pipeline.foreign import numpy_of
from pipeline.nest import TupleParts, is_dataclass, parts_of
from pipeline.stages.block import Columns, as_columns
from pipeline.stages.node import PassThrough, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream

_LOW, _WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


class Checksum(PassThrough):
    """Passes elements on and includes their bytes in the fingerprint."""

    kind = "checksum"
    stage = ""
    summed = 0

    def summed_after(self, batches: int) -> int:
        return 0

    @property
    def waits(self) -> bool:
        return self.source.waits

    def stream(self, run: Run, state: Any = None) -> Stream:
        return opened(self.source, run, state)


class Sum:
    """Sums the bytes of all elements, in order.

    Args:
        batches: Number of batchings after the checksum: batches are split again that many times.
        value: The sum before this.
    """

    def __init__(self, batches: int, value: int = 0) -> None:
        self._batches, self.value = batches, value

    def add(self, element: Any) -> None:
        """Add an element.

        Raises:
            TypeError: Its bytes would differ in another run.
        """
        self.value = self._added(element, self._batches, self.value)

    def _added(self, element: Any, batches: int, value: int) -> int:
        if not batches:
            return (value * _LOW + crc_of(element, 0) + 1) & _WORD
        rows = _rows(element)
        sums = _sums_of_rows(rows) if batches == 1 else None
        if sums is None:
            for row in rows.examples():
                value = self._added(row, batches - 1, value)
            return value
        for each in sums:
            value = (value * _LOW + each + 1) & _WORD
        return value


def _rows(batch: Any) -> Columns:
    kind = TupleParts(batch) if type(batch) is tuple else batch
    column = kind
    while (parts := parts_of(column)) is not None and not isinstance(column, np.ndarray):
        column = next(iter(parts))
    return as_columns(kind, len(column))


def _sums_of_rows(rows: Columns) -> list[int] | None:
    """Return `crc_of` for each row; None for a deeper structure or rows other than numbers.

    Calling `crc_of` for each row takes 20 times as long; see bench `test_checksum`.
    """
    keys = rows.structure
    if not all(map(_is_bytes, rows.arrays)) or not (keys is None or type(keys) in (int, tuple)):
        return None
    sums = [0] * len(rows)
    if keys is not None:
        count = keys if type(keys) is int else 2 * len(keys)
        sums = [zlib.crc32(b"%d:" % count)] * len(rows)
    for i, column in enumerate(rows.arrays):
        head = f"{column.dtype.str} {column.shape[1:]}:".encode()
        data, size = memoryview(_bytes_of(column)), column.dtype.itemsize * math.prod(column.shape[1:])
        for k in range(len(rows)):
            before = sums[k] if type(keys) is not tuple else crc_of(keys[i], sums[k])
            sums[k] = zlib.crc32(data[k * size : (k + 1) * size], zlib.crc32(head, before))
    return sums


def _is_bytes(column: Any) -> bool:
    """Return whether a column's rows count by their bytes; single float64 numbers are Python's and count as text."""
    return (
        type(column) is np.ndarray
        and not column.dtype.hasobject
        and column.dtype.isnative
        and (column.ndim > 1 or (column.dtype.kind in "iufb" and column.dtype.char != "d"))
    )


def _bytes_of(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def crc_of(value: Any, before: int) -> int:
    """Return the CRC-32 of a value after earlier ones, from its type or dtype, its shape, and its bytes.

    Raises:
        TypeError: Its bytes would differ in another run.
    """
    kind = type(value)
    if kind is not np.ndarray and isinstance(value, (bool, int, float, complex, np.generic)):
        if not isinstance(value, (int, float)) or -(1 << 63) <= value < 1 << 63:
            value = np.asarray(value)
        else:
            return zlib.crc32(repr(value).encode(), before)
    if isinstance(value, (bytes, str)):
        data = value.encode(errors="surrogatepass") if isinstance(value, str) else value
        return zlib.crc32(data, zlib.crc32(b"%s %d:" % (kind.__name__.encode(), len(data)), before))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        head = f"{value.dtype.str} {value.shape}:".encode()
        return zlib.crc32(_bytes_of(value), zlib.crc32(head, before))
    if value is None:
        return zlib.crc32(b"None", before)
    if isinstance(value, dict):
        items: list[Any] = [each for item in value.items() for each in item]
    elif is_dataclass(value):
        items = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, np.ndarray):
        items = list(value.flat)
    elif isinstance(value, (list, tuple)):
        items = list(value)
    elif hasattr(kind, "__array__"):
        return crc_of(numpy_of(value), before)
    else:
        raise TypeError(
            f"checksum: expected arrays, numbers and strings, got {kind.__name__}, whose bytes differ from run to run: "
            "put checksum() before the function that makes it"
        )
    before = zlib.crc32(b"%d:" % len(items), before)
    for each in items:
        before = crc_of(each, before)
    return before
