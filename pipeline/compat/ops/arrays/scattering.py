"""scatter_nd, dynamic_partition and dynamic_stitch: elements put at given places."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.gathering import check_places
from pipeline.compat.ops.making.opdef import check_rank_at_least, op
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid, show


def _check_updates(indices: Tensor, updates: Tensor, target: TensorShape) -> None:
    """Raise ValueError if the shape of the updates does not fit the indices and the target."""
    places, parts, sizes = indices.shape.sizes, updates.shape.sizes, target.sizes
    if places is None or parts is None or sizes is None or not places:
        return
    outer = len(places) - 1
    if not as_shape(parts[:outer]).is_compatible_with(places[:outer]):
        raise ValueError(
            f"Dimensions [0,{outer}) of indices[shape={indices.shape}] must match dimensions [0,{outer}) of "
            f"updates[shape={updates.shape}]"
        )
    depth = places[-1]
    if depth is not None and not as_shape(parts[outer:]).is_compatible_with(sizes[depth:]):
        raise ValueError(
            f"Dimensions [{depth},{len(sizes)}) of input[shape={target}] must match dimensions "
            f"[{outer},{len(parts)}) of updates[shape={updates.shape}]"
        )


def _scattered(made: Any, indices: Any, updates: Any) -> Any:
    """Add the updates to zeros, in place, and return these."""
    depth = indices.shape[-1] if indices.ndim else 0
    wanted = (*indices.shape[:-1], *made.shape[depth:])
    if updates.shape != wanted:
        raise invalid(
            f"Must have updates.shape = indices.shape[:-1] + shape[{depth}:], got updates.shape: "
            f"{list(updates.shape)}, wanted: {list(wanted)}"
        )
    if updates.size == 0:
        return made
    check_places(indices, made.shape)
    places = tuple(np.moveaxis(indices, -1, 0)) if depth else (Ellipsis,)
    if updates.dtype.kind == "b":
        made[places] = updates
    else:
        np.add.at(made, places, updates)
    return made


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return zeros of the given shape with updates added at the places that the indices name.

    Args:
        indices: int16, int32 or int64; each vector along the last axis is a place.
        updates: What to put there, any dtype.
        shape: A vector of the dtype of `indices`.
        name: Name of the op.
    """

    def rule(indices: Tensor, updates: Tensor, shape: Tensor) -> Any:
        check_rank_at_least(indices, 1)
        made = constant_value_as_shape(shape)
        if 0 in (made.sizes or ()) and all(0 not in (each.shape.sizes or (0,)) for each in (indices, updates)):
            raise ValueError("Indices and updates specified for empty input")
        _check_updates(indices, updates, made)
        return [(updates.dtype.base_dtype, made)]

    def kernel(indices: Any, updates: Any, shape: Any) -> Any:
        made = np.zeros(tuple(shape.tolist()), updates.dtype)
        if updates.dtype == object:
            made[...] = b""
        if not made.size and updates.size:
            raise invalid(f"Indices and updates specified for empty output.  indices shape: {show(indices.shape)}")
        return _scattered(made, indices, updates)

    definition = "indices:Tindices(int16,int32,int64) updates:T shape:Tindices"
    return op("ScatterNd", definition, [indices, updates, shape], rule, kernel, name).outputs[0]


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Split `data` into `num_partitions` tensors: each element goes to the tensor that `partitions` names.

    Args:
        data: Any dtype.
        partitions: int32; its shape is that of the leading axes of `data`.
        num_partitions: How many tensors to return.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit.
        InvalidArgumentError: A number is out of range, at run time.
    """
    count = int(num_partitions)
    if count < 1:
        raise ValueError(f"Attr 'num_partitions' of 'DynamicPartition' Op passed {count} less than minimum 1.")

    def rule(data: Tensor, partitions: Tensor) -> Any:
        shape: Any = None
        axes = partitions.shape.ndims
        if data.shape.sizes is not None and axes is not None:
            check_rank_at_least(data, axes)
            for a, b in zip(data.shape.sizes[:axes], partitions.shape.sizes or (), strict=True):
                if None not in (a, b) and a != b:
                    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
            shape = (None, *data.shape.sizes[axes:])
        return [(data.dtype.base_dtype, shape)] * count

    def kernel(data: Any, partitions: Any) -> Any:
        partitions = np.asarray(partitions)
        if data.shape[: partitions.ndim] != partitions.shape:
            left, right = (str(list(each)).replace(" ", "") for each in (data.shape, partitions.shape))
            text = f"got data.shape = {left}, partitions.shape = {right}"
            raise invalid(f"data.shape must start with partitions.shape, {text}")
        wrong = (partitions < 0) | (partitions >= count)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            raise invalid(f"partitions[{','.join(map(str, at))}] = {partitions[at]} is not in [0, {count})")
        made = [data[partitions == number] for number in range(count)]
        return made if count > 1 else made[0]

    definition = "data:T partitions:int32"
    attrs = {"num_partitions": count}
    return op("DynamicPartition", definition, [data, partitions], rule, kernel, name, attrs).outputs


def _stitch(*values: Any) -> Any:
    """Put each part where its indices say. `values` holds all indices first, then all parts."""
    half = len(values) // 2
    places, parts = [np.asarray(each) for each in values[:half]], values[half:]
    size = max((int(each.max()) + 1 for each in places if each.size), default=0)
    tail = parts[0].shape[places[0].ndim :]
    made = np.zeros((size, *tail), parts[0].dtype)
    if made.dtype == object:
        made[...] = b""
    for place, part in zip(places, parts, strict=True):
        if part.shape != place.shape + tail:
            raise invalid(f"data.shape must be indices.shape followed by {list(tail)}, got {list(part.shape)}")
        if place.size and place.min() < 0:
            raise invalid(f"indices must not be negative: {place.min()}")
        made[place.reshape(-1)] = part.reshape((-1, *tail)) if part.size else part.reshape((place.size, *tail))
    return made


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Merge the slices of several tensors into one, each at the place that its index names.

    Args:
        indices: A list of int32 tensors.
        data: A list of as many tensors of one dtype; the shape of each begins with that of its indices.
        name: Name of the op.
    """

    def rule(indices: list[Tensor], data: list[Tensor]) -> Any:
        if len(indices) != len(data):
            raise ValueError(f"{len(indices)} tensors of indices, but {len(data)} of data")
        tail = unknown_shape()
        size: int | None = 0
        for index, part in zip(indices, data, strict=True):
            known = constant_value(index)
            if known is None:
                size = None
            elif size is not None and np.size(known):
                size = max(size, int(np.max(known)) + 1)
            axes = index.shape.ndims
            if axes is None or part.shape.sizes is None:
                continue
            check_rank_at_least(part, axes)
            if not as_shape(part.shape.sizes[:axes]).is_compatible_with(index.shape):
                raise ValueError(f"Shapes {index.shape} and {part.shape} do not agree")
            tail = tail.merge_with(part.shape.sizes[axes:])
        return [(data[0].dtype.base_dtype, as_shape([size]).concatenate(tail))]

    definition = "indices:*int32 data:*T"
    return op("DynamicStitch", definition, [indices, data], rule, _stitch, name).outputs[0]
