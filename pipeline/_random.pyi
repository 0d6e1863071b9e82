from typing import SupportsInt

import numpy as np
from numpy.typing import NDArray

def philox(seed: SupportsInt, seed2: SupportsInt, skip: SupportsInt, count: int) -> NDArray[np.uint32]: ...
def permutation(seed: SupportsInt, seed2: SupportsInt, skip: SupportsInt, count: int) -> NDArray[np.int64]: ...
