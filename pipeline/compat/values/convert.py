"""convert_to_tensor, and its conversion functions for other classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant

# Classes with their functions, in the order they are tried, and each one's priority.
_conversions: list[tuple[Any, Callable[..., Any]]] = []
_priorities: list[int] = []


def register_tensor_conversion_function(base_type: Any, conversion_func: Any, priority: int = 100) -> None:
    """Make `convert_to_tensor` use a function for instances of one or more classes.

    Args:
        base_type: A class, or a tuple of classes.
        conversion_func: Called with (value, dtype=, name=, as_ref=); returns a tensor or NotImplemented.
        priority: Functions with a lower priority are tried first.

    Raises:
        TypeError: `base_type` is not a class or tuple of classes, or the function is not callable.
    """
    classes = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(each, type) for each in classes):
        raise TypeError("Argument `base_type` must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be callable.")
    place = sum(1 for each in _priorities if each <= priority)
    _priorities.insert(place, priority)
    _conversions.insert(place, (base_type, conversion_func))


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    as_ref: bool = False,
) -> Tensor:
    """Return `value` as a tensor in the default graph.

    Args:
        value: A tensor or variable; a number, str, bytes, NumPy array or object with `__array__`, shape; or lists.
        dtype: The DType. Python values are converted to it; a tensor must have it.
        name: Name for the constant, if one is made.
        preferred_dtype: The DType to try first if `dtype` is None.
        dtype_hint: The same, under its newer name.
        as_ref: True if a variable may stay a reference.

    Raises:
        ValueError: A tensor has another dtype; a value is None; list elements differ in shape.
        TypeError: A value cannot be converted to the dtype, or to any.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if value.__class__ is Tensor:
        if wanted is not None and not wanted.is_compatible_with(value.dtype.base_dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value
    hint = dtype_hint if preferred_dtype is None else preferred_dtype
    if wanted is None and hint is not None:
        try:
            return _convert(value, as_dtype(hint).base_dtype, name, as_ref)
        except (TypeError, ValueError):
            pass
    return _convert(value, wanted, name, as_ref)


def _convert(value: Any, dtype: DType | None, name: str | None, as_ref: bool) -> Tensor:
    for cls, function in _conversions:
        if isinstance(value, cls):
            converted = function(value, dtype=dtype, name=name, as_ref=as_ref)
            if converted is not NotImplemented:
                return converted  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        found = _first_dtype(value)
        if dtype is not None and found is not dtype:
            value = _cast_tensors(value, dtype)
        return _pack_nested(value, dtype or found, name or "packed")
    return constant(value, dtype, name=name or "Const")


def convert_n(values: Any, dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """Convert each of `values`; constants are called `name` with their index."""
    return [
        convert_to_tensor(value, dtype, name=None if name is None else f"{name}_{i}") for i, value in enumerate(values)
    ]


def _shape_constant(value: Any, dtype: DType | None, name: str | None, as_ref: bool) -> Tensor:
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError("Cannot convert an unknown Dimension to a Tensor.")
        sizes: Any = value.value
    else:
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        sizes = list(value.sizes)
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a {type(value).__name__} to dtype {dtype.name}")
    if dtype is None:
        dtype = dtypes.int64 if np.any(np.asarray(sizes, np.int64) >= 2**31) else dtypes.int32
    return constant(sizes, dtype, name=name or "shape_as_tensor")


register_tensor_conversion_function((Dimension, TensorShape), _shape_constant)


# Lists with tensors in them


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (
        not isinstance(value, (Dimension, TensorShape)) and any(isinstance(value, cls) for cls, _ in _conversions)
    )


def _holds_tensor(values: Any) -> bool:
    return any(_holds_tensor(each) if isinstance(each, (list, tuple)) else _is_tensor(each) for each in values)


def _first_dtype(values: Any) -> DType | None:
    """Return the first tensor's dtype in a nested list."""
    for each in values:
        found = _first_dtype(each) if isinstance(each, (list, tuple)) else None
        if found is None and _is_tensor(each) and hasattr(each, "dtype"):
            found = each.dtype.base_dtype
        if found is not None:
            return found
    return None


def _cast_tensors(values: Any, dtype: DType) -> list[Any]:
    """Cast a list's tensors, as TensorFlow does if the first one does not have the requested dtype."""
    result: list[Any] = []
    for each in values:
        if isinstance(each, (list, tuple)):
            result.append(_cast_tensors(each, dtype))
        elif _is_tensor(each) and each.dtype.base_dtype is not dtype:
            with name_scope("Cast") as scope:
                result.append(cast_node(convert_to_tensor(each, name="x"), dtype, scope))
        else:
            result.append(each)
    return result


def _pack_nested(values: Any, dtype: DType | None, name: str) -> Tensor:
    """Pack a list containing tensors, at any depth; the other elements become constants with `dtype`."""
    from pipeline.compat.values.packing import pack  # not needed for constants

    with name_scope(name) as scope:
        parts: list[Any] = []
        for i, each in enumerate(values):
            if isinstance(each, (list, tuple)) and _holds_tensor(each):
                parts.append(_pack_nested(each, dtype, str(i)))
            elif _is_tensor(each):
                tensor = convert_to_tensor(each)
                if dtype is not None and tensor.dtype.base_dtype != dtype:
                    raise TypeError(
                        f"Cannot convert a list containing a tensor of dtype {tensor.dtype!r} to {dtype!r} "
                        f"(Tensor is: {tensor!r})"
                    )
                parts.append(tensor)
            else:
                if isinstance(each, (list, tuple)):
                    # TensorFlow searches the list for tensors in a scope with this name, so the constant gets the next.
                    with name_scope(str(i)):
                        pass
                parts.append(each)
        tensors = [
            each if isinstance(each, Tensor) else constant(each, dtype, name=str(i)) for i, each in enumerate(parts)
        ]
        return pack(tensors, 0, scope)
