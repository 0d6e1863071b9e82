import numpy as np
from numpy.typing import NDArray

_Places = NDArray[np.intp]
_Weights = NDArray[np.float32]

def nearest_8(
    images: NDArray[np.uint8], rows: _Places, columns: _Places, channels: int, out: NDArray[np.uint8]
) -> None: ...
def nearest_16(
    images: NDArray[np.uint16], rows: _Places, columns: _Places, channels: int, out: NDArray[np.uint16]
) -> None: ...
def nearest_32(
    images: NDArray[np.uint32], rows: _Places, columns: _Places, channels: int, out: NDArray[np.uint32]
) -> None: ...
def nearest_64(
    images: NDArray[np.uint64], rows: _Places, columns: _Places, channels: int, out: NDArray[np.uint64]
) -> None: ...
def bilinear_of_bytes(
    images: NDArray[np.uint8],
    rows: _Places,
    below: _Weights,
    columns: _Places,
    beside: _Weights,
    channels: int,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
def bilinear_of_floats(
    images: NDArray[np.float32],
    rows: _Places,
    below: _Weights,
    columns: _Places,
    beside: _Weights,
    channels: int,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
def weighted_of_bytes(
    images: NDArray[np.uint8],
    rows: _Places,
    row_weights: _Weights,
    columns: _Places,
    column_weights: _Weights,
    channels: int,
    factor: float,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
def weighted_of_floats(
    images: NDArray[np.float32],
    rows: _Places,
    row_weights: _Weights,
    columns: _Places,
    column_weights: _Weights,
    channels: int,
    factor: float,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
