"""Rows: selected array rows, not gathered yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """Selected rows in a frozen array.

    A queue gathers large rows on dequeue and small ones on enqueue, which saves one copy. All other code can treat
    this as an array: `np.asarray` gathers the rows.

    Args:
        array: Array with rank 1 or more.
        numbers: Row numbers, int64 with rank 1, all in range.
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
        # `take` is twice as fast, but reads past the end for strings with length 0, and copies the whole array first if
        # it is not contiguous: for a broadcast array that may be gigabytes.
        takes = self.array.itemsize and self.array.flags.c_contiguous
        rows = self.array.take(self.numbers, axis=0) if takes else self.array[self.numbers]
        return rows if dtype is None else rows.astype(dtype, copy=False)
