"""Convert an op's inputs to tensors, and check that their dtypes agree and are accepted."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.convert import convert_to_tensor

# Dtype names in the order of the op definitions; error messages repeat it.
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATS_COMPLEX = FLOATS + COMPLEX
BITS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, "uint8", "int8", "uint16", "int16", "int32", "int64", *COMPLEX, "uint32", "uint64")
REALS: tuple[str, ...] = ("float32", "float64", "int32", "uint8", "int16", "int8", "int64")
REALS += ("bfloat16", "uint16", "float16", "uint32", "uint64")
QUANTIZED = ("qint8", "quint8", "qint32")
ANY_NUMBER: tuple[str, ...] = (
    "float32",
    "float64",
    "int32",
    "uint8",
    "int16",
    "int8",
    "complex64",
    "int64",
    *QUANTIZED,
)
ANY_NUMBER += ("bfloat16", "qint16", "quint16", "uint16", "complex128", "float16", "uint32", "uint64")
INDEX = ("int32", "int64")


def check_allowed(name: str, dtype: DType, allowed: tuple[str, ...]) -> None:
    """Raise TypeError if the input does not accept the dtype."""
    if dtype.name not in allowed:
        raise TypeError(
            f"Value passed to parameter '{name}' has DataType {dtype.name} not in list of allowed values: "
            f"{', '.join(allowed)}"
        )


def first_input(name: str, value: Any, allowed: tuple[str, ...] | None = None, default: DType | None = None) -> Tensor:
    """Return `value` as a tensor with an allowed dtype.

    Args:
        name: The input's name in the op's definition, also used for a new constant.
        value: A tensor or a value convertible to one.
        allowed: Names of accepted dtypes; None for all.
        default: Dtype for Python values if their own is not allowed.

    Raises:
        TypeError: The dtype is not allowed.
    """
    if isinstance(value, Tensor):
        tensor = value
    elif allowed is None or default is None:
        tensor = convert_to_tensor(value, name=name, preferred_dtype=default)
    else:
        # The default counts only if the value's own dtype is not allowed, such as float32 for [], or if it has none,
        # such as a list of an int64 and an int32 tensor.
        try:
            tensor = convert_to_tensor(value, name=name)
            fits = tensor.dtype.base_dtype.name in allowed
        except TypeError:
            fits = False
        if not fits:
            tensor = convert_to_tensor(value, name=name, preferred_dtype=default)
    if allowed is not None:
        check_allowed(name, tensor.dtype.base_dtype, allowed)
    return tensor


def _observed(value: Any) -> str:
    try:
        return convert_to_tensor(value).dtype.base_dtype.name
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"


def next_input(op_type: str, name: str, value: Any, dtype: DType, origin: str) -> Tensor:
    """Return `value` as a tensor with the dtype of input `origin`; TypeError if it has another."""
    dtype = dtype.base_dtype
    if isinstance(value, Tensor) and value.dtype.base_dtype is dtype:
        return value
    return _of_dtype(op_type, name, value, dtype, f"type {dtype.name} of argument '{origin}'")


def fixed_input(op_type: str, name: str, value: Any, dtype: DType) -> Tensor:
    """Return `value` as a tensor with the only dtype accepted here; TypeError if it has another."""
    if isinstance(value, Tensor) and value.dtype.base_dtype is dtype:
        return value
    return _of_dtype(op_type, name, value, dtype, f"expected type of {dtype.name}")


def _of_dtype(op_type: str, name: str, value: Any, dtype: DType, wanted: str) -> Tensor:
    try:
        tensor = convert_to_tensor(value, dtype=dtype, name=name)
    except TypeError as error:
        raise TypeError(
            f"Expected {dtype.name} passed to parameter '{name}' of op '{op_type}', got {value!r} of type "
            f"'{type(value).__name__}' instead. Error: {error}"
        ) from None
    except ValueError:
        try:
            found = convert_to_tensor(value).dtype.base_dtype.name
        except ValueError as error:
            raise ValueError(f"Tried to convert '{name}' to a tensor and failed. Error: {error}") from None
        raise TypeError(f"Input '{name}' of '{op_type}' Op has type {found} that does not match {wanted}.") from None
    if tensor.dtype.base_dtype is not dtype:
        found = tensor.dtype.base_dtype.name
        raise TypeError(f"Input '{name}' of '{op_type}' Op has type {found} that does not match {wanted}.")
    return tensor


def list_input(op_type: str, name: str, values: Any, allowed: tuple[str, ...] | None = None) -> list[Tensor]:
    """Return a list input's values as tensors with equal dtypes: the first tensor's, if any.

    Raises:
        TypeError: `values` is not a list or is empty, or the dtypes differ or are not allowed.
    """
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for '{name}' argument to '{op_type}' Op, not {values!r}.")
    dtype = next((value.dtype.base_dtype for value in values if isinstance(value, Tensor)), None)
    tensors: list[Tensor] = []
    try:
        for index, value in enumerate(values):
            wanted = None if isinstance(value, Tensor) else dtype
            tensors.append(convert_to_tensor(value, dtype=wanted, name=f"{name}_{index}"))
    except (TypeError, ValueError):
        types = ", ".join(map(_observed, values))
    else:
        types = ", ".join(tensor.dtype.base_dtype.name for tensor in tensors)
    found = [tensor.dtype.base_dtype for tensor in tensors]
    if len(tensors) < len(values) or any(each is not found[0] for each in found):
        raise TypeError(
            f"Tensors in list passed to '{name}' of '{op_type}' Op have types [{types}] that don't all match."
        )
    dtype = found[0] if found else dtype
    if dtype is None:
        raise TypeError(f"Don't know how to infer type variable from empty input list passed to input '{name}'.")
    if allowed is not None:
        check_allowed(name, dtype, allowed)
    return tensors


def renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """Return an argument's value under its new or old name; ValueError if both are given."""
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old


def dtype_of(value: Any) -> DType:
    """Return the DType named by an argument, without "_ref"."""
    return as_dtype(value).base_dtype
