"""Some rows of an array, not gathered yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """The rows of an array that have certain numbers. The array must not change any more.

    A queue gathers them when they leave it, if they are large, or else when they enter it: one copy less than from
    an array of them. To all others this is an array: `np.asarray` gathers them.

    Args:
        array: C-contiguous, of rank 1 or more.
        numbers: One for each row, int64, all in range.
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the rows have to be gathered: an array of them is a copy")
        rows = self.array.take(self.numbers, axis=0)
        return rows if dtype is None else rows.astype(dtype, copy=False)
