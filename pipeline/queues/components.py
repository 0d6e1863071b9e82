"""What a queue is told about its components (dtypes, shapes, names), checked and put into one form."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.dtypes import STRING, parse_dtype, whole
from pipeline.errors import InvalidArgumentError

Shape = tuple[int | None, ...] | None

UNBOUNDED = 2**31 - 1


class Component(NamedTuple):
    """One component: its dtype, its shape (None: any rank; a None dimension: any size), and how slots hold it.

    `form` is "rows" for fixed-size rows in a slab, "bytes" or "object" for references, "array" for arrays that vary in
    shape.
    """

    dtype: np.dtype[Any]
    form: str
    shape: Shape


def parse_dtypes(given: Any) -> list[np.dtype[Any]]:
    """One dtype or a list or tuple of them."""
    dtypes = [parse_dtype(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
    if not dtypes:
        raise InvalidArgumentError(
            None, None, "component_types has length 0 less than minimum 1: a queue needs a dtype"
        )
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
    """Shapes for `count` components: None for no constraint, one shape, or a list with one each."""
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
    """As `parse_shapes`, for padding: a list with one shape each, whose dimensions may be None."""
    if not isinstance(given, (list, tuple)) or _is_one_shape(given):
        raise ValueError(f"When providing partial shapes, a list of shapes must be provided, got {given!r}")
    if len(given) != count:
        raise ValueError(
            f"Shapes must be provided for all components, but received {count} dtypes and {len(given)} shapes"
        )
    return [_shape(one, allow_unknown=True) for one in given]


def parse_names(given: Any, count: int) -> list[str] | None:
    """None, one name, or one name for each component."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    if len(names) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, "
            f"received {len(names)} names, {count} dtypes"
        )
    return names


def parse_capacity(given: Any) -> int:
    """A negative capacity, or None, means unbounded; fractions are cut off."""
    if given is None:
        return UNBOUNDED
    capacity = whole(given, "capacity")
    if capacity > UNBOUNDED:
        raise InvalidArgumentError(
            None, None, f"capacity must be at most {UNBOUNDED} (or -1: unbounded), got {capacity}"
        )
    return UNBOUNDED if capacity < 0 else capacity


def component(dtype: np.dtype[Any], shape: Shape) -> Component:
    """Decide how slots hold a component."""
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
