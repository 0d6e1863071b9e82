"""Convert Python values to slot values, or explain why they do not fit; runs before the queue is touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline._lines import all_bytes
from pipeline.dtypes import STRING, parse_dtype, refuse_missing, utf8
from pipeline.errors import InvalidArgumentError, invalid, show
from pipeline.foreign import numpy_of
from pipeline.nest import ListValue
from pipeline.queues.components import Component, Shape

# Per component dtype kind, the kinds that NumPy may infer for Python values (not arrays).
_ACCEPTED = {"b": "b", "i": "biu", "u": "biu", "f": "biuf", "c": "biufc"}


def _to_bytes(value: Any, where: str) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return utf8(value, where)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        raise ValueError(f"{where}: not a rectangular array of strings: {value!r:.80} among single strings")
    raise TypeError(f"{where}: expected bytes or str, got {type(value).__name__} {value!r:.80}")


def _strings(value: Any, where: str) -> Any:
    """Convert one string to bytes, several to an object array of bytes."""
    if isinstance(value, (bytes, str, bytearray, memoryview)):
        return _to_bytes(value, where)
    if value is None:
        raise ValueError(f"{where}: None is not a value")
    array = value if isinstance(value, np.ndarray) else np.array(copied_lists(value), dtype=object)
    if array.dtype.kind not in "OSUT" and array.size:
        raise TypeError(f"{where}: expected bytes or str, got an array of {array.dtype}")
    if array.ndim == 0:
        return _to_bytes(array.item(), where)
    result = np.empty(array.shape, dtype=object)
    flat = [_to_bytes(one, where) for one in array.reshape(-1).tolist()]
    result.reshape(-1)[:] = flat
    return result


def _cast(array: np.ndarray[Any, Any], component: Component, where: str) -> np.ndarray[Any, Any]:
    """Convert a NumPy array as astype does, without warnings; text and objects are checked as Python values."""
    dtype = component.dtype
    if array.dtype == dtype:
        return array
    if array.dtype.kind in "SUT" or (array.dtype.kind == "O" and dtype.kind != "O"):
        return _from_python(array.tolist(), dtype, where)
    if array.dtype.kind == "c" and dtype.kind in "biuf":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _check_range(inferred: np.ndarray[Any, Any], dtype: np.dtype[Any], where: str) -> None:
    limits = np.iinfo(dtype)
    for extreme in (inferred.min(), inferred.max()):
        if not limits.min <= int(extreme) <= limits.max:
            raise OverflowError(
                f"{where}: {int(extreme)} is out of the range of {dtype} ({limits.min} to {limits.max})"
            )


def _from_python(value: Any, dtype: np.dtype[Any], where: str) -> np.ndarray[Any, Any]:
    """Convert numbers and nested number lists; never truncates, wraps around or parses."""
    value = copied_lists(value, where)
    if dtype.kind not in _ACCEPTED:
        return np.array(value, dtype=dtype)
    try:
        inferred = np.array(value)
    except ValueError as error:
        raise ValueError(f"{where}: not a rectangular array of {dtype}: {error}") from None
    if dtype.kind in "iu" and inferred.dtype.kind in "fO" and inferred.size:
        # NumPy infers floats for Python ints beyond 64 bits, and for large ones mixed with negative ones.
        exact = np.array(value, dtype=object)
        if all(type(one) is int for one in exact.reshape(-1).tolist()):
            _check_range(exact, dtype, where)
            return exact.astype(dtype)
    kind = inferred.dtype.kind
    if inferred.size and kind not in _ACCEPTED[dtype.kind]:
        example = inferred.reshape(-1)[:1].tolist()[0]
        raise TypeError(f"{where}: expected {dtype}, got {type(example).__name__} {example!r:.80}")
    if inferred.size and dtype.kind in "iu":
        _check_range(inferred, dtype, where)
    return inferred.astype(dtype)


_WITHOUT_MASK = (int, float, bool, complex, str, bytes, np.ndarray)


def copied_lists(value: Any, where: str | None = None) -> Any:
    """Return nested lists as private copies; other values unchanged.

    NumPy crashes if a list becomes shorter while it is read, by an element's `__float__` or in another thread. It also
    drops the masks on arrays in lists; given `where`, masked arrays are refused with an error that contains it.
    """
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([copied_lists(each, where) for each in value])
    if where is not None and kind not in _WITHOUT_MASK:
        refuse_missing(value, where)
    return value


def _array(value: Any, component: Component, where: str) -> np.ndarray[Any, Any]:
    dtype = component.dtype
    if value is None:
        raise ValueError(f"{where}: None is not a value")
    if (
        isinstance(value, np.generic) and value.dtype.kind in "iu" and dtype.kind in "iu"
    ):  # a single number is checked as in Python
        _check_range(np.asarray(value), dtype, where)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return _cast(np.asarray(value), component, where)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        refuse_missing(value, where)
        return _cast(numpy_of(value), component, where)
    return _from_python(value, dtype, where)


def compatible(shape: tuple[int, ...], expected: Shape) -> bool:
    """Return True if a shape fits the expected one; None fits any size or shape."""
    if expected is None:
        return True
    return len(shape) == len(expected) and all(
        want is None or have == want for have, want in zip(shape, expected, strict=True)
    )


def _shape_of(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, np.ndarray) else ()


def _mismatch(
    index: int, expected: tuple[int | None, ...], got: tuple[int, ...], where: str, counted: bool = False
) -> InvalidArgumentError:
    """Return the error for a wrong shape; `counted`: row counts differ between components, as `where` explains."""
    text = f"Shape mismatch in tuple component {index}. Expected {show(expected)}, got {show(got)}\n{where}"
    if len(got) == len(expected) and None not in expected and not counted:
        text += ": rows that vary in size need dynamic_pad=True (batch functions), or a padding queue"
    return invalid(text)


def _owned(array: np.ndarray[Any, Any], source: Any) -> Any:
    """Return the array, copied if it shares memory with `source`; a scalar becomes a NumPy scalar."""
    if array.ndim == 0:
        return array[()]
    return array.copy() if np.may_share_memory(array, numpy_of(source)) else array


def element(value: Any, component: Component, index: int, where: str) -> Any:
    """Convert one component value to slot form.

    Args:
        value: The enqueued value.
        component: The component.
        index: Its position, for errors.
        where: The queue and the component, for errors.

    Raises:
        InvalidArgumentError: It has another shape.
        TypeError, ValueError, OverflowError: It does not fit the dtype.
    """
    if component.form == "object":
        return value
    converted = _strings(value, where) if component.form == "bytes" else _array(value, component, where)
    if not compatible(_shape_of(converted), component.shape):
        assert component.shape is not None
        raise _mismatch(index, component.shape, _shape_of(converted), where)
    if component.form == "rows":
        return np.ascontiguousarray(converted).reshape(converted.shape)
    return converted if component.form == "bytes" else _owned(converted, value)


def _plain_strings(value: Any) -> list[bytes] | None:
    """Return the strings in a bytes vector as a new list; None for anything else, and if an item is not bytes."""
    if type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "OS":
        own = value.tolist()
    elif type(value) is list:
        own = value.copy()
    else:
        return None
    return own if all_bytes(own) else None


def elements(value: Any, component: Component, index: int, count: int | None, where: str) -> tuple[Any, int]:
    """Convert many values for one component; return them and their count. Arguments and errors as `element`.

    Args:
        count: The value count in component 0; None if this is component 0.
    """
    if component.form == "object":
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
            raise invalid(f"{where}: expected a sequence of objects, got {type(value).__name__}")
        converted: Any = list(value)
        shape: tuple[int, ...] = (len(converted),)
    elif component.form == "bytes" and component.shape == () and (own := _plain_strings(value)) is not None:
        converted, shape = own, (len(own),)
    else:
        converted = _strings(value, where) if component.form == "bytes" else _array(value, component, where)
        shape = _shape_of(converted)
    if not shape:
        raise invalid(f"{where}: Shape () must have rank at least 1")
    if component.shape is None:
        if count is not None and shape[0] != count:
            raise invalid(
                "All input tensors must have the same size in the 0th dimension. "
                f"Component {index} has {shape[0]}, and should have {count}"
            )
    else:
        rows = shape[0] if count is None else count
        if shape[0] != rows or not compatible(shape[1:], component.shape):
            counted = shape[0] != rows
            if counted:
                where = f"{where} has {shape[0]} rows, and component 0 has {rows}"
            raise _mismatch(index, (rows, *component.shape), shape, where, counted)
    if component.form == "rows":
        return np.ascontiguousarray(converted), shape[0]
    if isinstance(converted, list):
        return converted, shape[0]
    if component.form == "bytes":
        return [row.copy() if isinstance(row, np.ndarray) else row for row in converted], shape[0]
    return [row.copy() for row in converted], shape[0]


def _of_lists(rows: Sequence[Any]) -> bool:
    return any(isinstance(row, ListValue) for row in rows)


def infer(value: Any, many: bool, where: str) -> tuple[np.dtype[Any], Shape]:
    """Return NumPy's dtype and shape for a component's first value (for a block if `many`)."""
    if value is None or (many and isinstance(value, (list, tuple)) and value and value[0] is None):
        raise ValueError(f"{where}: None is not a value")
    if isinstance(value, (bytes, str, bytearray)) and not many:
        return STRING, ()
    if isinstance(value, ListValue) or (many and isinstance(value, (list, tuple)) and _of_lists(value)):
        return np.dtype(object), ()
    if many and isinstance(value, (list, tuple)) and value and all(isinstance(one, (bytes, str)) for one in value):
        return STRING, ()
    value = copied_lists(value, where)
    try:
        array = numpy_of(value)
    except ValueError:
        if many and isinstance(value, (list, tuple)):
            return np.dtype(object), ()
        raise
    texts = array.dtype.kind == "O" and isinstance(value, (list, tuple)) and set(map(type, array.flat)) <= {bytes, str}
    dtype = STRING if texts or array.dtype.kind == "T" else parse_dtype(array.dtype)
    if dtype.kind == "O":
        return dtype, ()
    if many and array.ndim == 0:
        raise invalid(f"{where}: Shape () must have rank at least 1")
    return dtype, array.shape[1:] if many else array.shape
