"""lance: rows of Lance datasets by index."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import path_text
from pipeline.errors import DataLossError
from pipeline.files.near_names import no_such_file
from pipeline.keywords import tells_keywords
from pipeline.sources.arrow_taken import Choice, TakenRows
from pipeline.sources.extras import needs, read_by
from pipeline.sources.order import Epochs
from pipeline.sources.paths import at_home
from pipeline.sources.source import TableSource


@tells_keywords
def lance(
    dataset: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    dtypes: Mapping[str, Any] | None = None,
    codes: Mapping[str, Sequence[str]] | None = None,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read rows from a Lance dataset: each example is a dict with one value per column.

    Rows are indexed, and read by index in blocks. The dataset's current version is read, even if rows are added
    later.

    Args:
        dataset: The dataset's path or URL, or a LanceDataset, for example one opened at another version.
        columns, defaults, dtypes, codes: As for `arrow`. Only these columns are read.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the rows, in a different order each epoch.
        shard: (index, count): read every count-th row.

    Raises:
        NotFoundError: There is no such folder.
        DataLossError: It is not a Lance dataset, or a file in it is missing or damaged.
        InvalidArgumentError: A column, default, dtype or code does not fit, or a value is missing.
        ValueError, TypeError, ImportError: An option or a library is wrong.

    Examples:
        >>> import lance, pyarrow
        >>> _ = lance.write_dataset(pyarrow.table({"age": [36, 41]}), "people.lance")
        >>> list(pipeline.lance("people.lance").batch(2))
        [{'age': array([36, 41])}]
    """
    library = needs("lance", "lance")
    if not isinstance(dataset, library.LanceDataset):
        dataset = _opened(library, path_text(dataset, "lance: dataset"))
    rows = _Rows(dataset, Choice(columns, defaults, dtypes, codes))
    return TableSource(rows, Epochs(num_epochs, shuffle, seed, shard))


def _opened(library: Any, name: str) -> Any:
    path = at_home(name).removeprefix("file://")
    if "://" not in path and not os.path.exists(path):
        raise no_such_file(path)
    return read_by("lance", name, lambda: library.dataset(path))


class _Rows(TakenRows):
    def __init__(self, dataset: Any, choice: Choice) -> None:
        self._dataset, self._name = dataset, str(dataset.uri)
        self._count = int(read_by("lance", self._name, dataset.count_rows))
        super().__init__("lance", f"lance: {self._name}", dataset.schema, choice)

    def __len__(self) -> int:
        return self._count

    def picked(self, numbers: NDArray[np.int64]) -> Any:
        return read_by("lance", self._name, lambda: self._dataset.take(numbers.tolist(), columns=self.columns))

    def neighbours(self, first: int, count: int) -> Any:
        read = functools.partial(self._dataset.to_table, columns=self.columns, offset=first, limit=count)
        rows = read_by("lance", self._name, read)
        if len(rows) != count:
            text = f"lance: '{self._name}' cannot be read: it gave {len(rows):,} of {count:,} rows from {first:,} on"
            raise DataLossError(None, None, text)
        return rows

    def data(self) -> list[Any]:
        return [f"{self._name}@{self._dataset.version}"]
