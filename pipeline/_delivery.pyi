from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from pipeline._turns import Turn
from pipeline.explain.workers import Worker

def mixed_id(first: int, second: int) -> int: ...
def mixed_ids(first: int, n: int) -> NDArray[np.int64]: ...

class Delivered:
    batches: int
    elements: int
    own: int
    value: int
    moment: Any
    content: tuple[int, ...]
    def __new__(
        cls, batches: int, elements: int, own: int, value: int, moment: Any = None, content: tuple[int, ...] = ()
    ) -> Self: ...
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
    def trim(self) -> None: ...
    def skip_draws(self, draws: int) -> None: ...
    def arrange(self, places: NDArray[np.int64]) -> None: ...
    def after(
        self, last: Delivered, n: int, begin: int, end: int, total: int, content: tuple[int, ...] = ()
    ) -> Delivered: ...

class Blocks:
    @property
    def stopped(self) -> Callable[[], bool]: ...
    @property
    def moved(self) -> int: ...
    @property
    def rows(self) -> int: ...
    def __new__(
        cls,
        trail: Trail,
        put: Callable[[Any], None],
        to_components: Callable[[Any], Sequence[Any]] | None,
        length: Callable[[Any], int],
        stopped: Callable[[], bool],
    ) -> Self: ...
    def move(self, blocks: Iterator[Any], turn: Turn, worker: Worker, first: int, count: int) -> bool: ...
