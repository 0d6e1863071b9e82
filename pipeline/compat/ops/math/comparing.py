"""Comparisons, logical ops for bool, bitwise ops for integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import broadcast_static_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel, quiet
from pipeline.compat.ops.making.elementwise import binary, binary_node, unary
from pipeline.compat.ops.making.inputs import BITS, FLOATS, REALS, first_input, fixed_input, next_input
from pipeline.compat.ops.making.opdef import array


def _strings(function: Kernel) -> Kernel:
    """Return the comparison for strings; NumPy would drop trailing zeros from bytes outside an array."""

    def kernel(x: Any, y: Any) -> Any:
        return np.asarray(function(array(x), array(y)), np.bool_)

    return kernel


def _equality(op_type: str, function: Kernel, doc: str) -> Any:
    numbers, strings = quiet(function), _strings(function)

    def apply(x: Any, y: Any, name: str | None = None, *, incompatible_shape_error: bool = True) -> Tensor:
        with name_scope(name, op_type, [x, y]) as scope:
            first = first_input("x", x)
            second = next_input(op_type, "y", y, first.dtype, "x")
            kernel = strings if first.dtype.base_dtype is string else numbers
            if incompatible_shape_error:
                return binary_node(op_type, first, second, kernel, scope, bool_)
            return _lenient(op_type, first, second, kernel, scope)

    apply.__doc__ = doc
    return apply


def _lenient(op_type: str, x: Tensor, y: Tensor, kernel: Kernel, scope: str) -> Tensor:
    """Make a comparison that returns a single value if the shapes cannot be broadcast."""
    differ = np.bool_(op_type == "NotEqual")

    def compare(first: Any, second: Any) -> Any:
        try:
            np.broadcast_shapes(np.shape(first), np.shape(second))
        except ValueError:
            return differ
        return kernel(first, second)

    shape = unknown_shape()
    if x.shape.is_fully_defined() and y.shape.is_fully_defined():
        try:
            shape = broadcast_static_shape(x.shape, y.shape)
        except ValueError:
            shape = unknown_shape(0)
    return tensor_node(op_type, [x, y], compare, bool_, shape, name=scope, attrs={"T": x.dtype.base_dtype})


equal = _equality("Equal", np.equal, "Return whether x == y, elementwise, broadcast; of any dtype.")
not_equal = _equality("NotEqual", np.not_equal, "Return whether x != y, elementwise, broadcast; of any dtype.")
less = binary("Less", np.less, REALS, "Return whether x < y, elementwise.", result=bool_)
less_equal = binary("LessEqual", np.less_equal, REALS, "Return whether x <= y, elementwise.", result=bool_)
greater = binary("Greater", np.greater, REALS, "Return whether x > y, elementwise.", result=bool_)
greater_equal = binary("GreaterEqual", np.greater_equal, REALS, "Return whether x >= y, elementwise.", result=bool_)
is_nan = unary("IsNan", np.isnan, FLOATS, "Return which elements are NaN.", result=bool_)
is_inf = unary("IsInf", np.isinf, FLOATS, "Return which elements are infinite.", result=bool_)
is_finite = unary("IsFinite", np.isfinite, FLOATS, "Return which elements are finite.", result=bool_)


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
    """Return a shift limited to 0 up to the bit count minus one, as in TensorFlow; more is undefined in C."""

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
