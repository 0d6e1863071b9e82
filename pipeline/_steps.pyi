from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

DEAD: Final[Any]

class Steps:
    def __init__(
        self, steps: Iterable[Any], merges: Collection[str], op_error: Callable[[Exception, Any], Exception]
    ) -> None: ...
    def follow(self, run: Any, values: list[Any]) -> None: ...
    def take(self, number: int, run: Any, values: list[Any], dead: set[Any]) -> None: ...
