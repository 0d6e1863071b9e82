"""What Python and NumPy values become in a graph: constants, and tensors packed from lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.core import dtypes
from pipeline.compat.core.dtypes import DType, as_dtype
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.integers import array_of
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.packing import pack
from pipeline.compat.core.shapes import Dimension, TensorShape, as_shape
from pipeline.compat.core.tensor import Tensor

Conversion = Callable[..., Any]
_conversions: list[tuple[Any, Conversion]] = []
_priorities: list[int] = []


def register_conversion(cls: Any, function: Conversion) -> None:
    """Let `convert_to_tensor` use `function(value, dtype, name, as_ref)` for instances of `cls`, a class or tuple."""
    register_tensor_conversion_function(cls, function)


def register_tensor_conversion_function(base_type: Any, conversion_func: Any, priority: int = 100) -> None:
    """Let `convert_to_tensor` use a function for instances of a class, or of any of a tuple of classes.

    Args:
        base_type: The class or classes.
        conversion_func: Called with (value, dtype=, name=, as_ref=); returns a tensor or NotImplemented.
        priority: Of several functions for a value the one with the lowest is asked first.

    Raises:
        TypeError: These are no classes, or this is no function.
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
    """Return `value` as a tensor of the default graph.

    Args:
        value: A tensor or variable; a number, str, bytes, NumPy array, shape; or a list of any of these.
        dtype: The DType that it must have; Python values take it on, tensors are never cast.
        name: Name of a constant that is made.
        preferred_dtype: The DType to try first where `dtype` is None; also `dtype_hint`.
        as_ref: Whether a variable may stay a reference.

    Raises:
        ValueError: A tensor of another dtype; None; a list whose parts differ in shape.
        TypeError: A value that does not go into the dtype, or into any.
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
    if isinstance(value, (list, tuple)) and _has_tensor(value):
        found = _dtype_within(value)
        if dtype is not None and found is not dtype:
            value = _cast_within(value, dtype)
        return _packed(value, dtype or found, name or "packed")
    return constant(value, dtype, name=name or "Const")


def convert_n(values: Any, dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """Convert each of `values`; constants are named after `name` and their number."""
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


register_conversion((Dimension, TensorShape), _shape_constant)


# Lists with tensors in them


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (
        not isinstance(value, (Dimension, TensorShape)) and any(isinstance(value, cls) for cls, _ in _conversions)
    )


def _has_tensor(values: Any) -> bool:
    return any(_has_tensor(each) if isinstance(each, (list, tuple)) else _is_tensor(each) for each in values)


def _dtype_within(values: Any) -> DType | None:
    for each in values:
        found = _dtype_within(each) if isinstance(each, (list, tuple)) else None
        if found is None and _is_tensor(each) and hasattr(each, "dtype"):
            found = each.dtype.base_dtype
        if found is not None:
            return found
    return None


def _cast_within(values: Any, dtype: DType) -> list[Any]:
    """Cast the tensors in a list, as TensorFlow does where the first of them has another dtype than is asked for."""
    from pipeline.compat.ops.casting import cast_node

    made: list[Any] = []
    for each in values:
        if isinstance(each, (list, tuple)):
            made.append(_cast_within(each, dtype))
        elif _is_tensor(each) and each.dtype.base_dtype is not dtype:
            made.append(cast_node(each, dtype))
        else:
            made.append(each)
    return made


def _packed(values: Any, dtype: DType | None, name: str) -> Tensor:
    with name_scope(name) as scope:
        parts: list[Any] = []
        for i, each in enumerate(values):
            if isinstance(each, (list, tuple)) and _has_tensor(each):
                parts.append(_packed(each, dtype, str(i)))
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
                    # TensorFlow looks for tensors in a scope of this name, so that the constant gets the next one.
                    with name_scope(str(i)):
                        pass
                parts.append(each)
        tensors = [
            each if isinstance(each, Tensor) else constant(each, dtype, name=str(i)) for i, each in enumerate(parts)
        ]
        return pack(tensors, 0, scope)


# Constants


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """Make a constant.

    Args:
        value: A number, str or bytes, a NumPy array, or nested lists of these.
        dtype: Its DType; without one, Python's ints become int32 if they fit, floats float32.
        shape: Its shape; missing elements repeat the last one, unless `verify_shape`.
        name: Name of the operation.

    Raises:
        TypeError, ValueError: As `convert_to_tensor`.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    empty = shape is not None and as_shape(shape).num_elements() == 0
    if empty and not isinstance(value, (np.ndarray, np.generic)):
        value = np.zeros(as_shape(shape).as_list(), (wanted or dtypes.float32).np)
    array = to_array(value, wanted)
    if shape is not None:
        array = _shaped(array, tuple(as_shape(shape).as_list()), verify_shape)
    result = wanted or as_dtype(array.dtype)
    held: Any = array
    if array.ndim:
        held = array = array.copy() if isinstance(value, np.ndarray) else array
        array.flags.writeable = False
    else:
        held = array[()]
    attrs = {"dtype": result, "value": held}
    return tensor_node("Const", (), lambda: held, result, array.shape, name, attrs=attrs)


def _shaped(array: Any, sizes: tuple[Any, ...], verify: bool) -> Any:
    if verify and array.shape != sizes:
        raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    count = int(np.prod(sizes, dtype=np.int64))
    if array.size > count and array.size != 1:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d} for shape {list(sizes)}"
        )
    if array.size == count:
        return array.reshape(sizes)
    flat = np.empty(count, array.dtype)
    flat[: array.size] = array.reshape(-1)[:count]
    flat[array.size :] = array.reshape(-1)[-1] if array.size else (b"" if array.dtype == object else 0)
    return flat.reshape(sizes)


def to_array(value: Any, dtype: DType | None) -> Any:
    """The NumPy array that a constant of `value` holds; of bytes objects for strings."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(np.asarray(value), dtype)
    if value is None:
        raise ValueError("None values not supported.")
    if dtype is not None and not dtype.is_numpy_compatible:
        raise TypeError(f"Cannot make a constant of dtype {dtype.name}")
    kinds: set[type] = set()
    given, value = value, _plain(value, kinds)
    if dtype is None and str in kinds:
        dtype = dtypes.string
    if dtype is dtypes.string:
        _check(value, dtype)
        return _strings(value)
    if dtype is not None:
        _check(value, dtype)
        array = _array(value, dtype.np)
    else:
        array = _array(value, None)
        if array.dtype == np.float64:
            with np.errstate(all="ignore"):
                array = array.astype(np.float32)
        elif array.dtype == np.int64 and (array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)):
            array = array.astype(np.int32)
        elif array.dtype == object:
            raise TypeError(f"Failed to convert elements of {value!r:.80} to Tensor. Consider casting elements.")
    dense = _list_shape(value)
    if dense != array.shape:
        # TensorFlow looks at lists only: not at the axes of arrays in them.
        raise ValueError(
            f"Expected values {given!r:.200} to be a dense tensor with shape {list(dense)}, but got shape "
            f"{list(array.shape)}."
        )
    if array.dtype.kind in "SU":
        raise TypeError(f"Failed to convert elements of {given!r:.80} to Tensor. Consider casting elements.")
    return array


def _from_numpy(array: Any, dtype: DType | None) -> Any:
    if array.dtype.kind in "SUO":
        if dtype is not None and dtype is not dtypes.string:
            return array.astype(dtype.np)  # texts are parsed; ValueError where they are no numbers
        return _strings(array)
    if dtype is None:
        as_dtype(array.dtype)  # TypeError where TensorFlow has no such type
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if dtype is dtypes.string:
        if not array.size:
            return np.empty(array.shape, object)
        raise TypeError(f"Expected string, got an array of {array.dtype} instead.")
    with np.errstate(all="ignore"):
        return array.astype(dtype.np, copy=False)


def _plain(value: Any, kinds: set[type]) -> Any:
    """Lists without Dimensions in them; `kinds` gets str if there are strings of any kind."""
    if isinstance(value, (list, tuple)):
        return [_plain(each, kinds) for each in value]
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, (str, bytes)):
        kinds.add(str)  # NumPy's strings as well
        return value
    if value is None:
        raise TypeError("Failed to convert elements of a list to Tensor: None values not supported.")
    if isinstance(value, (int, float, complex, np.generic, np.ndarray)):
        return value
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if isinstance(value, range):
        return np.array(value)
    raise TypeError(
        f"Failed to convert elements of {value!r:.100} to Tensor. Consider casting elements to a supported type. "
        "See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes."
    )


def _array(value: Any, dtype: np.dtype[Any] | None) -> Any:
    try:
        with np.errstate(over="ignore"):  # a float that is too large for a dtype is infinite
            return array_of(value, dtype)
    except OverflowError as error:
        raise OverflowError(f"{error}: the value does not go into {dtype}") from None
    except ValueError as error:
        raise ValueError(f"Argument must be a dense tensor: {value!r:.80} - {error}") from None


def _check(value: Any, dtype: DType) -> None:
    """TypeError for the first part that does not go into `dtype`."""
    if isinstance(value, list):
        for each in value:
            _check(each, dtype)
        return
    if isinstance(value, np.ndarray) and value.ndim:
        fits = (value.dtype.kind in "SUO") == (dtype is dtypes.string)
    elif isinstance(value, (str, bytes)):
        fits = dtype is dtypes.string
    elif isinstance(value, (bool, np.bool_)):
        fits = dtype is not dtypes.string
    elif isinstance(value, (int, np.integer)):
        fits = not dtype.is_bool and dtype is not dtypes.string
    elif isinstance(value, (float, np.floating)):
        fits = dtype.is_floating or dtype.is_complex
    elif isinstance(value, (complex, np.complexfloating)):
        fits = dtype.is_complex
    else:
        fits = True
    if not fits:
        raise TypeError(f"Expected {dtype.name}, but got {value!s:.80} of type '{type(value).__name__}'.")


def _strings(value: Any) -> Any:
    """An array of bytes objects."""
    if isinstance(value, (str, bytes)):
        array = np.empty((), object)
        array[()] = _bytes(value)
        return array
    if isinstance(value, np.ndarray):
        result = np.empty(value.shape, object)
        result.reshape(-1)[:] = [_bytes(each) for each in value.reshape(-1).tolist()]
        return result
    shape = _list_shape(value)
    result = np.empty(shape, object)
    flat: list[Any] = []
    _flatten(value, shape, flat)
    result.reshape(-1)[:] = flat
    return result


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    raise TypeError(f"Expected string, but got {value!s:.80} of type '{type(value).__name__}'.")


def _list_shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    return (len(value), *(_list_shape(value[0]) if value else ()))


def _flatten(value: Any, shape: tuple[int, ...], flat: list[Any]) -> None:
    if not shape:
        if isinstance(value, list):
            raise ValueError(f"Argument must be a dense tensor: {value!r:.80} stands where a scalar is expected")
        flat.append(_bytes(value.item() if isinstance(value, np.generic | np.ndarray) else value))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise ValueError(f"Argument must be a dense tensor: {value!r:.80} - expected {shape[0]} elements")
    for each in value:
        _flatten(each, shape[1:], flat)
