"""What readers give: records one by one or in blocks, with keys that say where they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray


class ReaderRead(NamedTuple):
    """One record: where it came from, and what it is; both bytes."""

    key: bytes
    value: bytes


class ReaderReadUpTo(NamedTuple):
    """A block of records: `keys` is a sequence of bytes, made when looked at; `values` is a list of bytes."""

    keys: Sequence[bytes]
    values: list[bytes]


class RecordKeys(Sequence[bytes]):
    """The keys `work:number` of records of one work; making them only on demand saves 0.2 us a record."""

    def __init__(self, work: bytes, numbers: Sequence[int]) -> None:
        self._work = work
        self._numbers = numbers

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> RecordKeys: ...
    def __getitem__(self, index: int | slice) -> bytes | RecordKeys:
        if isinstance(index, slice):
            return RecordKeys(self._work, self._numbers[index])
        return b"%b:%d" % (self._work, self._numbers[index])

    def __iter__(self) -> Iterator[bytes]:
        return (b"%b:%d" % (self._work, number) for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        keys = np.empty(len(self), object)
        keys[:] = list(self)
        return keys if dtype is None else keys.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, RecordKeys)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RecordKeys({list(self)})"
