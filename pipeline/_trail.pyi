from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

class Delivered:
    batches: int
    elements: int
    own: int
    value: int
    moment: Any
    content: tuple[int, ...]
    def __init__(
        self, batches: int, elements: int, own: int, value: int, moment: Any = None, content: tuple[int, ...] = ()
    ) -> None: ...
    def after(
        self, numbers: NDArray[np.int64], total: int, moment: Any = None, content: tuple[int, ...] = ()
    ) -> Delivered: ...

class Trail:
    def __new__(
        cls,
        put_one: Callable[[Any], None],
        put_many: Callable[[Any], None],
        entered: Callable[[], int],
        closed: Callable[[], bool],
        seeds: tuple[int, int] = (0, 0),
        held_back: int | None = None,
    ) -> Self: ...
    def put_one(self, values: tuple[Any, ...]) -> None: ...
    def put_many(self, values: tuple[Any, ...]) -> None: ...
    def put_block(self, values: tuple[Any, ...], ticket: int, rows: int) -> None: ...
    def trim(self) -> None: ...
    def skip_draws(self, draws: int) -> None: ...
    def arrange(self, places: NDArray[np.int64]) -> None: ...
    def follow(
        self, last: Delivered, n: int, begin: int, end: int, total: int, content: tuple[int, ...]
    ) -> Delivered: ...
