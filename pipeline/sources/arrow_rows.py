"""RowsByNumber: rows of an Arrow table. Arrow's own take copies all chunks of a column for each call."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.sources.extras import RowSelection, needs

# Tables of several chunks up to this size are copied into one, from which Arrow takes 128 rows in 40 us: of 400 chunks
# of 1,000 rows in 7 ms, and by slices in 500 us.
_COPIED = 256 << 20


class RowsByNumber:
    """The rows of a Table or RecordBatch.

    Args:
        table: The rows. Take no slice of nested lists of fixed size: see `takeable`.
        numbers: The number of each row in the table; None if that is its place.

    Thread safety: any thread may take rows.
    """

    def __init__(self, table: Any, numbers: NDArray[np.int64] | None = None) -> None:
        pyarrow = needs("pyarrow", "arrow")
        self._table = pyarrow.Table.from_batches([table]) if isinstance(table, pyarrow.RecordBatch) else table
        self._numbers = numbers

    def __len__(self) -> int:
        return int(self._table.num_rows if self._numbers is None else len(self._numbers))

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows with these numbers, one at least, as a Table."""
        if self._numbers is not None:
            numbers = self._numbers[numbers]
        neighbours = RowSelection(numbers).neighbours
        if neighbours is not None:
            return self._table.slice(neighbours.start, len(numbers))
        whole = self._whole
        if whole is not None:
            return whole.take(numbers)
        starts, batches = self._batches
        found = np.searchsorted(starts, numbers, "right") - 1
        pairs = zip(found.tolist(), (numbers - starts[found]).tolist(), strict=True)
        return needs("pyarrow", "arrow").Table.from_batches([batches[i].slice(row, 1) for i, row in pairs])

    @functools.cached_property
    def _whole(self) -> Any:
        """The table in one chunk; None if that would be a large copy, or Arrow takes no rows of its types."""
        table = self._table
        if any("string_view" in str(field.type) or "binary_view" in str(field.type) for field in table.schema):
            return None
        if max((column.num_chunks for column in table.columns), default=0) < 2:
            return table
        return table.combine_chunks() if table.nbytes <= _COPIED else None

    @functools.cached_property
    def _batches(self) -> tuple[NDArray[np.int64], list[Any]]:
        """The first number of each batch of rows, and the batches."""
        batches = self._table.to_batches()
        return np.cumsum([0, *(len(each) for each in batches)])[:-1], batches
