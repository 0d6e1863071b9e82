"""Repeating the elements of a tensor."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.arranging import tile
from pipeline.compat.ops.arrays.boolean_mask import boolean_mask
from pipeline.compat.ops.arrays.filling import ones
from pipeline.compat.ops.arrays.grids import sequence_mask
from pipeline.compat.ops.arrays.joining import concat, stack
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import broadcast_to, expand_dims, rank, reshape, shape
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.reducing import reduce_max, reduce_sum
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.convert import convert_to_tensor


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return a tensor with each element along an axis repeated.

    Args:
        input: Any dtype.
        repeats: How often each: an integer, or one for each element along the axis.
        axis: The axis; by default the tensor is flattened first.
        name: Name of the scope.

    Raises:
        TypeError: `axis` is no int, or `repeats` not of integers.
        ValueError: The axis is out of range, or the number of repeats does not fit.
    """
    if axis is None:
        input = reshape(input, [-1])
        axis = 0
    if not isinstance(axis, int):
        raise TypeError(f"Argument `axis` must be an int. Received `axis` = {axis} of type {type(axis).__name__}")
    with name_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="data")
        times: Any = convert_to_tensor(repeats, name="repeats", preferred_dtype=dtypes.int32)
        if not times.dtype.is_integer:
            raise TypeError(f"Argument `tensor` (name: repeats) must be of type integer. Received `tensor` = {times}")
        times = cast_node(times, dtypes.int32)
        times.shape.with_rank_at_most(1)
        data = _with_axis(data)
        sizes: Any = shape(data, out_type=times.dtype)
        place = _from_zero(axis, data.shape.ndims)
        if times.shape.num_elements() == 1:
            times = reshape(times, [])
            tiled = _tiled(expand_dims(data, place + 1), place + 1, times)
            return reshape(tiled, concat([sizes[:place], [times * sizes[place]], sizes[place + 1 :]], axis=0))
        return _by_mask(data, times, place, sizes)


def _with_axis(data: Tensor) -> Tensor:
    if data.shape.ndims is not None:
        return data if data.shape.ndims else stack([data])
    sizes, axes = shape(data), rank(data)
    known: Any = concat([[1], sizes], axis=0)
    return reshape(data, known[-axes:])  # type: ignore[operator]


def _from_zero(axis: int, axes: int | None) -> int:
    if axes is not None:
        if not -axes <= axis < axes:
            raise ValueError(f"axis={axis} out of bounds: expected {-axes}<=axis<{axes}")
        return axis % axes
    if axis < 0:
        raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
    return axis


def _tiled(data: Tensor, axis: int, times: Any) -> Tensor:
    """Tile along one axis."""
    if data.shape.ndims is not None:
        multiples: Any = [1] * data.shape.ndims
        multiples[axis] = times
    else:
        once: Any = ones(rank(data), dtypes.int32)
        multiples = concat([once[:axis], [times], once[axis + 1 :]], axis=0)
    return tile(data, multiples)


def _by_mask(data: Tensor, times: Any, axis: int, sizes: Any) -> Tensor:
    """Repeat each element as often as any, and keep those of the repeats that are asked for."""
    if times.shape.ndims == 1 and data.shape.sizes is not None:
        data.shape[axis].assert_is_compatible_with(times.shape[0])
    times = broadcast_to(times, [sizes[axis]])
    each = times
    if times.shape.ndims != axis + 1:
        times_shape, axes = shape(times), rank(times)
        times = broadcast_to(times, concat([sizes[: axis + 1 - axes], times_shape], axis=0))  # type: ignore[operator]
        times.set_shape([None] * (axis + 1))
    most = reduce_max(times)
    most = maximum(convert_to_tensor(0, name="zero", dtype=most.dtype), most)
    mask = sequence_mask(times, most)
    made = boolean_mask(_tiled(expand_dims(data, axis + 1), axis + 1, most), mask)
    if axis:
        total = reduce_sum(each, range_node(0, rank(each), 1))
        made = reshape(made, concat([sizes[:axis], [total], sizes[axis + 1 :]], axis=0))
    if data.shape.ndims is not None:
        count = 0 if times.shape[0] == 0 else None
        made.set_shape(data.shape[:axis].concatenate([count]).concatenate(data.shape[axis + 1 :]))
    return made
