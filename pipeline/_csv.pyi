from typing import Any

from numpy.typing import NDArray

class Table:
    def __init__(
        self,
        arrays: list[NDArray[Any] | None],
        defaults: list[Any],
        delim: bytes,
        quotes: bool,
        na: bytes,
        exact: bool,
    ) -> None: ...
    def fill(self, lines: tuple[bytes, ...], first: int) -> int: ...

def cut_records(
    text: bytes, begin: int, end: int, delim: bytes, quotes: bool, last: bool, most: int
) -> tuple[list[bytes], int]: ...
