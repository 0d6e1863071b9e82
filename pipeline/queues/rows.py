"""Rows: selected rows of an array, not gathered yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """Selected rows of a frozen array.

    A queue gathers large rows when they leave it and small ones when they enter: one copy less than from an array of
    these rows. Everything else may treat this as an array: `np.asarray` gathers the rows.

    Args:
        array: Of rank 1 or more.
        numbers: The row numbers, int64 of rank 1, all in range.
    """

    __slots__ = ("array", "numbers")

    def __init__(self, array: NDArray[Any], numbers: NDArray[np.int64]) -> None:
        self.array = array
        self.numbers = np.ascontiguousarray(numbers, np.int64)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.numbers), *self.array.shape[1:])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: Any) -> Any:
        numbers = self.numbers[which]
        return Rows(self.array, numbers) if isinstance(numbers, np.ndarray) else self.array[numbers]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Rows become an array only by a copy: they must be gathered")
        # `take` is twice as fast, but reads past the end of strings of length 0, and copies all of an array that is not
        # contiguous first: of a broadcast one that may be gigabytes.
        takes = self.array.itemsize and self.array.flags.c_contiguous
        rows = self.array.take(self.numbers, axis=0) if takes else self.array[self.numbers]
        return rows if dtype is None else rows.astype(dtype, copy=False)
