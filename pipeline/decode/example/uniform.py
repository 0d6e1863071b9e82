"""The fast path for Examples with equal layout: a byte table, cut into columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.example.features import Wanted
from pipeline.decode.example.gather import FeatureValues
from pipeline.decode.example.locate import FoundList, find_lists
from pipeline.decode.wire import WireError, unpack_varints

_FEWEST = 8  # examples; fewer are faster singly
_LARGEST = 1 << 14  # bytes per example; for larger ones, finding the features costs nothing compared with copying
_FLOAT = np.dtype("<f4")


def uniform_columns(block: Sequence[bytes], asked: Sequence[Wanted]) -> list[FeatureValues] | None:
    """Return the values of all requested features; None if examples must be parsed singly, also to find errors."""
    if len(block) < _FEWEST or not 0 < len(block[0]) <= _LARGEST:
        return None
    first, size = block[0], len(block[0])
    if any(len(one) != size for one in block):
        return None
    try:
        lists = find_lists(first)
    except WireError:
        return None
    begins = {key: _values_begin(first, found) for key, found in lists.items()}
    if None in begins.values() or any(lists.get(one.key, (0,))[0] != one.kind.number for one in asked):
        return None
    table = np.frombuffer(b"".join(block), np.uint8).reshape(len(block), size)
    fixed = np.ones(size, bool)  # bytes that must match the first example
    for key, (number, _, _, end) in lists.items():
        begin = begins[key]
        fixed[begin:end] = False
        if number == 3:  # as many numbers, with the same bytes each, as in the first example
            last = table[:, begin:end] < 128
            if not last[0, -1] or (last != last[0]).any():
                return None
    columns = table[:, fixed]
    if (columns != columns[0]).any():
        return None
    try:
        return [_column(block, table, lists[one.key], begins[one.key] or 0) for one in asked]
    except WireError:
        return None


def _values_begin(data: bytes, found: FoundList) -> int | None:
    """Return where a list's values begin if they fill the rest of it: one string, or packed numbers."""
    number, within, begin, end = found
    if within is not data or end - begin < 3 or data[begin] != 0x0A:
        return None
    size, at = data[begin + 1], begin + 2
    if size > 127:
        size, at = size & 127 | data[at] << 7, at + 1  # a larger size does not fit, so the next line refuses it
    return at if at + size == end and (number != 2 or size % 4 == 0) else None


def _column(block: Sequence[bytes], table: NDArray[np.uint8], found: FoundList, begin: int) -> FeatureValues:
    number, _, _, end = found
    rows = len(block)
    if number == 1:
        strings = np.empty(rows, object)
        strings[:] = [one[begin:end] for one in block]
        return FeatureValues(np.ones(rows, np.int64), strings)
    part = table[:, begin:end].copy()
    if number == 2:
        floats = part.reshape(-1).view(_FLOAT).astype(np.float32, copy=False)
        return FeatureValues(np.full(rows, (end - begin) // 4), floats)
    values = unpack_varints(part.tobytes(), 0, part.size)
    return FeatureValues(np.full(rows, len(values) // rows), values)
