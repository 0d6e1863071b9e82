"""npz: files with arrays, one example per file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import native, texts, truth
from pipeline.errors import invalid
from pipeline.files.identity import names_of
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.npz import read_arrays
from pipeline.files.remote import REMOTE_AHEAD, forget, prepare
from pipeline.keywords import tells_keywords
from pipeline.sources.file_table import FileTable
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import TableSource
from pipeline.sources.strings import as_objects
from pipeline.stages.block import Examples


@tells_keywords
def npz(
    paths: Any,
    keys: Sequence[str] | None = None,
    *,
    verify: bool = True,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> TableSource:
    """Read NumPy array files, one example per file.

    An `.npz` file becomes a dict with its arrays, and an `.npy` file's array is the example itself. Nothing is
    unpickled. To read an array's rows, use `arrays`.

    Args:
        paths: A path, URL or pattern such as "train/*.npz", or a list of them.
        keys: Names of the arrays to read from each `.npz` file. None reads all.
        verify: Check each array's checksum in an `.npz` file. Without it, large uncompressed arrays are read faster,
            and damage may go unnoticed. With the extra `npz`, checks take half of the time to read.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the files, in a different order each epoch.
        shard: (index, count): read every count-th file.
        max_record_bytes: Largest example; None for no limit.

    Raises:
        NotFoundError: No such file, or your pattern matches nothing.
        ValueError, TypeError, ImportError: An option is wrong, or fsspec is missing.
        DataLossError: When you iterate: a file is damaged or truncated, or neither `.npz` nor `.npy`.
        InvalidArgumentError: When you iterate: a file lacks a key, or holds Python objects.
        ResourceExhaustedError: When you iterate: a file's arrays are too large.

    Examples:
        >>> np.savez("0.npz", x=np.arange(3), y=7)
        >>> data = pipeline.npz("0.npz")
        >>> len(data), data[0]["x"], data[0]["y"]
        (1, array([0, 1, 2]), np.int64(7))
    """
    chosen = None if keys is None else texts(keys, "npz: keys")
    if chosen is not None and not chosen:
        raise invalid("npz: keys is empty: leave it out to read all arrays")
    names = [name.removeprefix("file://") for name in expanded(paths, "npz")]
    files = _Files(names, chosen, truth(verify, "npz: verify"), byte_limit(max_record_bytes))
    return TableSource(files, Epochs(num_epochs, shuffle, seed, shard))


class _Files(FileTable):
    lighter = "Read only the arrays you need (`keys=[...]`), or save them without compression (`np.savez`)"
    kind = "npz"
    unit = "files"
    most = 32  # file sizes are unknown
    one_by_one = True
    ahead = large = True

    def __init__(self, names: Sequence[str], keys: list[str] | None, verify: bool, limit: int) -> None:
        super().__init__(names, [1] * len(names))
        self._keys, self._verify, self._limit = keys, verify, limit

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        names = [self.names[number] for number in numbers.tolist()]
        remote = [os.fsencode(name) for name in names if "://" in name]
        examples = []
        try:
            for name in names:
                if "://" in name:
                    prepare(remote[:REMOTE_AHEAD])
                    del remote[0]
                examples.append(self._example(name))
        finally:
            forget(remote)
        return Examples(examples)

    loose = take

    def _example(self, name: str) -> Any:
        found = read_arrays(name, self._keys, self._limit, self._verify)
        if not isinstance(found, dict):
            return _value(found, f"npz: {name}")
        return {key: _value(array, f"npz: {name}: {key!r}") for key, array in found.items()}

    def named(self, number: int) -> str:
        """Return a file's name."""
        return self.names[number]

    def facts(self) -> dict[str, Any]:
        # Unlike other tables, this skips the files' ends: there may be a million files.
        return {"files": len(self.names), **names_of(self.names), "keys": self._keys}


def _value(array: NDArray[Any], where: str) -> Any:
    """Return an array in the form of examples: strings as objects, and a number for an array without dimensions."""
    return as_objects(native(array), where)[()]
