"""logical_and and its kin for bool, bitwise_and and its kin for integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel
from pipeline.compat.ops.making.elementwise import binary, binary_node, unary
from pipeline.compat.ops.making.inputs import BITS, fixed_input


def _logical(op_type: str, kernel: Kernel, doc: str) -> Any:
    def apply(x: Any, y: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type, [x, y]) as scope:
            first = fixed_input(op_type, "x", x, bool_)
            second = fixed_input(op_type, "y", y, bool_)
            return binary_node(op_type, first, second, kernel, scope)

    apply.__doc__ = doc
    return apply


logical_and = _logical("LogicalAnd", np.logical_and, "Return x and y, elementwise; both bool.")
logical_or = _logical("LogicalOr", np.logical_or, "Return x or y, elementwise; both bool.")


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Return not x, elementwise; x is bool."""
    with name_scope(name, "LogicalNot", [x]) as scope:
        x = fixed_input("LogicalNot", "x", x, bool_)
        return tensor_node("LogicalNot", [x], np.logical_not, bool_, x.shape, name=scope, rows=True)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Return whether exactly one of x and y is true, elementwise; both bool."""
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)  # type: ignore[no-any-return]


def _clipped(shift: Kernel) -> Kernel:
    """Return a shift limited to 0 up to the number of bits minus one, as in TensorFlow; more is undefined in C."""

    def kernel(x: Any, y: Any) -> Any:
        kind = np.asarray(y).dtype
        return shift(x, np.clip(y, kind.type(0), kind.type(kind.itemsize * 8 - 1)))

    return kernel


bitwise_and = binary("BitwiseAnd", np.bitwise_and, BITS, "Return the bits that are set in both.")
bitwise_or = binary("BitwiseOr", np.bitwise_or, BITS, "Return the bits that are set in one or both.")
bitwise_xor = binary("BitwiseXor", np.bitwise_xor, BITS, "Return the bits that are set in exactly one.")
left_shift = binary("LeftShift", _clipped(np.left_shift), BITS, "Return x with its bits moved left by y.")
right_shift = binary("RightShift", _clipped(np.right_shift), BITS, "Return x with its bits moved right by y.")
invert = unary("Invert", np.invert, BITS, "Return the complement of each bit.")
