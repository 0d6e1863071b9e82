"""sort, argsort, top_k and searchsorted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.arranging import transpose
from pipeline.compat.ops.arrays.scattering import tensor_scatter_update
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import rank, reshape, shape, shape_of
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, check_scalar, op, tensor_op
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
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
        name: Name of the scope.

    Raises:
        ValueError: The direction is neither, or the axis is not constant.
    """
    with name_scope(name, "sort", [values, axis]):
        return _sorted(values, axis, direction, 0)


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """Return the indices (int32) that sort the elements along one axis; equal elements keep their order."""
    with name_scope(name, "argsort", [values, axis]):
        return _sorted(values, axis, direction, 1)


def _sorted(values: Any, axis: Any, direction: str, which: int) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )
    axis = convert_to_tensor(axis, name="axis")
    known = constant_value(axis)
    if axis.shape.ndims not in (None, 0) or known is None:
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: axis={axis}.")
    tensor: Any = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(tensor, int(known), which)
    # Negate the numbers: largest first of these is smallest first of those.
    dtype = tensor.dtype.base_dtype
    if dtype.is_unsigned:
        made: Any = _descending(dtype.max - tensor, int(known), which)
        return made if which else dtype.max - made  # type: ignore[no-any-return]
    if dtype.is_integer:
        made = _descending(-tensor - 1, int(known), which)
        return made if which else -made - 1  # type: ignore[no-any-return]
    made = _descending(-tensor, int(known), which)
    return made if which else -made  # type: ignore[no-any-return]


def _descending(values: Tensor, axis: int, which: int) -> Tensor:
    sizes: Any = shape(values)
    count = sizes[axis]
    axes: Any = rank(values)
    known = values.shape.ndims
    if axis == -1 or axis + 1 == known:
        return top_k(values, count)[which]  # type: ignore[no-any-return]
    place: Any = axis
    if axis < 0:
        place = axis + (known or axes)
    if known is not None:
        order = np.arange(known)
        order[place], order[-1] = known - 1, place
        swap: Any = constant(order, name="transposition")
    else:
        swap = tensor_scatter_update(range_(axes), [[place], [axes - 1]], [axes - 1, place])
    made = top_k(transpose(values, swap), count)[which]
    return transpose(made, swap)


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
