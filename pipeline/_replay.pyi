from typing import Any, final

from numpy.typing import NDArray

@final
class PlainRows:
    def __init__(
        self,
        columns: list[NDArray[Any]],
        kinds: tuple[frozenset[type], ...],
        structure: tuple[Any, ...] | int | None,
    ) -> None: ...
    def fits(self, example: Any) -> bool: ...
    def put(self, at: int, example: Any) -> bool: ...
