"""RaggedTensorValue: what a run returns for a RaggedTensor."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


class RaggedTensorValue:
    """Rows of different lengths, as arrays.

    Args:
        values: An array, or a RaggedTensorValue, of the values of all rows one after the other.
        row_splits: A vector of int32 or int64: where each row begins among the values, and where the last one ends.

    Raises:
        TypeError: One of them is something else.
        ValueError: The splits of the values have another dtype.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        if not (
            isinstance(row_splits, (np.ndarray, np.generic))
            and row_splits.dtype in (np.int64, np.int32)
            and row_splits.ndim == 1
        ):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values: Any = values
        self._row_splits: Any = row_splits

    @property
    def values(self) -> Any:
        """The values of all rows one after the other."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where each row begins among the values, and where the last one ends."""
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged dimensions, from the outermost one on."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the values."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes, None for ragged dimensions."""
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        inner = self._values
        values = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self._row_splits.tolist()
        return [values[begin:end] for begin, end in itertools.pairwise(splits)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
