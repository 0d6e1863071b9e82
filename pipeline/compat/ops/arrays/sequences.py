"""range and one_hot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import array, check_rank, check_scalar, op, tensor_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid

_RANGE_TYPES = "(bfloat16,float16,float32,float64,int8,int16,int32,int64,uint16,uint32,uint64)=int32"


def _range_size(start: Any, limit: Any, delta: Any) -> int:
    """Return the element count; ValueError if the range is invalid."""
    # Python's integers do not overflow.
    start, limit, delta = (np.asarray(each).item() for each in (start, limit, delta))
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int):
        return int(-((start - limit) // delta) if delta > 0 else -((limit - start) // -delta))
    count: int = math.ceil(abs((limit - start) / delta))
    return count


def _ranged(start: Tensor, limit: Tensor, delta: Tensor) -> Any:
    for tensor in (start, limit, delta):
        check_rank(tensor, 0)
    known = [constant_value(tensor) for tensor in (start, limit, delta)]
    return (None if any(each is None for each in known) else _range_size(*known),)


def _range(start: Any, limit: Any, delta: Any) -> Any:
    dtype = np.asarray(start).dtype
    for name, each in (("start", start), ("limit", limit), ("delta", delta)):
        check_scalar(each, f"{name} must be a scalar, not shape {{}}")
    try:
        count = _range_size(start, limit, delta)
    except ValueError as error:
        raise invalid(str(error)) from None
    # Compute each element from its index, in the dtype itself, because running sums would accumulate rounding errors.
    steps = np.arange(count, dtype=np.int64).astype(dtype)
    return (steps * np.asarray(delta, dtype) + np.asarray(start, dtype)).astype(dtype, copy=False)


def range_node(start: Any, limit: Any, delta: Any, name: str | None = None) -> Tensor:
    """Make the Range node from three scalars with equal dtypes."""
    definition = "start:Tidx" + _RANGE_TYPES + " limit:Tidx delta:Tidx"
    return tensor_op("Range", definition, [start, limit, delta], _ranged, _range, name)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range") -> Tensor:
    """Return a vector of numbers from `start` up to `limit`, excluded, in steps of `delta`.

    Args:
        start: The first number. As the only argument, it is the limit and the first number is 0.
        limit: Upper bound, excluded.
        delta: Step.
        dtype: Result dtype; by default the widest argument dtype.
        name: Name of the op.

    Raises:
        ValueError: The step is 0 or leads away from the limit.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        named = zip((start, limit, delta), ("start", "limit", "delta"), strict=True)
        kind = None if dtype is None else as_dtype(dtype)
        parts = [
            each if isinstance(each, Tensor) else convert_to_tensor(each, dtype=kind, name=label)
            for each, label in named
        ]
        if kind is None:
            order = ("int32", "int64", "float16", "bfloat16", "float32", "float64")
            found = [part.dtype.base_dtype for part in parts]
            if any(each.name not in order for each in found):
                raise AssertionError(f"a range cannot be of the dtypes {[each.name for each in found]}")
            kind = max(found, key=lambda each: order.index(each.name))
        begin, end, step = (cast(part, kind) for part in parts)
        return range_node(begin, end, step, scope)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a vector per index, with `on_value` at that position and `off_value` elsewhere.

    Args:
        indices: uint8, int8, int32 or int64, any shape; an index outside 0 to `depth` - 1 has no `on_value`.
        depth: Vector length.
        on_value: A scalar, 1 by default.
        off_value: A scalar, 0 by default.
        axis: Axis for the vectors in the result, the last one by default.
        dtype: Result dtype; by default the dtype of the values, or float32.
        name: Name of the op.

    Raises:
        TypeError: The dtypes of the values and `dtype` differ.
        ValueError: `depth` is negative or not a scalar; `axis` is out of range.
    """
    place = -1 if axis is None else int(axis)

    def rule(indices: Tensor, depth: Tensor, on: Tensor, off: Tensor) -> Any:
        for tensor in (depth, on, off):
            check_rank(tensor, 0)
        return [(on.dtype.base_dtype, _one_hot_shape(indices, depth, place))]

    def kernel(indices: Any, depth: Any, on: Any, off: Any) -> Any:
        check_scalar(depth, "depth must be a scalar, but got: {}")
        return _one_hot(np.asarray(indices), int(depth), array(on), array(off), place)

    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on, off = _on_and_off(on_value, off_value, dtype)
        definition = "indices:TI(uint8,int8,int32,int64)=int64 depth:int32 on_value:T off_value:T"
        return op("OneHot", definition, [indices, depth, on, off], rule, kernel, scope, {"axis": place}).outputs[0]


def _on_and_off(on_value: Any, off_value: Any, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return both values as tensors with equal dtypes, 1 and 0 where they are None; TypeError if the dtypes differ."""
    on, off = (
        None if value is None else convert_to_tensor(value, preferred_dtype=dtype) for value in (on_value, off_value)
    )
    kind = None if dtype is None else as_dtype(dtype).base_dtype
    for value, label in ((on, "on_value"), (off, "off_value")):
        if value is not None and kind is not None and value.dtype.base_dtype is not kind:
            if dtype is None:
                raise TypeError(f"dtype {kind} of on_value does not match dtype {value.dtype} of off_value")
            raise TypeError(f"dtype {value.dtype} of {label} does not match dtype parameter {kind}")
        kind = value.dtype.base_dtype if value is not None and kind is None else kind
    kind = kind or dtypes.float32
    return (
        convert_to_tensor(1, kind, name="on_value") if on is None else on,
        convert_to_tensor(0, kind, name="off_value") if off is None else off,
    )


def _one_hot_shape(indices: Tensor, depth: Tensor, axis: int) -> Any:
    known, sizes = constant_value(depth), indices.shape.sizes
    if known is not None and int(known) < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {int(known)}")
    if axis < -1:
        raise ValueError(f"axis must be >= -1 but is {axis}")
    if sizes is None:
        return None
    # An axis beyond the end means the end.
    at = len(sizes) if axis == -1 or axis > len(sizes) else axis
    return (*sizes[:at], None if known is None else int(known), *sizes[at:])


def _one_hot(indices: Any, depth: int, on: Any, off: Any, axis: int) -> Any:
    rank = indices.ndim
    if axis != -1 and not 0 <= axis <= rank:
        raise invalid(f"Expected axis to be -1 or between [0, {rank}].  But received: {axis}")
    if depth < 0:
        raise invalid(f"depth must be non-negative, got: {depth}")
    at = rank if axis == -1 else axis
    numbers = np.arange(depth).reshape((-1,) + (1,) * (rank - at))
    return np.where(np.expand_dims(indices, at) == numbers, on, off).astype(on.dtype, copy=False)
