"""sort, argsort, top_k and searchsorted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import reshape, shape_of
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, check_scalar, op, tensor_op
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

    Of equal elements the one with the lower index comes first.

    Args:
        input: Any real dtype.
        k: An integer scalar.
        sorted: Not used: the result is always sorted.
        index_type: Dtype of the indices.
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
        # Sort the reversed array stably: reversing the result then puts equal elements in their old order.
        order = value.shape[-1] - 1 - np.argsort(value[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :count]
        return np.take_along_axis(value, order, -1), order.astype(place.np)

    definition = "input:T" + _REALS + " k:Tk(int16,int32,int64)=int32"
    attrs = {"sorted": bool(sorted), "index_type": place}
    return TopKV2(*op("TopKV2", definition, [input, k], rule, kernel, name, attrs).outputs)


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Return a tensor with the elements sorted along one axis.

    Args:
        values: Any real dtype.
        axis: A constant int.
        direction: "ASCENDING" or "DESCENDING".
        name: Name of the op.

    Raises:
        ValueError: The direction is neither, or the axis is not constant.
    """
    return _sorted("Sort", values, axis, direction, name)


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """Return the indices (int32) that sort the elements along one axis; equal elements keep their order."""
    return _sorted("ArgSort", values, axis, direction, name)


def _sorted(op_type: str, values: Any, axis: Any, direction: str, name: str | None) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )
    place = constant_value(axis) if isinstance(axis, Tensor) else axis
    if place is None or np.ndim(place):
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: axis={axis}.")
    place = int(place)

    def rule(tensor: Tensor) -> Any:
        check_rank_at_least(tensor, place + 1 if place >= 0 else -place)
        return tensor.shape

    def kernel(value: Any) -> Any:
        value = np.asarray(value)
        if not -value.ndim <= place < value.ndim:
            raise invalid(f"axis = {place} is out of range for {value.ndim} dimensions")
        # Sort the reversed array stably: reversing the result then puts equal elements in their old order.
        if direction == "ASCENDING":
            order = np.argsort(value, axis=place, kind="stable")
        else:
            backwards = np.flip(np.argsort(np.flip(value, place), axis=place, kind="stable"), place)
            order = value.shape[place] - 1 - backwards
        return order.astype(np.int32) if op_type == "ArgSort" else np.take_along_axis(value, order, place)

    dtype = dtypes.int32 if op_type == "ArgSort" else None
    return tensor_op(op_type, "values:T" + _REALS, [values], rule, kernel, name, dtype=dtype)


def _bound(side: str) -> Any:
    def kernel(ordered: Any, values: Any) -> Any:
        if ordered.shape[0] != values.shape[0]:
            raise invalid("Leading dim_size of both tensors must match.")
        rows = [np.searchsorted(one, other, side) for one, other in zip(ordered, values, strict=True)]  # type: ignore[call-overload]
        return np.stack(rows) if rows else np.empty(values.shape, np.int64)

    return kernel


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return where to insert values into sequences that are sorted along the last axis.

    Args:
        sorted_sequence: The sequences.
        values: What to insert; the same dtype and leading axes.
        side: "left" for the first possible place, "right" for the last.
        out_type: int32 or int64.
        name: Name of the op that searches.

    Raises:
        ValueError: `side` is neither.
    """
    dtype = as_dtype(out_type)
    sequence_shape: Any = shape_of(sorted_sequence)
    sequence_size = sequence_shape[-1]
    values_shape: Any = shape_of(values)
    values_size = values_shape[-1]
    sequences = reshape(sorted_sequence, [-1, sequence_size])
    flat = reshape(values, [-1, values_size])
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    search = _bound(side)

    def rule(ordered: Tensor, values: Tensor) -> Any:
        check_rank(ordered, 2)
        check_rank(values, 2)
        return values.shape

    def kernel(ordered: Any, values: Any) -> Any:
        return search(ordered, values).astype(dtype.np)

    op_type = "UpperBound" if side == "right" else "LowerBound"
    attrs = {"out_type": dtype}
    made = tensor_op(op_type, "sorted_inputs:T values:T", [sequences, flat], rule, kernel, name, attrs, dtype=dtype)
    return reshape(made, shape_of(values))
