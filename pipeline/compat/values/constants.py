"""constant and to_array: convert Python values to NumPy arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """Return a tensor with a constant value.

    Args:
        value: A number, str or bytes, an array or object with `__array__` (such as a pandas column), or nested lists.
        dtype: Its DType. By default Python ints become int32 if they fit, else int64; floats become float32.
        shape: Its shape. Missing elements repeat the last one.
        name: Name of the operation.
        verify_shape: Raise TypeError if the value does not have this shape.

    Raises:
        TypeError, ValueError: As in `convert_to_tensor`.
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
        held = array = array if isinstance(value, (list, tuple)) else array.copy()
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
    """Return `value` as the NumPy array for a constant; strings become an object array of bytes."""
    if isinstance(value, (np.ndarray, np.generic)) or callable(getattr(value, "__array__", None)):
        return _from_numpy(np.asarray(value), dtype)
    if value is None:
        raise ValueError("None values not supported.")
    if dtype is not None and not dtype.is_numpy_compatible:
        raise TypeError(f"Cannot make a constant of dtype {dtype.name}")
    if dtype is None or dtype.is_numpy_compatible:
        array = _of_one_type(value, dtype)
        if array is not None:
            return array
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
        array = _default_dtype(_array(value, None), value)
    dense = _list_shape(value)
    if dense != array.shape:
        # TensorFlow counts list axes only, not axes of arrays within them.
        raise ValueError(
            f"Expected values {given!r:.200} to be a dense tensor with shape {list(dense)}, but got shape "
            f"{list(array.shape)}."
        )
    if array.dtype.kind in "SU":
        raise TypeError(f"Failed to convert elements of {given!r:.80} to Tensor. Consider casting elements.")
    return array


_LISTS = {list, tuple}
_SIMPLE = (bool, int, float, complex, str, bytes)


def _of_one_type(value: Any, dtype: DType | None) -> Any:
    """Return an array from nested lists whose elements share one Python type; None for anything else and on failure.

    Each list level is checked as a whole, because a million separate numbers take ten times as long.
    """
    if type(value) not in _LISTS or not value:
        return None
    level, shape = value, [len(value)]
    kinds = set(map(type, level))
    while kinds <= _LISTS:
        lengths = set(map(len, level))
        level = list(itertools.chain.from_iterable(level))
        if len(lengths) != 1 or not level:
            return None
        shape += lengths
        kinds = set(map(type, level))
    if len(kinds) != 1 or not kinds.issubset(_SIMPLE):
        return None
    try:
        array = _of_flat(level, dtypes.string if dtype is None and not kinds.isdisjoint((str, bytes)) else dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    array.resize(shape, refcheck=False)  # in place, because the array owns its memory
    return array


def _of_flat(values: Any, dtype: DType | None) -> Any:
    """Return the array from elements with one type."""
    if dtype is None:
        return _default_dtype(_array(values, None), values)
    _check(values[0], dtype)
    if dtype is not dtypes.string:
        return _array(values, dtype.np)
    array = np.empty(len(values), object)
    array[:] = values if type(values[0]) is bytes else [each.encode("utf-8") for each in values]
    return array


def _default_dtype(array: Any, value: Any) -> Any:
    """Return a Python value's array in TensorFlow's dtype for it: float32, and int32 if the ints fit."""
    if array.dtype == np.float64:
        with np.errstate(all="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64 and (array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)):
        return array.astype(np.int32)
    if array.dtype == object:
        raise TypeError(f"Failed to convert elements of {value!r:.80} to Tensor. Consider casting elements.")
    return array


def _from_numpy(array: Any, dtype: DType | None) -> Any:
    if array.dtype.kind in "SUOT":
        if dtype is not None and dtype is not dtypes.string:
            return array.astype(dtype.np)  # parses strings; ValueError if one is not a number
        return _strings(array)
    if dtype is None:
        as_dtype(array.dtype)  # TypeError if TensorFlow has no such type
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if dtype is dtypes.string:
        if not array.size:
            return np.empty(array.shape, object)
        raise TypeError(f"Expected string, got an array of {array.dtype} instead.")
    with np.errstate(all="ignore"):
        return array.astype(dtype.np, copy=False)


def _plain(value: Any, kinds: set[type]) -> Any:
    """Return `value` with lists for tuples and ints for Dimensions; adds str to `kinds` if it contains strings."""
    if isinstance(value, (list, tuple)):
        return [_plain(each, kinds) for each in value]
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, (str, bytes)):
        kinds.add(str)  # NumPy strings as well
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
        with np.errstate(over="ignore"):  # a float too large for the dtype becomes infinite
            return array_of(value, dtype)
    except OverflowError as error:
        raise OverflowError(f"{error}: the value does not fit {dtype}") from None
    except ValueError as error:
        raise ValueError(f"Argument must be a dense tensor: {value!r:.80} - {error}") from None


def _check(value: Any, dtype: DType) -> None:
    """Raise TypeError if an element cannot be converted to `dtype`."""
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
    """Return an object array of bytes."""
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


_WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"


def array_of(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return `np.array(value, dtype)`; OverflowError for out-of-range Python integers, which NumPy 1 would wrap."""
    if _WRAPS and dtype is not None and dtype.kind in "iu":
        wide = np.array(value)
        if wide.size and wide.dtype.kind in "iuO":
            limits = np.iinfo(dtype)
            for each in (wide.min(), wide.max()):
                if not limits.min <= each <= limits.max:
                    raise OverflowError(f"Python integer {each} out of bounds for {dtype}")
    return np.array(value, dtype=dtype)
