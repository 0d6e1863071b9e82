"""Batches padded to one size, with a mask for real rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.adaptors.rounds import nominal_batch
from pipeline.adaptors.structure import mapped
from pipeline.datasets.dataset import Dataset
from pipeline.errors import invalid


def size_to_pad_to(data: Any) -> int:
    """Return the number of rows in a dataset's batches.

    Raises:
        InvalidArgumentError: The batch size is unknown, or rows vary in size.
    """
    batch = nominal_batch(data) if isinstance(data, Dataset) else None
    if batch is None or batch.collate == "row_splits":
        raise invalid(
            f"pad_last=True needs batches of one size: pass a dataset that ends in .batch(n), not {data!r:.80}"
        )
    return batch.size


def padded(batch: Any, size: int, counts: bool) -> tuple[Any, NDArray[np.bool_]]:
    """Return a batch padded to `size` rows with its last row, and a mask for real rows.

    Args:
        batch: Arrays with the same number of rows in any structure. Arrays with another number stay unchanged.
        size: Minimum number of rows.
        counts: True if the batch's rows count; False if it is padding itself.

    Raises:
        InvalidArgumentError: It has no arrays with rows.
    """
    lengths: list[int] = []

    def look(value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray) and value.ndim:
            lengths.append(len(value))
        return value

    mapped(look, batch)
    if not lengths or not lengths[0]:
        raise invalid(f"pad_last=True: a batch has no arrays with rows: {batch!r:.80}")
    rows = lengths[0]

    def fill(value: Any, name: str) -> Any:
        if not isinstance(value, np.ndarray) or not value.ndim or len(value) != rows:
            return value
        return np.concatenate([value, np.repeat(value[-1:], size - rows, axis=0)])

    mask = np.arange(max(rows, size)) < (rows if counts else 0)
    return (mapped(fill, batch) if rows < size else batch), mask
