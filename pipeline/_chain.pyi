from typing import Any

import numpy as np
from numpy.typing import NDArray

CODES: dict[tuple[str, bool], int]
LONGEST: int

def chained(array: Any, codes: bytes, numbers: list[Any]) -> NDArray[np.float32] | None: ...
