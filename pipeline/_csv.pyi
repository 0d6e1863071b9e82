from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

class Cut(Sequence[bytes]):
    lines: int
    def __init__(self, text: bytes) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> Cut: ...
    def offset(self, index: int) -> int: ...

class CsvTable:
    def __init__(
        self,
        arrays: list[NDArray[Any] | None],
        defaults: list[Any],
        delim: bytes,
        quotes: bool,
        na: bytes,
        exact: bool,
        lenient: bool = False,
        texts: Sequence[bool] | None = None,
    ) -> None: ...
    def fill(self, records: Cut | tuple[bytes, ...], first: int) -> int: ...

def cut_records(
    text: bytes, begin: int, end: int, delim: bytes, quotes: bool, last: bool, most: int, comment: bytes = b""
) -> tuple[Cut, int]: ...
