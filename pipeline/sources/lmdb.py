"""lmdb: the entries of LMDB databases by index, in key order."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import local_path
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.lmdb_file import Damage, Entry, LMDBFile, error_of
from pipeline.files.offsets import Offsets
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import last_used
from pipeline.sources.file_table import FileTable
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import TableSource
from pipeline.stages.block import Examples

# The most entries per read, and about how many bytes they may have.
_MOST, _BYTES = 1024, 1 << 22

_OPEN = 64  # databases that stay open
_ANY = 1 << 62  # a limit that no value exceeds


@tells_keywords
def lmdb(
    paths: Any,
    *,
    index_folder: Any = None,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> TableSource:
    r"""Read the entries of LMDB databases: each example is a tuple (key, value) of bytes, in key order.

    Entries have random access, so `shuffle(seed=1)` mixes all of them. The first process on a machine reads the pages
    with the keys and stores an index of the entries. Databases are read without the lmdb package, so a damaged page is
    an error and does not end the process.

    Args:
        paths: The path of a database, or a list of them: a folder with `data.mdb`, or such a file.
        index_folder: Folder of the index. None uses the user's cache folder.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Read in random order, another one each epoch.
        shard: (index, count): read every count-th entry.
        max_record_bytes: Largest value in bytes; None for no limit.

    Raises:
        NotFoundError: There is no such database.
        DataLossError: A database is damaged or truncated.
        InvalidArgumentError: A database has several values for a key, or other databases within it.
        ValueError, TypeError: An option is wrong.
        ResourceExhaustedError: When you iterate: a value is too large.
        FailedPreconditionError: When you iterate: a database was written to since you made the dataset.

    Examples:
        >>> import lmdb
        >>> with lmdb.open("words.lmdb") as database, database.begin(write=True) as transaction:
        ...     _ = transaction.put(b"colour", b"red")
        >>> list(pipeline.lmdb("words.lmdb"))
        [(b'colour', b'red')]
    """
    folder = None if index_folder is None else local_path(index_folder, "lmdb: index_folder")
    names = [_file_of(name.removeprefix("file://")) for name in expanded(paths, "lmdb")]
    places = [Offsets(name, "entries", entry_places, folder) for name in names]
    entries = _Entries(names, places, byte_limit(max_record_bytes))
    return TableSource(entries, Epochs(num_epochs, shuffle, seed, shard))


def _file_of(name: str) -> str:
    if "://" in name:
        raise invalid(f"lmdb: databases must be local, and '{name}' is a URL: copy it")
    return os.path.join(name, "data.mdb") if os.path.isdir(name) else name


def entry_places(name: str) -> NDArray[np.int64]:
    """Find the entries of a database; see Offsets."""
    database = _Database(name, _ANY)
    try:
        places = np.fromiter(database.file.places(), np.int64)
        if len(places) != database.file.total:
            raise Damage(f"its pages have {len(places):,} entries, and its header says {database.file.total:,}")
        return np.append(places, database.identity[0])
    except InvalidArgumentError as error:
        text = f"lmdb: '{name}': {error}: read it with the lmdb package, in a function for pipeline.dataset"
        raise invalid(text) from error
    except (OSError, ValueError) as error:
        raise error_of(os.fsencode(name), error, _ANY) from error


class _Database:
    """An open database. It is closed when its last user is gone.

    Args:
        name: The file's path.
        limit: The largest value in bytes.
        identity: The size and modification time that the file must have; None for any.
    """

    def __init__(self, name: str, limit: int, identity: tuple[int, int] | None = None) -> None:
        self._name, self._limit = name, limit
        try:
            self._number = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            weakref.finalize(self, os.close, self._number).atexit = False
            self.identity = self._found() if identity is None else identity
            self._check()
            self.file = LMDBFile(self._number, limit)
        except (OSError, ValueError) as error:
            raise error_of(os.fsencode(name), error, limit) from error

    def _found(self) -> tuple[int, int]:
        status = os.fstat(self._number)
        return status.st_size, status.st_mtime_ns

    def read(self, places: NDArray[np.int64]) -> list[Entry]:
        """Return the entries at these offsets in the file."""
        try:
            found = self.file.entries_at(places)
        except (OSError, ValueError) as error:
            self._check()  # pages that another process has written since look damaged
            raise error_of(os.fsencode(self._name), error, self._limit) from error
        self._check()
        return found

    def _check(self) -> None:
        if self._found() != self.identity:
            text = f"lmdb: '{self._name}' has changed since it was indexed: make a new dataset"
            raise FailedPreconditionError(None, None, text)


class _Entries(FileTable):
    kind = "lmdb"
    unit = "entries"
    one_by_one = True
    ahead = True

    def __init__(self, names: Sequence[str], places: Sequence[Offsets], limit: int) -> None:
        super().__init__(names, [len(each) for each in places])
        self._places, self._limit = places, limit
        size = sum(each.identity[0] for each in places)
        self.most = max(1, min(_MOST, _BYTES * len(self) // max(1, size)))
        self._open = last_used(self._opened, _OPEN)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open = last_used(self._opened, _OPEN)

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples(self.by_file(numbers, self._read))

    loose = take

    def _opened(self, file: int) -> _Database:
        return _Database(self.names[file], self._limit, self._places[file].identity)

    def _read(self, file: int, numbers: NDArray[np.int64]) -> list[Entry]:
        database: _Database = self._open(file)
        return database.read(self._places[file].at(numbers))

    def named(self, number: int) -> str:
        """Return an entry's database and its index there."""
        file, inside = self.place(number)
        return f"{self.names[file]}:{inside}"
