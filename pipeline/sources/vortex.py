"""vortex: rows of Vortex files by index."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, invalid
from pipeline.files.offsets import identity_of
from pipeline.keywords import tells_keywords
from pipeline.sources.arrow_taken import Choice, TakenRows
from pipeline.sources.arrow_types import columns_of
from pipeline.sources.extras import needs, read_by
from pipeline.sources.file_table import FileTable
from pipeline.sources.handles import Handles
from pipeline.sources.order import Epochs
from pipeline.sources.paths import local_files
from pipeline.sources.source import TableSource

_OPEN = 64  # files that stay open


@tells_keywords
def vortex(
    paths: Any,
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
    """Read rows from Vortex files: each example is a dict with one value per column.

    Rows are indexed, and read by index in blocks. All files must have the same columns.

    Args:
        paths: A path or pattern such as "part-*.vortex", or a list, on this machine.
        columns, defaults, dtypes, codes: As for `arrow`. Only these columns are read.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the rows, in a different order each epoch.
        shard: (index, count): read every count-th row.

    Raises:
        NotFoundError: No such file, or your pattern matches nothing.
        DataLossError: A file is damaged, cut short or not a Vortex file.
        InvalidArgumentError: A column, default, dtype or code does not fit, a value is missing, or files differ.
        FailedPreconditionError: When you iterate: a file changed after you made the dataset.
        ValueError, TypeError, ImportError: An option or a library is wrong.

    Examples:
        >>> import vortex, pyarrow
        >>> vortex.io.write(pyarrow.table({"age": [36, 41]}), "people.vortex")
        >>> list(pipeline.vortex("people.vortex").batch(2))
        [{'age': array([36, 41])}]
    """
    needs("vortex", "vortex")
    rows = _Rows(local_files(paths, "vortex"), Choice(columns, defaults, dtypes, codes))
    return TableSource(rows, Epochs(num_epochs, shuffle, seed, shard))


class _Rows(TakenRows, FileTable):
    def __init__(self, names: Sequence[str], choice: Choice) -> None:
        self._files = Handles("vortex", _File, _OPEN)
        self._identities = [identity_of(name) for name in names]
        heads = [self._head(*each) for each in zip(names, self._identities, strict=True)]
        first = heads[0][0]
        for name, (schema, _) in zip(names, heads, strict=True):
            if columns_of(schema) != columns_of(first):
                text = f"vortex: '{name}' has other columns than '{names[0]}': {_shown(schema)} and {_shown(first)}"
                raise invalid(f"{text}. Read them as two datasets, and join these with pipeline.mix or concatenate")
        FileTable.__init__(self, names, [count for _, count in heads])
        TakenRows.__init__(self, "vortex", f"vortex: {names[0]}", first, choice)
        self._starts = self._ends - np.diff(self._ends, prepend=0)

    def _head(self, name: str, identity: tuple[int, int]) -> tuple[Any, int]:
        with self._files.use(name, identity) as file:
            return file.schema, file.count

    def picked(self, numbers: NDArray[np.int64]) -> Any:
        files = np.searchsorted(self._ends, numbers, "right")
        cuts = (np.flatnonzero(np.diff(files)) + 1).tolist()
        found = []
        for low, high in itertools.pairwise([0, *cuts, len(numbers)]):
            file = int(files[low])
            with self._files.use(self.names[file], self._identities[file]) as opened:
                found.append(opened.rows(numbers[low:high] - self._starts[file], self.columns))
        return needs("pyarrow", "vortex").concat_tables(found)

    def named(self, number: int) -> str:
        """Return a row's path, and its index there."""
        file, inside = self.place(number)
        return f"{self.names[file]}:{inside}"

    def facts(self) -> dict[str, Any]:
        return {**TakenRows.facts(self), **FileTable.facts(self)}


def _shown(schema: Any) -> str:
    return ", ".join(f"{name!r} {kind}" for name, kind in columns_of(schema))[:200]


class _File:
    """An open file.

    Args:
        name: Its path.

    Raises:
        DataLossError: It is damaged, or not a Vortex file.

    Attributes:
        schema: Its columns, as Arrow.
        count: Number of rows.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._library = needs("vortex", "vortex")
        self._file = self._told(lambda: self._library.open(name))
        self.schema = self._told(self._file.dtype.to_arrow_schema)
        self.count = len(self._file)

    def rows(self, numbers: NDArray[np.int64], columns: list[str]) -> Any:
        """Return rows as a Table; DataLossError if they cannot be read.

        Args:
            numbers: Row indices, ascending, each once.
            columns: The columns to read.
        """
        pyarrow = needs("pyarrow", "vortex")
        indices = self._library.array(pyarrow.array(numbers.astype(np.uint64)))
        rows = self._told(lambda: self._file.scan(columns, indices=indices).read_all().to_arrow_array())
        if len(rows) != len(numbers):
            text = f"vortex: '{self._name}' cannot be read: it gave {len(rows):,} of {len(numbers):,} rows"
            raise DataLossError(None, None, text)
        return pyarrow.Table.from_struct_array(rows).combine_chunks()  # there are many, each cast alone

    def _told(self, call: Callable[[], Any]) -> Any:
        return read_by("vortex", self._name, call)
