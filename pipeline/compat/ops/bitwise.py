"""Operations on the bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.core.dtypes import uint8
from pipeline.compat.ops.elementwise import Kernel, binary, unary
from pipeline.compat.ops.inputs import BITS


def _clipped(shift: Kernel) -> Kernel:
    """Shift by no less than 0 and no more than all bits but one: more is undefined in C."""

    def kernel(x: Any, y: Any) -> Any:
        kind = np.asarray(y).dtype
        return shift(x, np.clip(y, kind.type(0), kind.type(kind.itemsize * 8 - 1)))

    return kernel


def _population_count(x: Any) -> Any:
    array = np.asarray(x)
    unsigned = array.view(np.dtype(f"u{array.dtype.itemsize}")).astype(np.uint64)
    count = np.zeros(array.shape, np.uint8)
    for bit in range(array.dtype.itemsize * 8):
        count += ((unsigned >> np.uint64(bit)) & np.uint64(1)).astype(np.uint8)
    return count


bitwise_and = binary("BitwiseAnd", np.bitwise_and, BITS, "Return the bits that are set in both.")
bitwise_or = binary("BitwiseOr", np.bitwise_or, BITS, "Return the bits that are set in one or both.")
bitwise_xor = binary("BitwiseXor", np.bitwise_xor, BITS, "Return the bits that are set in one of both.")
left_shift = binary("LeftShift", _clipped(np.left_shift), BITS, "Return x's bits moved left by y.")
right_shift = binary("RightShift", _clipped(np.right_shift), BITS, "Return x's bits moved right by y.")
invert = unary("Invert", np.invert, BITS, "Return the complement of each bit.")
population_count = unary("PopulationCount", _population_count, BITS, "Return how many bits are set.", result=uint8)
