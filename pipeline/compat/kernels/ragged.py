"""Ragged tensors as arrays: row splits, and flat values of which each row has a piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.errors import invalid


def check(splits: Any, count: Any, source: str) -> Any:
    """Return row splits; InvalidArgumentError if they do not split `count` values."""
    if splits.ndim != 1 or len(splits) < 1:
        why = "the row partition must be a vector"
    elif splits[0] != 0:
        why = "the first row must begin at 0"
    elif (splits[1:] < splits[:-1]).any():
        why = "no row may have a negative length"
    elif splits[-1] != count:
        why = f"the rows have {splits[-1]} values, but there are {count}"
    else:
        return splits
    raise invalid(f"Arguments to {source} do not form a valid RaggedTensor: {why}")


def splits_of_lengths(lengths: Any) -> Any:
    """Return the splits of rows of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(lengths.dtype)


def splits_of_rowids(rowids: Any, _: Any, nrows: Any = None) -> Any:
    """Return the splits of values whose rows these are, in ascending order; `nrows` is None up to the last of them."""
    if rowids.ndim != 1 or (rowids[1:] < rowids[:-1]).any() or (rowids[:1] < 0).any():
        raise invalid("Arguments to from_value_rowids do not form a valid RowPartition: the rows must ascend from 0")
    found = int(rowids[-1]) + 1 if len(rowids) else 0
    if nrows is not None and nrows < found:
        raise invalid(
            f"Arguments to from_value_rowids do not form a valid RowPartition: row {found - 1} is none of {nrows} rows"
        )
    counts = np.bincount(rowids, minlength=found if nrows is None else int(nrows))
    return splits_of_lengths(counts.astype(rowids.dtype))


def uniform_splits(length: Any, count: Any, nrows: Any = None) -> Any:
    """Return the splits of rows of one length, as many as fit unless their number is given."""
    if length < 0:
        raise invalid("uniform_row_length must be >= 0.")
    rows = count // max(length, 1) if nrows is None else nrows
    return np.arange(rows + 1, dtype=np.asarray(length).dtype) * length


def splits_of_indices(indices: Any, shape: Any) -> Any:
    """Return the splits of the rows of a sparse matrix; InvalidArgumentError if a row has a gap."""
    splits = splits_of_lengths(np.bincount(indices[:, 0], minlength=int(shape[0])))
    expected = np.stack([rowids(splits), np.arange(len(indices)) - splits[indices[:, 0]]], 1)
    if (indices != expected).any():
        raise invalid("SparseTensor is not right-ragged")
    return splits


def rowids(splits: Any) -> Any:
    """Return the row of each value."""
    return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), np.diff(splits))


def take(nested: Sequence[Any], flat: Any, rows: Any) -> list[Any]:
    """Return the nested splits and the flat values of some rows of a ragged tensor."""
    made: list[Any] = []
    for splits in nested:
        starts, lengths = splits[:-1][rows], np.diff(splits)[rows]
        new = splits_of_lengths(lengths)
        made.append(new)
        rows = np.repeat(starts - new[:-1], lengths) + np.arange(new[-1])
    return [*made, flat[rows]]


def row_span(splits: Any, row: Any) -> Any:
    """Return the positions of the values of a row; a negative row counts from the end."""
    count = len(splits) - 1
    if not -count <= row < count:
        raise invalid(f"slice index {row} of dimension 0 out of bounds.")
    row = int(row) % count
    return np.arange(splits[row], splits[row + 1])


def rows_of(splits: Any, piece: slice) -> Any:
    """Return the numbers of the rows that a slice takes."""
    return np.arange(len(splits) - 1)[piece]


def columns(splits: Any, piece: slice) -> list[Any]:
    """Return the splits and the positions of the values that a slice takes of each row."""
    bounds = zip(splits[:-1].tolist(), np.diff(splits).tolist(), strict=True)
    parts = [np.arange(start, start + length)[piece] for start, length in bounds]
    lengths = np.array([len(part) for part in parts], splits.dtype)
    return [splits_of_lengths(lengths), np.concatenate([*parts, np.empty(0, np.int64)])]


def bounding_shape(nested: Sequence[Any], flat: Any) -> Any:
    """Return the shape of the smallest dense tensor that holds the ragged one."""
    longest = [np.diff(splits).max(initial=0) for splits in nested]
    return np.array([len(nested[0]) - 1, *longest, *flat.shape[1:]], nested[0].dtype)


def coordinates(nested: Sequence[Any], flat: Any) -> list[Any]:
    """Return, for each ragged dimension and the outermost one, the index of each flat value in it."""
    found: list[Any] = [np.arange(len(nested[0]) - 1)]
    for splits in nested:
        ids = rowids(splits)
        found = [*(each[ids] for each in found), np.arange(len(ids)) - splits[:-1][ids]]
    return found


def dense(nested: Sequence[Any], flat: Any, default: Any, shape: Sequence[int | None]) -> Any:
    """Return the dense tensor, with `default` where there is no value.

    Args:
        nested: The nested row splits.
        flat: The flat values.
        default: A scalar, or what can be broadcast to one flat value.
        shape: The shape: longer rows are cut off. None for the size that is needed; empty for that of all dimensions.
    """
    needed = bounding_shape(nested, flat).tolist()
    if shape and len(shape) != len(needed):
        raise invalid(f"shape has {len(shape)} dimensions, but the ragged tensor has {len(needed)}")
    sizes = [n if given is None or given < 0 else given for n, given in zip(needed, shape or needed, strict=True)]
    made = np.empty(sizes, flat.dtype)
    try:
        made[...] = default
    except ValueError:
        raise invalid(f"default_value of shape {np.shape(default)} cannot be broadcast to the values") from None
    found = coordinates(nested, flat)
    inside = np.ones(len(flat), bool)
    for each, size in zip(found, sizes, strict=False):
        inside &= each < size
    inner = tuple(slice(0, min(a, b)) for a, b in zip(flat.shape[1:], sizes[len(found) :], strict=True))
    made[(*(each[inside] for each in found), *inner)] = flat[(inside, *inner)]
    return made


def sparse(nested: Sequence[Any], flat: Any) -> list[Any]:
    """Return indices, values and shape of the same as a sparse tensor."""
    inner = flat.shape[1:]
    outer = np.stack(coordinates(nested, flat), 1)
    within = np.stack([each.ravel() for each in np.indices(inner)], 1) if inner else np.empty((1, 0), np.int64)
    indices = np.concatenate([np.repeat(outer, len(within), 0), np.tile(within, (len(outer), 1))], 1)
    return [indices.astype(np.int64), flat.reshape(-1), bounding_shape(nested, flat).astype(np.int64)]


def lengths_before(rows: Any, padding: Any) -> Any:
    """Return the length of each row of a dense tensor without the padding at its end."""
    same = rows == padding
    kept = ~same.reshape(*rows.shape[:2], -1).all(axis=2) if rows.ndim > 2 else ~same
    return (kept * np.arange(1, rows.shape[1] + 1)).max(axis=1, initial=0)


def from_dense(rows: Any, lengths: Any, dtype: Any) -> list[Any]:
    """Return the splits and the values of the rows of a dense tensor, cut to their lengths."""
    if len(lengths) != len(rows):
        raise invalid(f"there are {len(lengths)} lengths, but {len(rows)} rows")
    lengths = np.clip(lengths, 0, rows.shape[1]).astype(dtype)
    return [splits_of_lengths(lengths), rows[np.arange(rows.shape[1]) < lengths[:, None]]]
