"""Ids: what tells the elements of an order apart, and the fingerprint of an order.

The ids of a block are a `range` or an int64 array, or `PartHashes` where elements are made of several, as batches are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._flow import fold, fold_hashes, fold_range, mix_ids, salted, sum_hashes


class PartHashes:
    """Elements by the fingerprint of what each consists of, and how many examples that is."""

    __slots__ = ("counts", "hashes")

    def __init__(self, hashes: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        self.hashes, self.counts = hashes, counts

    def __len__(self) -> int:
        return len(self.hashes)


Ids: TypeAlias = "range | NDArray[np.int64] | PartHashes"


def select(ids: Ids, which: Any) -> Any:
    """Return the ids of some elements: a slice, or an array of places."""
    if isinstance(ids, PartHashes):
        return PartHashes(ids.hashes[which], ids.counts[which])
    if isinstance(ids, range) and not isinstance(which, slice):
        return np.arange(ids.start, ids.stop, ids.step)[which]
    return ids[which]


def joined(many: Sequence[Ids]) -> Ids:
    """Return the ids of several blocks, one after the other."""
    if len(many) == 1:
        return many[0]
    if all(isinstance(each, range) for each in many):
        first: Any = many[0]
        steps = {each.step for each in many}  # type: ignore[union-attr]
        ends = [(a.stop, b.start) for a, b in itertools.pairwise(many)]  # type: ignore[union-attr]
        if len(steps) == 1 and all(stop == start for stop, start in ends):
            return range(first.start, many[-1].stop, first.step)  # type: ignore[union-attr]
    if any(isinstance(each, PartHashes) for each in many):
        parts = [as_parts(each) for each in many]
        return PartHashes(
            np.concatenate([each.hashes for each in parts]), np.concatenate([each.counts for each in parts])
        )
    return np.concatenate([as_array(each) for each in many])


def as_parts(ids: Ids) -> PartHashes:
    """Return ids of any kind by their hashes."""
    if isinstance(ids, PartHashes):
        return ids
    return PartHashes(mix_ids(as_array(ids)), np.ones(len(ids), np.int64))


def marked(ids: Ids, number: int) -> PartHashes:
    """Return other ids of the same elements: those of input `number`, of several that are read as one."""
    parts = as_parts(ids)
    return PartHashes(salted(parts.hashes, number), parts.counts)


def folded(ids: Ids, value: int) -> int:
    """Return the fingerprint of an order after these elements."""
    if isinstance(ids, range):
        return fold_range(ids.start, ids.step, len(ids), value)
    if isinstance(ids, PartHashes):
        return fold_hashes(np.ascontiguousarray(ids.hashes), np.ascontiguousarray(ids.counts), value)
    return fold(np.ascontiguousarray(ids), value)


def count(ids: Ids) -> int:
    """Return how many examples elements consist of."""
    return int(ids.counts.sum()) if isinstance(ids, PartHashes) else len(ids)


def summed(ids: Ids) -> tuple[int, int]:
    """Return the fingerprint of an order of these elements, and how many examples they consist of."""
    return sum_hashes(ids.hashes, ids.counts) if isinstance(ids, PartHashes) else (folded(ids, 0), len(ids))


def as_one(ids: Ids) -> PartHashes:
    """Return the id of one element that consists of these."""
    return each_as_one([ids])


def each_as_one(many: Sequence[Ids]) -> PartHashes:
    """Return the ids of elements of which each consists of several."""
    values, counts = zip(*map(summed, many), strict=True)
    return PartHashes(np.array(values, np.uint64), np.array(counts, np.int64))


def as_array(ids: Any) -> NDArray[np.int64]:
    """Return ids that are numbers as an array."""
    return np.arange(ids.start, ids.stop, ids.step) if isinstance(ids, range) else np.ascontiguousarray(ids)
