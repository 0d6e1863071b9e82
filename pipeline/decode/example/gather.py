"""Gather one feature's values from many Examples by joining their bytes and reading all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.example.lists import ListKind
from pipeline.decode.example.locate import FoundList
from pipeline.decode.wire import WireError, pack_varints, unpack_varints, varint

_FLOAT = np.dtype("<f4")


class FeatureValues(NamedTuple):
    """One feature's values: the count per example, and all values in example order."""

    counts: NDArray[np.int64]
    values: NDArray[Any]


def gather_values(kind: ListKind, found: Sequence[FoundList | None], default: NDArray[Any] | None) -> FeatureValues:
    """Return the values in lists with one kind; an example without a list has the default, or no values.

    Raises:
        WireError: A list is damaged.
    """
    if kind.dtype.hasobject:
        return _strings(kind, found, default)
    floats = kind.number == 2
    absent = b""
    if default is not None:
        absent = default.astype(_FLOAT).tobytes() if floats else pack_varints(default.tolist())
    packed = [_packed(kind, place) if place is not None and place[0] else absent for place in found]
    joined = bytearray().join(packed)  # writable, so the array needs no copy
    sizes = np.fromiter(map(len, packed), np.int64, len(packed))
    if floats:
        if (sizes % 4).any():
            raise WireError("the size of a list of floats is not a multiple of 4 bytes")
        return FeatureValues(sizes // 4, np.frombuffer(joined, _FLOAT).astype(np.float32, copy=False))
    last = np.frombuffer(joined, np.uint8) < 128  # each number's last byte
    ends = np.cumsum(sizes)
    if not last[ends[sizes > 0] - 1].all():
        raise WireError("the last number of a list has no end")
    ended = np.concatenate(([0], np.cumsum(last)))
    return FeatureValues(ended[ends] - ended[ends - sizes], unpack_varints(bytes(joined), 0, len(joined)))


def _packed(kind: ListKind, place: FoundList) -> bytes:
    """Return a list's numbers as the bytes of a packed field."""
    _, data, begin, end = place
    if end - begin > 1 and data[begin] == 0x0A:
        size, at = data[begin + 1], begin + 2
        if size > 127:
            size, at = varint(data, begin + 1, end)
        if at + size == end:
            return data[at:end]
    values = kind.read(data, begin, end)
    return values.astype(_FLOAT).tobytes() if kind.number == 2 else pack_varints(values.tolist())


def _strings(kind: ListKind, found: Sequence[FoundList | None], default: NDArray[Any] | None) -> FeatureValues:
    absent = [] if default is None else default.tolist()
    lists = [kind.read(*place[1:]) if place is not None and place[0] else absent for place in found]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = np.empty(int(counts.sum()), object)
    values[:] = [value for one in lists for value in one]
    return FeatureValues(counts, values)
