from typing import Any

import numpy as np
from numpy.typing import NDArray

_Box = tuple[float, float, float, float]
_Part = tuple[int, int, int, int]
_Floats = NDArray[np.float32]

def open_libjpeg(path: bytes) -> int: ...
def frame_of(data: bytes) -> tuple[int, int, int, int] | None: ...
def resized(
    images: NDArray[Any],
    top: float,
    left: float,
    bottom: float,
    right: float,
    cubic: int,
    flip: bool,
    out: NDArray[Any],
    channels_first: bool,
    factor: _Floats,
    offset: _Floats,
) -> None: ...
def region_of_jpeg(
    data: bytes, frame: tuple[int, int, int, int], box: _Part, ratio: int, gray: bool, fast: bool
) -> NDArray[np.uint8] | None: ...
def resized_of_jpeg(
    data: bytes,
    frame: tuple[int, int, int, int],
    box: _Box,
    ratio: int,
    fast: bool,
    flip: bool,
    out: NDArray[Any],
    channels_first: bool,
    factor: _Floats,
    offset: _Floats,
    available: _Part,
) -> bool: ...
