"""top_k, unique and dynamic_partition: elements chosen by their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, check_scalar, op
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid

_REALS = "(float32,float64,int32,uint8,int16,int8,int64,bfloat16,uint16,float16,uint32,uint64)"


class TopKV2(NamedTuple):
    """The largest elements and their indices."""

    values: Any
    indices: Any


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.int32, name: str | None = None
) -> TopKV2:
    """Return the `k` largest elements along the last axis, largest first, and their indices.

    Among equal elements the one with the lower index comes first.

    Args:
        input: Any real dtype.
        k: An integer scalar.
        sorted: Not used, because the result is always sorted.
        index_type: Dtype for the indices.
        name: Name of the op.

    Raises:
        ValueError: There are known to be fewer than `k` elements.
        InvalidArgumentError: There are fewer at run time.
    """
    place = as_dtype(index_type)

    def rule(tensor: Tensor, k: Tensor) -> Any:
        check_rank_at_least(tensor, 1)
        check_rank(k, 0)
        known, sizes = constant_value(k), tensor.shape.sizes
        if known is not None and int(known) < 0:
            raise ValueError(f"Need k >= 0, got {int(known)}")
        if sizes is None:
            return [(tensor.dtype.base_dtype, None), (place, None)]
        if known is not None and sizes[-1] is not None and sizes[-1] < int(known):
            raise ValueError(f"input must have last dimension >= k = {int(known)} but is {sizes[-1]}")
        shape = (*sizes[:-1], None if known is None else int(known))
        return [(tensor.dtype.base_dtype, shape), (place, shape)]

    def kernel(value: Any, k: Any) -> Any:
        check_scalar(k, "k must be scalar, got shape {}")
        value, count = np.asarray(value), int(k)
        if count < 0:
            raise invalid(f"Need k >= 0, got {count}")
        if not value.ndim:
            raise invalid("input must be >= 1-D, got shape []")
        if value.shape[-1] < count:
            raise invalid(f"input must have at least k columns. Had {value.shape[-1]}, needed {count}")
        # Sort the reversed array stably, so that reversing the result puts equal elements in their old order.
        order = value.shape[-1] - 1 - np.argsort(value[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :count]
        return np.take_along_axis(value, order, -1), order.astype(place.np)

    definition = "input:T" + _REALS + " k:Tk(int16,int32,int64)=int32"
    attrs = {"sorted": bool(sorted), "index_type": place}
    return TopKV2(*op("TopKV2", definition, [input, k], rule, kernel, name, attrs).outputs)


class Unique(NamedTuple):
    """Unique elements `y`, and for each element its index in `y`."""

    y: Any
    idx: Any


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Unique:
    """Return a vector's unique elements by first occurrence, and each element's index among them."""
    dtype = as_dtype(out_idx)

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 1)
        return [(tensor.dtype.base_dtype, (None,)), (dtype, tensor.shape)]

    def kernel(values: Any) -> Any:
        if np.ndim(values) != 1:
            raise invalid(f"unique expects a 1D vector, got shape {list(np.shape(values))}")
        places: dict[Any, int] = {}
        index = [places.setdefault(each, len(places)) for each in values.tolist()]
        made = np.empty(len(places), values.dtype)
        made[:] = list(places)
        return made, np.array(index, dtype.np)

    return Unique(*op("Unique", "x:T", [x], rule, kernel, name, {"out_idx": dtype}).outputs)


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Split `data` into `num_partitions` tensors by the tensor index in `partitions`.

    Args:
        data: Any dtype.
        partitions: int32; its shape equals the leading axes of `data`.
        num_partitions: Number of tensors to return.
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
