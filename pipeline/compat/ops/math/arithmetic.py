"""Addition, division and other arithmetic of two tensors, and the sum of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.elementwise import binary, binary_node, shown
from pipeline.compat.ops.making.inputs import (
    ANY_NUMBER,
    FLOATS,
    FLOATS_COMPLEX,
    NUMBERS,
    REALS,
    check_allowed,
    list_input,
)
from pipeline.compat.ops.making.inputs import next_input as _next
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices

_SIGNED = ("bfloat16", "float32", "float16", "float64", "int8", "int16", "int32", "int64", "complex64", "complex128")
_SQUARED = (*FLOATS, "int32", "int64", "complex64", "complex128")
_MOD = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
_ADD = (*FLOATS, "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "complex64", "complex128")
_WITH_VARIANT: tuple[str, ...] = (
    *ANY_NUMBER[:10],
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "float16",
)
_WITH_VARIANT += ("uint32", "uint64", "variant")


def _join(x: Any, y: Any) -> Any:
    """Concatenate strings: bytes, or arrays of bytes, broadcast."""
    if isinstance(x, bytes) and isinstance(y, bytes):
        return x + y
    return np.add(_object(x), _object(y))


def _object(value: Any) -> Any:
    # NumPy would make an S array of bytes, which drops trailing zeros.
    if not isinstance(value, bytes):
        return value
    array = np.empty((), object)
    array[()] = value
    return array


def _by_zero(x: Any, y: Any) -> None:
    if not np.all(y) and np.size(x):
        raise errors.InvalidArgumentError(None, None, "Integer division by zero")


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


def _truncated_by_zero(x: Any, y: Any) -> None:
    # TensorFlow's kernels for these two count a division by zero as their own fault.
    if not np.all(y) and np.size(x):
        text = "Unexpected error in binary operator (only integer div and mod should have errors)"
        raise errors.InternalError(None, None, text)


@quiet
def _truncate_div_integers(x: Any, y: Any) -> Any:
    _truncated_by_zero(x, y)
    # What fmod leaves divides exactly, so that the floor is the quotient itself.
    return np.floor_divide(np.subtract(x, np.fmod(x, y)), y)


def _truncate_div(x: Any, y: Any) -> Any:
    return np.trunc(np.divide(x, y))


@quiet
def _truncate_mod_integers(x: Any, y: Any) -> Any:
    _truncated_by_zero(x, y)
    return np.fmod(x, y)


def _no_integers(x: Any, y: Any) -> Any:
    raise errors.InvalidArgumentError(None, None, f"RealDiv has no kernel for {np.asarray(x).dtype}")


def _power_integers(x: Any, y: Any) -> Any:
    if np.any(np.less(y, 0)):
        raise errors.InvalidArgumentError(None, None, "Integers to negative integer powers are not allowed")
    return np.power(x, y)


def _unless_zero(divisor: Any, result: Any) -> Any:
    return np.where(np.equal(divisor, 0), np.zeros((), result.dtype), result)


def _squared_difference(x: Any, y: Any) -> Any:
    difference = np.subtract(x, y)
    return np.multiply(np.conj(difference) if difference.dtype.kind == "c" else difference, difference)


def add_tensors(x: Tensor, y: Tensor, scope: str) -> Tensor:
    """Make the op that adds two converted inputs: Add for strings, AddV2 for numbers."""
    if x.dtype.base_dtype is string:
        y = _next("Add", "y", y, x.dtype, "x")
        return binary_node("Add", x, y, _join, scope)
    check_allowed("x", x.dtype.base_dtype, _ADD)
    y = _next("AddV2", "y", y, x.dtype, "x")
    return binary_node("AddV2", x, y, _add_kernel(x.dtype), scope)


_quiet_add = quiet(np.add)


def _add_kernel(dtype: DType) -> Any:
    return np.add if dtype.base_dtype.np.kind in "iu" else _quiet_add


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x + y, broadcast; strings are concatenated."""
    with name_scope(name, "Add") as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
        return add_tensors(x, y, scope)


subtract = binary("Sub", np.subtract, NUMBERS, "Return x - y, broadcast.")
multiply = binary("Mul", np.multiply, NUMBERS, "Return x * y, broadcast.")
realdiv = binary("RealDiv", np.divide, NUMBERS, "Return x / y for floats.", integers=_no_integers)
floor_div = binary("FloorDiv", _floor_div, NUMBERS, "Return floor(x / y).", integers=_floor_div_integers)
floormod = binary("FloorMod", np.mod, _MOD, "Return the remainder with y's sign.", integers=_floor_mod_integers)
truncatediv = binary("TruncateDiv", _truncate_div, NUMBERS, "Return trunc(x / y).", integers=_truncate_div_integers)
truncatemod = binary(
    "TruncateMod",
    np.fmod,
    ("int32", "int64", *FLOATS),
    "Return the remainder with x's sign.",
    integers=_truncate_mod_integers,
)
maximum = binary("Maximum", np.maximum, REALS, "Return the larger of x and y, elementwise.")
minimum = binary("Minimum", np.minimum, REALS, "Return the smaller of x and y, elementwise.")
squared_difference = binary("SquaredDifference", _squared_difference, _SQUARED, "Return (x - y) squared.")
_power = binary("Pow", np.power, _SIGNED, "Return x to the power of y.", integers=_power_integers)
quotient_or_zero = binary(
    "DivNoNan", lambda x, y: _unless_zero(y, np.divide(x, y)), FLOATS_COMPLEX, "Return x / y; 0 where y is 0."
)
_mul_no_nan = binary(
    "MulNoNan", lambda x, y: _unless_zero(y, np.multiply(x, y)), FLOATS_COMPLEX, "Return x * y; 0 where y is 0."
)


def _atan2() -> Any:
    made = binary("Atan2", np.arctan2, FLOATS, "", names=("y", "x"))

    def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
        """Return the angle of the point (x, y)."""
        return made(y, x, name)

    return atan2


atan2 = _atan2()


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Return x times a scalar; x may be IndexedSlices. ValueError if `scalar` is no scalar."""
    scalar = convert_to_tensor(scalar, dtype=as_dtype(x.dtype).base_dtype, name="scalar")
    if scalar.shape.ndims != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(multiply(scalar, x.values, name), x.indices, x.dense_shape)
    return multiply(scalar, x, name)


def _same_dtype(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype.base_dtype!r} != {y.dtype.base_dtype!r}.")
    return x, y


def _divisible(x: Tensor, y: Tensor, where: str) -> tuple[Tensor, Tensor]:
    """Cast integers to the floats that true division gives."""
    dtype = x.dtype.base_dtype
    if dtype.is_integer:
        from pipeline.compat.ops.math.casting import cast

        quotient = "float32" if dtype.size < 4 else "float64"
        return cast(x, quotient), cast(y, quotient)
    if not (dtype.is_floating or dtype.is_complex):
        raise TypeError(f"Invalid dtype {dtype!r} in {where}. Expected a number.")
    return x, y


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y; integers are cast to float64, those of up to 16 bits to float32."""
    with name_scope(name, "truediv") as scope:
        x, y = _divisible(*_same_dtype(x, y), "__truediv__")
        return realdiv(x, y, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y as Python's operator does."""
    if name is None and not isinstance(x, Tensor):
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype if isinstance(y, Tensor) else None)
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y for floats and the floor of it for integers, as Python 2 did."""
    with name_scope(name, "div") as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        dtype = x.dtype.base_dtype
        return (realdiv if dtype.is_floating or dtype.is_complex else floor_div)(x, y, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, and 0 where y is 0; integers are cast as in `truediv`."""
    with name_scope(name, "div_no_nan") as scope:
        if isinstance(y, Tensor) and not isinstance(x, Tensor):
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        x, y = _divisible(*_same_dtype(x, y), "tf.math.divide_no_nan")
        return quotient_or_zero(x, y, name=scope)


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x * y, and 0 where y is 0, whatever x is."""
    with name_scope(name, "multiply_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return _mul_no_nan(x, y, name=scope)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """Return 1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=x.dtype.base_dtype, name="one")
        return quotient_or_zero(one, x, name=scope)


def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of x / y with y's sign; the op for Python's %."""
    with name_scope(name, "mod") as scope:
        return floormod(x, y, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return floor(x / y); the op for Python's //."""
    with name_scope(name, "floordiv") as scope:
        return floor_div(x, y, name=scope)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x to the power of y; a negative power of an integer is an InvalidArgumentError."""
    with name_scope(name, "Pow") as scope:
        return _power(x, y, name=scope)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the polynomial with the given coefficients, the highest degree's first, at x (Horner's rule)."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with name_scope(name, "polyval"):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            from pipeline.compat.ops.arrays.filling import zeros_like

            return zeros_like(x)
        tensors = [convert_to_tensor(each, name=f"coeff_{index}") for index, each in enumerate(coeffs)]
        result: Any = tensors[0]
        for each in tensors[1:]:
            result = each + result * x
        return result  # type: ignore[no-any-return]


def _sum(*values: Any) -> Any:
    first = np.shape(values[0])
    for at, value in enumerate(values):
        if np.shape(value) != first:
            text = "Inputs to operation AddN of type AddN must have the same size and shape."
            text += f"  Input 0: {shown(values[0])} != input {at}: {shown(value)}"
            raise errors.InvalidArgumentError(None, None, text)
    total = values[0]
    for value in values[1:]:
        total = np.add(total, value)
    return total


def _merged(tensors: list[Tensor]) -> TensorShape:
    shape = unknown_shape()
    for index, tensor in enumerate(tensors):
        try:
            shape = shape.merge_with(tensor.shape)
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {index} with other shapes.") from None
    return shape


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Return the sum of a list of tensors of one dtype and shape; ValueError if there are none."""
    wanted = "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
    if isinstance(inputs, Tensor) or not hasattr(inputs, "__iter__"):
        raise ValueError(wanted)
    inputs = [each if isinstance(each, Tensor) else convert_to_tensor(each) for each in inputs]
    if not inputs:
        raise ValueError(wanted)
    if len(inputs) == 1:
        return _named(inputs[0], name)
    with name_scope(name, "AddN") as scope:
        tensors = list_input("AddN", "inputs", inputs, _WITH_VARIANT)
        shape = _merged(tensors)
        attrs = {"N": len(tensors), "T": tensors[0].dtype.base_dtype}
        return tensor_node("AddN", tensors, quiet(_sum), tensors[0].dtype.base_dtype, shape, name=scope, attrs=attrs)


def _named(tensor: Tensor, name: str | None) -> Tensor:
    if not name:
        return tensor
    with name_scope(name) as scope:
        return tensor_node("Identity", [tensor], lambda x: x, tensor.dtype.base_dtype, tensor.shape, name=scope)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Any:
    """Return the sum of a list of tensors, as `add_n`, with a shape and a dtype to be checked.

    Raises:
        ValueError: `inputs` is no list of tensors of one dtype and shape, or that is not `shape`.
        TypeError: The dtype is not `tensor_dtype`.
    """
    wanted = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(wanted)
    inputs = [convert_to_tensor(each) for each in inputs]
    if any(each.dtype.base_dtype != inputs[0].dtype.base_dtype for each in inputs):
        raise ValueError(wanted)
    merged = unknown_shape() if shape is None else as_shape(shape)
    for each in inputs:
        merged = merged.merge_with(each.shape)
    if tensor_dtype is not None and as_dtype(tensor_dtype) != inputs[0].dtype.base_dtype:
        raise TypeError(f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type {inputs[0].dtype}.")
    return _named(inputs[0], name) if len(inputs) == 1 else add_n(inputs, name=name)
