from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from pipeline._trail import Trail
from pipeline._turns import Turn
from pipeline.explain.workers import Worker

def mixed_id(first: int, second: int) -> int: ...
def mixed_ids(first: int, n: int) -> NDArray[np.int64]: ...

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
        to_components: Callable[[Any], Sequence[Any]] | None,
        length: Callable[[Any], int],
        stopped: Callable[[], bool],
    ) -> Self: ...
    def move(self, blocks: Iterator[Any], turn: Turn, worker: Worker, first: int, count: int) -> bool: ...
