"""Records: some records of a file, each with its place there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Records(Generic[T]):
    """Some records of a file.

    Args:
        source: Their origin: the name of a file, or a piece of it.
        records: The records.
        places: Where each is in that.
    """

    __slots__ = ("places", "records", "source")

    def __init__(self, source: T, records: Sequence[bytes], places: Sequence[int]) -> None:
        self.source, self.records, self.places = source, records, places

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def joined(cls, several: Sequence[Records[T]]) -> Records[T]:
        """Return the records of several as of the source of the first."""
        places = [place for each in several for place in each.places]
        return cls(several[0].source, [record for each in several for record in each.records], places)

    def __getitem__(self, which: slice) -> Records[T]:
        return Records(self.source, self.records[which], self.places[which])
