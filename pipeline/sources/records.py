"""Records: some of a file's records, each with its position there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Records(Generic[T]):
    """Some of a file's records.

    Args:
        source: Their origin: a filename, or a piece of the file.
        records: The records.
        places: Each record's position in the source.
    """

    __slots__ = ("places", "records", "source")

    def __init__(self, source: T, records: Sequence[bytes], places: Sequence[int]) -> None:
        self.source, self.records, self.places = source, records, places

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def joined(cls, several: Sequence[Records[T]]) -> Records[T]:
        """Join several into one, with the first one's source."""
        places = [place for each in several for place in each.places]
        return cls(several[0].source, [record for each in several for record in each.records], places)

    def __getitem__(self, which: slice) -> Records[T]:
        return Records(self.source, self.records[which], self.places[which])
