"""Parse a queue's arguments, dtypes, shapes, names and capacity, and choose how slots store each component."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.dtypes import STRING, parse_dtype, texts, whole
from pipeline.errors import invalid

Shape = tuple[int | None, ...] | None

UNBOUNDED = 2**31 - 1


class Component(NamedTuple):
    """One component's description.

    Attributes:
        dtype: The values' dtype; `object` if slots hold bytes.
        form: The storage in slots: "rows" for rows with a fixed size in a slab, "array" for references to arrays with
            different shapes, "bytes" and "object" for references to these.
        shape: A single value's shape. None: any shape; a None entry: any size.
    """

    dtype: np.dtype[Any]
    form: str
    shape: Shape


def parse_dtypes(given: Any) -> list[np.dtype[Any]]:
    """Return a list of dtypes from one dtype or from a list or tuple.

    Raises:
        InvalidArgumentError: It is empty.
        TypeError: An item is not a dtype.
    """
    try:
        dtypes = [parse_dtype(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
    except TypeError as error:
        raise TypeError(
            f"dtypes must be a dtype such as np.float32 or 'string', or a list of them, got {given!r:.80} ({error}). "
            "The arguments of shuffle queues are capacity, min_after_dequeue, dtypes, shapes; "
            "those of the others capacity, dtypes, shapes"
        ) from None
    if not dtypes:
        raise invalid("component_types has length 0 less than minimum 1: a queue needs a dtype, and dtypes is empty")
    return dtypes


def _dimension(given: Any, allow_unknown: bool) -> int | None:
    if given is None:
        if allow_unknown:
            return None
        raise ValueError("All shapes must be fully defined: a dimension is None")
    try:
        size = operator.index(given)
    except TypeError:
        raise TypeError(f"a dimension must be an int or None, got {given!r}") from None
    if size < 0:
        raise ValueError(f"a dimension must be >= 0, got {size}")
    return size


def _shape(given: Any, allow_unknown: bool) -> tuple[int | None, ...]:
    if given is None:
        raise ValueError("All shapes must have a defined rank" if allow_unknown else "All shapes must be fully defined")
    if isinstance(given, (list, tuple)):
        return tuple(_dimension(size, allow_unknown) for size in given)
    return (_dimension(given, allow_unknown),)


def _is_one_shape(given: Sequence[Any]) -> bool:
    return all(size is None or (isinstance(size, (int, np.integer)) and not isinstance(size, bool)) for size in given)


def parse_shapes(given: Any, count: int) -> list[Shape]:
    """Return one shape per component, for `count` components.

    Args:
        given: None for any shape, one shape, or a list or tuple with one shape per component.
        count: The number of components.

    Raises:
        TypeError: It is something else.
        ValueError: A dimension is None or negative, or there are not `count` shapes.
    """
    if given is None:
        return [None] * count
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"shapes must be a shape or a list or tuple of shapes, got {given!r}")
    each = [given] if _is_one_shape(given) else given
    shapes: list[Shape] = [_shape(one, allow_unknown=False) for one in each]
    if len(shapes) != count:
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received {len(shapes)} shapes, {count} dtypes"
        )
    return shapes


def parse_partial_shapes(given: Any, count: int) -> list[Shape]:
    """Parse as `parse_shapes`, for a padding queue: a list with one shape per component; dimensions may be None."""
    if not isinstance(given, (list, tuple)) or _is_one_shape(given):
        raise ValueError(f"When providing partial shapes, a list of shapes must be provided, got {given!r}")
    if len(given) != count:
        raise ValueError(
            f"Shapes must be provided for all components, but received {count} dtypes and {len(given)} shapes"
        )
    return [_shape(one, allow_unknown=True) for one in given]


def parse_names(given: Any, count: int | None) -> list[str] | None:
    """Return None or the list of names, from None, one name or one name per component.

    Raises:
        TypeError: It is something else.
        ValueError: The count differs from a known `count`.
    """
    if given is None:
        return None
    names = [given] if isinstance(given, str) else texts(given, "names")
    if count is not None and len(names) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, "
            f"received {len(names)} names, {count} dtypes"
        )
    return names


def parse_capacity(given: Any) -> int:
    """Return a capacity as an int, truncated; None or a negative number means unbounded."""
    if given is None:
        return UNBOUNDED
    capacity = whole(given, "capacity")
    if capacity > UNBOUNDED:
        raise invalid(f"capacity must be at most {UNBOUNDED} (or -1: unbounded), got {capacity}")
    return UNBOUNDED if capacity < 0 else capacity


def parse_count(n: Any, method: str) -> int:
    """Return the n of `dequeue_many` or `dequeue_up_to` (the method named by `method`) as an int.

    Raises:
        TypeError: It is not an integer.
        ValueError: It is None.
        InvalidArgumentError: It is negative, 2**31 or more, or not an array with exactly one integer.
    """
    if n is None:
        raise ValueError("n must be an integer, got None")
    if isinstance(n, np.ndarray) and n.dtype.kind in "iu" and n.size == 1 and n.ndim <= 1:
        n = n.reshape(())[()]
    if isinstance(n, np.ndarray):
        raise invalid(f"n must be a scalar integer, got an array of {n.dtype} with shape {n.shape}")
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"n must be an integer, got {type(n).__name__} {n!r:.80}") from None
    if number < 0:
        operation = "DequeueManyOp" if method == "dequeue_many" else "DequeueUpToOp"
        raise invalid(f"{operation} requested {number} < 0 elements")
    if number > 2**31 - 1:
        raise invalid(f"n must be less than 2**31, got {number}")
    return number


def component(dtype: np.dtype[Any], shape: Shape) -> Component:
    """Choose how slots store a component with this dtype and shape.

    Raises:
        ValueError: Slots cannot hold it: objects that are not scalars, or more than 30 dimensions or 2**62 bytes.
    """
    if dtype.kind == "O":
        if shape not in (None, ()):
            raise ValueError(f"a component of Python objects is a scalar: its shape must be () or None, got {shape}")
        return Component(dtype, "object", ())
    if dtype == STRING:
        return Component(np.dtype(object), "bytes", shape)
    if shape is None or None in shape:
        return Component(dtype, "array", shape)
    if len(shape) > 30 or math.prod(filter(None, shape)) * dtype.itemsize >= 2**62:
        raise ValueError(f"shape {shape} of {dtype} is too large: at most 30 dimensions and 2**62 bytes")
    return Component(dtype, "rows", shape)
