from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_Places = NDArray[np.intp]
_Floats = NDArray[np.float32]

class _Nearest(Protocol):
    def __call__(
        self, images: NDArray[Any], rows: _Places, columns: _Places, channels: int, out: NDArray[Any]
    ) -> None: ...

class _Bilinear(Protocol):
    def __call__(
        self,
        images: NDArray[Any],
        rows: _Places,
        below: _Floats,
        columns: _Places,
        beside: _Floats,
        channels: int,
        scratch: _Floats,
        out: _Floats,
    ) -> None: ...

class _Weighted(Protocol):
    def __call__(
        self,
        images: NDArray[Any],
        rows: _Places,
        row_weights: _Floats,
        columns: _Places,
        column_weights: _Floats,
        channels: int,
        factor: float,
        scratch: _Floats,
        out: _Floats,
    ) -> None: ...

nearest_8: _Nearest
nearest_16: _Nearest
nearest_32: _Nearest
nearest_64: _Nearest
bilinear_of_bytes: _Bilinear
bilinear_of_floats: _Bilinear
weighted_of_bytes: _Weighted
weighted_of_floats: _Weighted
