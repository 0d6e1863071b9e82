"""Sequences and what is made of them: range, linspace, meshgrid, sequence_mask, one_hot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import constant, convert_to_tensor
from pipeline.compat.core.dtypes import as_dtype
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.static import constant_value
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.opdef import array, check_rank, op, tensor_op

_RANGE_TYPES = "(bfloat16,float16,float32,float64,int8,int16,int32,int64,uint16,uint32,uint64)=int32"


def _range_size(start: Any, limit: Any, delta: Any) -> int:
    """The number of elements; ValueError if there is no such range."""
    # Python's numbers do not overflow.
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
    try:
        count = _range_size(start, limit, delta)
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, str(error)) from None
    # Each element anew from its number, in the dtype itself: sums would add up their rounding.
    steps = np.arange(count, dtype=np.int64).astype(dtype)
    return (steps * np.asarray(delta, dtype) + np.asarray(start, dtype)).astype(dtype, copy=False)


def range_node(start: Any, limit: Any, delta: Any, name: str | None = None) -> Tensor:
    """Add a Range of three scalars of one dtype."""
    definition = "start:Tidx" + _RANGE_TYPES + " limit:Tidx delta:Tidx"
    return tensor_op("Range", definition, [start, limit, delta], _ranged, _range, name)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range") -> Tensor:
    """Return the numbers from `start`, in steps of `delta`, up to but without `limit`: a vector.

    Args:
        start: The first number; if it is the only argument the limit, and the first number is 0.
        limit: Where to stop.
        delta: The step.
        dtype: Of the result; by default the widest of those of the arguments.
        name: Name of the op.

    Raises:
        ValueError: The step is 0 or leads away from the limit.
    """
    from pipeline.compat.ops.casting import cast

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


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Return `num` numbers from `start` to `stop`, both included, in equal steps.

    Args:
        start: A floating-point tensor.
        stop: Of the same dtype; both are broadcast.
        num: An integer.
        name: Name of the scope.
        axis: The axis of the result along which the numbers lie.
    """
    from pipeline.compat.ops import shaping
    from pipeline.compat.ops.arithmetic import maximum
    from pipeline.compat.ops.casting import cast, cast_node
    from pipeline.compat.ops.comparing import equal
    from pipeline.compat.ops.filling import zeros_like
    from pipeline.compat.ops.indexing import slice_
    from pipeline.compat.ops.joining import concat
    from pipeline.compat.ops.masking import where_v2

    with name_scope(name, "linspace", [start, stop]):
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, name="stop", dtype=start.dtype.base_dtype)
        num = convert_to_tensor(num, name="num", preferred_dtype=dtypes.int32)
        if not num.dtype.is_integer:
            raise TypeError(f"Argument `tensor` (name: num) must be of type integer. Received `tensor` = {num}")
        count: Any = cast_node(num, dtypes.int32)
        cast(count, start.dtype)
        both = shaping.broadcast_dynamic_shape(shaping.shape(start), shaping.shape(stop))
        start, stop = shaping.broadcast_to(start, both), shaping.broadcast_to(stop, both)
        first: Any = shaping.expand_dims(start, axis=axis)
        last: Any = shaping.expand_dims(stop, axis=axis)
        shape: Any = shaping.shape(first)
        sizes: Any = shaping.shape(shape)
        axes = sizes[0]
        place: Any = where_v2(axis >= 0, axis, axes + axis)
        between = maximum(count - 2, 0)
        steps = maximum(count - 1, 1)
        delta = (last - first) / cast(steps, last.dtype)
        first, last = cast(first, delta.dtype), cast(last, delta.dtype)
        end = where_v2(count >= 0, steps, -1)
        numbers = cast(range(1, end, dtype=dtypes.int64), delta.dtype)
        mask = equal(place, range(axes))
        numbers = shaping.reshape(numbers, where_v2(mask, between, 1))
        inner = first + delta * numbers
        everything = concat((first, inner, last), axis=place)
        begin = zeros_like(shape)
        size = concat((shape[0:place], shaping.reshape(count, [1]), shape[place + 1 :]), axis=0)
        return slice_(everything, begin, size)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return the coordinates of a grid: for each vector a tensor that holds its elements along its own axis.

    Args:
        args: Vectors of one dtype.
        indexing: "xy" (the first two axes are exchanged) or "ij".
        name: Name of the scope.
    """
    from pipeline.compat.ops.filling import ones
    from pipeline.compat.ops.joining import stack
    from pipeline.compat.ops.shaping import reshape, size

    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    with name_scope(name, "meshgrid", args):
        axes = len(args)
        if not axes:
            return []
        alone = (1,) * axes
        made: list[Any] = [reshape(stack(each), (*alone[:at], -1, *alone[at + 1 :])) for at, each in enumerate(args)]
        sizes = [size(each) for each in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and axes > 1:
            made[0] = reshape(made[0], (1, -1, *alone[2:]))
            made[1] = reshape(made[1], (-1, 1, *alone[2:]))
            sizes[:2] = sizes[1::-1]
        everywhere: Any = ones(sizes, dtype)
        return [each * everywhere for each in made]


def _all_axes(tensor: Tensor) -> Tensor:
    count = tensor.shape.ndims
    if count is not None:
        return constant(np.arange(count, dtype=np.int32))
    from pipeline.compat.ops.shaping import rank

    return range_node(0, rank(tensor), 1)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None) -> Tensor:
    """Return for each length a row that begins with so many True, or ones; the rest is False, or zeros.

    Args:
        lengths: Integers, any shape.
        maxlen: Length of the rows; the largest of `lengths` by default.
        dtype: Of the result.
        name: Name of the scope.

    Raises:
        ValueError: `maxlen` is no scalar.
    """
    from pipeline.compat.ops.arithmetic import maximum
    from pipeline.compat.ops.casting import cast_node
    from pipeline.compat.ops.reducing import reduce_max
    from pipeline.compat.ops.shaping import expand_dims

    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_max(lengths, _all_axes(lengths))
            maxlen = maximum(constant(0, maxlen.dtype.base_dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen} with shape "
                f"'{maxlen.shape}' instead"
            )
        kind = maxlen.dtype.base_dtype
        numbers: Any = range_node(constant(0, kind), maxlen, constant(1, kind))
        made: Any = numbers < cast_node(expand_dims(lengths, -1), kind)
        if dtype is None or as_dtype(dtype).base_dtype is dtypes.bool:
            return made  # type: ignore[no-any-return]
        return cast_node(made, as_dtype(dtype))


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return for each index a vector with `on_value` at its place, and `off_value` elsewhere.

    Args:
        indices: uint8, int8, int32 or int64, any shape; others than 0 to `depth` - 1 give vectors without `on_value`.
        depth: Length of the vectors.
        on_value: A scalar, 1 by default.
        off_value: A scalar, 0 by default.
        axis: Axis of the result that the vectors get, the last one by default.
        dtype: Of the result; that of the values, or float32.
        name: Name of the op.

    Raises:
        TypeError: The dtypes of the values and `dtype` differ.
        ValueError: `depth` is negative or no scalar; `axis` is out of range.
    """
    place = -1 if axis is None else int(axis)
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on, off = (
            None if value is None else convert_to_tensor(value, preferred_dtype=dtype)
            for value in (on_value, off_value)
        )
        kind = None if dtype is None else as_dtype(dtype).base_dtype
        for value, label in ((on, "on_value"), (off, "off_value")):
            if value is not None and kind is not None and value.dtype.base_dtype is not kind:
                if dtype is None:
                    raise TypeError(f"dtype {kind} of on_value does not match dtype {value.dtype} of off_value")
                raise TypeError(f"dtype {value.dtype} of {label} does not match dtype parameter {kind}")
            kind = value.dtype.base_dtype if value is not None and kind is None else kind
        kind = kind or dtypes.float32
        on = convert_to_tensor(1, kind, name="on_value") if on is None else on
        off = convert_to_tensor(0, kind, name="off_value") if off is None else off
        definition = "indices:TI(uint8,int8,int32,int64)=int64 depth:int32 on_value:T off_value:T"

        def rule(indices: Tensor, depth: Tensor, on: Tensor, off: Tensor) -> Any:
            for tensor in (depth, on, off):
                check_rank(tensor, 0)
            known = constant_value(depth)
            if known is not None and int(known) < 0:
                raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {int(known)}")
            sizes = indices.shape.sizes
            if place < -1:
                raise ValueError(f"axis must be >= -1 but is {place}")
            shape: Any = None
            if sizes is not None:
                # Beyond the end is the end.
                at = len(sizes) if place == -1 or place > len(sizes) else place
                shape = (*sizes[:at], None if known is None else int(known), *sizes[at:])
            return [(on.dtype.base_dtype, shape)]

        def kernel(indices: Any, depth: Any, on: Any, off: Any) -> Any:
            rank, count = np.ndim(indices), int(depth)
            if place != -1 and not 0 <= place <= rank:
                text = f"Expected axis to be -1 or between [0, {rank}].  But received: {place}"
                raise errors.InvalidArgumentError(None, None, text)
            if count < 0:
                raise errors.InvalidArgumentError(None, None, f"depth must be non-negative, got: {count}")
            at = rank if place == -1 else place
            numbers = np.arange(count).reshape((-1,) + (1,) * (rank - at))
            hot = np.expand_dims(np.asarray(indices), at) == numbers
            made = np.where(hot, array(on), array(off))
            return made.astype(array(on).dtype, copy=False)

        return op("OneHot", definition, [indices, depth, on, off], rule, kernel, scope, {"axis": place}).outputs[0]
