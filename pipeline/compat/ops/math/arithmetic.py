"""Arithmetic on two tensors: add, divide, remainder, power, maximum, minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, string
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.elementwise import binary, binary_node
from pipeline.compat.ops.making.inputs import (
    FLOATS,
    FLOATS_COMPLEX,
    NUMBERS,
    REALS,
    check_allowed,
    next_input,
)
from pipeline.compat.ops.making.opdef import array
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid

_SIGNED = ("bfloat16", "float32", "float16", "float64", "int8", "int16", "int32", "int64", "complex64", "complex128")
_SQUARED = (*FLOATS, "int32", "int64", "complex64", "complex128")
_MOD = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
_ADD = (*FLOATS, "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "complex64", "complex128")


def _join(x: Any, y: Any) -> Any:
    """Concatenate strings: bytes, or byte arrays, broadcast."""
    if isinstance(x, bytes) and isinstance(y, bytes):
        return x + y
    return np.add(array(x), array(y))


def _by_zero(x: Any, y: Any) -> None:
    if not np.all(y) and np.size(x):
        raise invalid("Integer division by zero")


@quiet
def _floor_div_integers(x: Any, y: Any) -> Any:
    _by_zero(x, y)
    return np.floor_divide(x, y)


def _floor_div(x: Any, y: Any) -> Any:
    return np.floor(np.divide(x, y))


@quiet
def _floor_mod_integers(x: Any, y: Any) -> Any:
    _by_zero(x, y)
    return np.mod(x, y)


def _no_integers(x: Any, y: Any) -> Any:
    raise invalid(f"RealDiv has no kernel for {np.asarray(x).dtype}")


def _power_integers(x: Any, y: Any) -> Any:
    if np.any(np.less(y, 0)):
        raise invalid("Integers to negative integer powers are not allowed")
    return np.power(x, y)


def _unless_zero(divisor: Any, result: Any) -> Any:
    return np.where(np.equal(divisor, 0), np.zeros((), result.dtype), result)


def _squared_difference(x: Any, y: Any) -> Any:
    difference = np.subtract(x, y)
    return np.multiply(np.conj(difference) if difference.dtype.kind == "c" else difference, difference)


def add_tensors(x: Tensor, y: Tensor, scope: str) -> Tensor:
    """Make the node that adds two converted inputs: Add for strings, AddV2 for numbers."""
    if x.dtype.base_dtype is string:
        y = next_input("Add", "y", y, x.dtype, "x")
        return binary_node("Add", x, y, _join, scope)
    check_allowed("x", x.dtype.base_dtype, _ADD)
    y = next_input("AddV2", "y", y, x.dtype, "x")
    return binary_node("AddV2", x, y, _add_kernel(x.dtype), scope)


_quiet_add = quiet(np.add)


def _add_kernel(dtype: DType) -> Any:
    return np.add if dtype.base_dtype.np.kind in "iu" else _quiet_add


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x + y, broadcast. Strings are concatenated."""
    with name_scope(name, "Add", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
        return add_tensors(x, y, scope)


subtract = binary("Sub", np.subtract, NUMBERS, "Return x - y, broadcast.")
multiply = binary("Mul", np.multiply, NUMBERS, "Return x * y, broadcast.")
realdiv = binary("RealDiv", np.divide, NUMBERS, "Return x / y for floats.", integers=_no_integers)
floor_div = binary("FloorDiv", _floor_div, NUMBERS, "Return floor(x / y).", integers=_floor_div_integers)
floormod = binary("FloorMod", np.mod, _MOD, "Return the remainder with y's sign.", integers=_floor_mod_integers)
maximum = binary("Maximum", np.maximum, REALS, "Return the larger of x and y, elementwise.")
minimum = binary("Minimum", np.minimum, REALS, "Return the smaller of x and y, elementwise.")
squared_difference = binary("SquaredDifference", _squared_difference, _SQUARED, "Return (x - y) squared.")
_power = binary("Pow", np.power, _SIGNED, "Return x to the power of y.", integers=_power_integers)
quotient_or_zero = binary(
    "DivNoNan", lambda x, y: _unless_zero(y, np.divide(x, y)), FLOATS_COMPLEX, "Return x / y; 0 where y is 0."
)


def _same_dtype(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype.base_dtype!r} != {y.dtype.base_dtype!r}.")
    return x, y


def _divisible(x: Tensor, y: Tensor, where: str) -> tuple[Tensor, Tensor]:
    """Cast integers to the floats returned by true division."""
    dtype = x.dtype.base_dtype
    if dtype.is_integer:
        quotient = "float32" if dtype.size < 4 else "float64"
        return cast(x, quotient), cast(y, quotient)
    if not (dtype.is_floating or dtype.is_complex):
        raise TypeError(f"Invalid dtype {dtype!r} in {where}. Expected a number.")
    return x, y


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y. Integers are cast to float64, or to float32 if they have up to 16 bits."""
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _divisible(*_same_dtype(x, y), "__truediv__")
        return realdiv(x, y, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, as Python's `/` does."""
    if name is None and not isinstance(x, Tensor):
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype if isinstance(y, Tensor) else None)
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y for floats and floor(x / y) for integers, as in Python 2."""
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        dtype = x.dtype.base_dtype
        return (realdiv if dtype.is_floating or dtype.is_complex else floor_div)(x, y, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, and 0 where y is 0. Integers are cast as in `truediv`."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        if isinstance(y, Tensor) and not isinstance(x, Tensor):
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        x, y = _divisible(*_same_dtype(x, y), "tf.math.divide_no_nan")
        return quotient_or_zero(x, y, name=scope)


def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of x / y, with y's sign: Python's `%`."""
    with name_scope(name, "mod", [x, y]) as scope:
        return floormod(x, y, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return floor(x / y): Python's `//`."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return floor_div(x, y, name=scope)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x to the power y; InvalidArgumentError at run time for an integer's negative power."""
    with name_scope(name, "Pow", [x, y]) as scope:
        return _power(x, y, name=scope)
