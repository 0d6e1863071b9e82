"""array_record: the records of ArrayRecord files, by index."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.errors import DataLossError
from pipeline.files.offsets import identity_of
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import MANY, needs
from pipeline.sources.file_table import FileTable
from pipeline.sources.handles import Handles
from pipeline.sources.order import Epochs
from pipeline.sources.paths import local_files
from pipeline.sources.source import TableSource

_OPEN = 64  # files that stay open

# Records are read by index, so reading ahead would be wasted.
_OPTIONS = "readahead_buffer_size:0,max_parallelism:0"


@tells_keywords
def array_record(
    paths: Any,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read records from ArrayRecord files: each example is bytes.

    Records are indexed. For random orders write files with `group_size:1`, as Grain requires: otherwise each record
    costs decompressing its whole group.

    Args:
        paths: A path or pattern such as "train-*.array_record", or a list, on this machine.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the records, in a different order each epoch.
        shard: (index, count): read every count-th record.

    Raises:
        NotFoundError: No such file, or your pattern matches nothing.
        DataLossError: A file is damaged or not an ArrayRecord file.
        ValueError, TypeError: An option is wrong.
        FailedPreconditionError: When you iterate: a file changed after you made the dataset.
        ImportError: array_record is not installed.

    Examples:
        >>> from array_record.python.array_record_module import ArrayRecordWriter
        >>> writer = ArrayRecordWriter("words.array_record", "group_size:1")
        >>> for word in (b"red", b"blue"):
        ...     _ = writer.write(word)
        >>> writer.close()
        >>> list(pipeline.array_record("words.array_record"))
        [b'red', b'blue']
    """
    needs("array_record", "array_record")
    return TableSource(_Records(local_files(paths, "array_record")), Epochs(num_epochs, shuffle, seed, shard))


class _Records(FileTable):
    kind = "array_record"
    unit = "records"
    most = MANY
    ahead = True

    def __init__(self, names: Sequence[str]) -> None:
        self._files = Handles(self.kind, _File, _OPEN)
        self._identities = [identity_of(name) for name in names]
        super().__init__(names, [self._count(*each) for each in zip(names, self._identities, strict=True)])
        self._starts = self._ends - np.diff(self._ends, prepend=0)

    def _count(self, name: str, identity: tuple[int, int]) -> int:
        with self._files.use(name, identity) as file:
            count: int = file.count
            return count

    def take(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        records = np.empty(len(numbers), object)
        order = numbers.argsort(kind="stable")  # forwards through each file
        ascending = numbers[order]
        files = np.searchsorted(self._ends, ascending, "right")
        cuts = (np.flatnonzero(np.diff(files)) + 1).tolist()
        for low, high in itertools.pairwise([0, *cuts, len(numbers)]):
            file = int(files[low])
            with self._files.use(self.names[file], self._identities[file]) as opened:
                found = opened.read((ascending[low:high] - self._starts[file]).tolist())
            records[order[low:high]] = object_vector(found)
        return records

    def named(self, number: int) -> str:
        """Return a record's path and its index there."""
        file, inside = self.place(number)
        return f"{self.names[file]}:{inside}"

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "records": len(self)}


class _File:
    """An open file.

    Args:
        name: Its path.

    Raises:
        DataLossError: It is damaged, or not an ArrayRecord file.
    """

    def __init__(self, name: str) -> None:
        self._name, self._next = name, 0
        library = needs("array_record.python.array_record_module", "array_record")
        self._reader = self._told(lambda: library.ArrayRecordReader(name, _OPTIONS))
        if not self._reader.ok():
            raise self._loss("it is damaged, or not an ArrayRecord file")
        self.count = int(self._reader.num_records())

    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Return records; DataLossError if one is damaged."""
        return self._told(lambda: list(map(self._record, numbers)))  # type: ignore[no-any-return]

    def _record(self, number: int) -> Any:
        # Singly: lists of indices go through the library's threads, at 10 to 15 us per record instead of 2.6.
        if number != self._next:
            self._reader.seek(number)
        self._next = number + 1
        return self._reader.read()

    def _told(self, call: Callable[[], Any]) -> Any:
        """Call a function that reads the file, and translate its errors into the library's, with the file's name."""
        try:
            return call()
        except (RuntimeError, ValueError, IndexError) as error:
            raise self._loss(str(error)) from error

    def _loss(self, text: str) -> DataLossError:
        return DataLossError(None, None, f"array_record: '{self._name}' cannot be read: {text}")
