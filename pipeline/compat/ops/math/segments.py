"""segment_sum and its kin: rows reduced by segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.inputs import ANY_NUMBER, INDEX, REALS, first_input
from pipeline.compat.ops.making.opdef import check_scalar
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def _extreme(dtype: Any, sign: int) -> Any:
    info: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return info.min if sign < 0 else info.max


# The accumulating ufunc, and the value of an unsorted segment without rows.
_KINDS: dict[str, tuple[Any, Any]] = {
    "Sum": (np.add, lambda dtype: 0),
    "Prod": (np.multiply, lambda dtype: 1),
    "Max": (np.maximum, lambda dtype: _extreme(dtype, -1)),
    "Min": (np.minimum, lambda dtype: _extreme(dtype, 1)),
}


def _reduced(kind: str, rows: Any, ids: Any, count: int) -> Any:
    """Reduce the rows [n, ...] of each id to one of [count, ...]; rows with negative ids are left out."""
    accumulate, first = _KINDS[kind]
    result = np.full((count, *rows.shape[1:]), first(rows.dtype), rows.dtype)
    kept = ids >= 0
    accumulate.at(result, ids[kept], rows[kept])
    return result


def _unsorted_kernel(kind: str) -> Any:
    def kernel(data: Any, ids: Any, count: Any) -> Any:
        if np.shape(data)[: np.ndim(ids)] != np.shape(ids):
            raise invalid(f"data.shape = {np.shape(data)} does not start with segment_ids.shape = {np.shape(ids)}")
        check_scalar(count, "num_segments should be a scalar, not shape {}")
        if count < 0:
            raise invalid(f"Input num_segments == {count} must not be negative.")
        flat = np.reshape(ids, -1)
        if flat.size and flat.max() >= count:
            at = int(np.argmax(flat >= count))
            raise invalid(f"segment_ids[{at}] = {flat[at]} is out of range [0, {count})")
        rows = np.reshape(data, (flat.size, *np.shape(data)[np.ndim(ids) :]))
        return _reduced(kind, rows, flat, int(count))

    return quiet(kernel)


def _unsorted(kind: str, doc: str) -> Any:
    op_type = f"UnsortedSegment{kind}"
    kernel = _unsorted_kernel(kind)
    allowed = ANY_NUMBER if kind in ("Sum", "Prod") else REALS

    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type, [data, segment_ids, num_segments]) as scope:
            data = first_input("data", data, allowed)
            ids = first_input("segment_ids", segment_ids, ("int16", *INDEX) if kind == "Sum" else INDEX)
            count = first_input("num_segments", num_segments, INDEX, int32)
            dtype = data.dtype.base_dtype
            attrs = {"T": dtype, "Tindices": ids.dtype.base_dtype, "Tnumsegments": count.dtype.base_dtype}
            shape = _unsorted_shape(data, ids, count)
            return tensor_node(op_type, [data, ids, count], kernel, dtype, shape, name=scope, attrs=attrs)

    function.__doc__ = doc
    return function


def _unsorted_shape(data: Tensor, ids: Tensor, count: Tensor) -> TensorShape:
    sizes, prefix = data.shape.sizes, ids.shape.sizes
    if sizes is None or prefix is None:
        return unknown_shape()
    if len(prefix) > len(sizes):
        raise ValueError(f"Shape must be at least rank {len(prefix)} but is rank {len(sizes)}")
    for have, want in zip(sizes, prefix, strict=False):
        if None not in (have, want) and have != want:
            raise ValueError(f"Dimensions must be equal, but are {have} and {want}")
    known = constant_value(count)
    return TensorShape([None if known is None else int(known), *sizes[len(prefix) :]])


unsorted_segment_sum = _unsorted("Sum", "Return the sums of the rows of each segment; 0 for none.")
unsorted_segment_prod = _unsorted("Prod", "Return the products of the rows of each segment; 1 for none.")
unsorted_segment_max = _unsorted("Max", "Return the largest of the rows of each segment; the lowest value for none.")
unsorted_segment_min = _unsorted("Min", "Return the smallest of the rows of each segment; the highest value for none.")


def _sorted_rows(kind: str, rows: Any, ids: Any) -> Any:
    """Reduce rows by ids in ascending order; the last id is the last segment."""
    if ids.size:
        if ids[0] < 0:
            raise invalid("segment ids must be >= 0")
        if np.any(np.diff(ids.astype(np.int64)) < 0):
            raise invalid("segment ids are not increasing")
    total = int(ids[-1]) + 1 if ids.size else 0
    if kind == "Mean":
        sums = _reduced("Sum", rows, ids, total)
        numbers = np.maximum(np.bincount(ids, minlength=total)[:total], 1).reshape((-1,) + (1,) * (rows.ndim - 1))
        if rows.dtype.kind in "iu":
            return (np.sign(sums) * (np.abs(sums) // numbers)).astype(rows.dtype)
        return (sums / numbers).astype(rows.dtype)
    result = _reduced(kind, rows, ids, total)
    if kind in ("Max", "Min"):
        result[np.bincount(ids, minlength=total)[:total] == 0] = 0
    return result


def _sorted_kernel(kind: str) -> Any:
    def kernel(data: Any, ids: Any) -> Any:
        if np.ndim(ids) != 1:
            raise invalid("segment_ids should be a vector.")
        if np.ndim(data) == 0 or len(data) != len(ids):
            raise invalid("segment_ids should be the same size as dimension 0 of input.")
        return _sorted_rows(kind, data, ids)

    return quiet(kernel)


def _vector(tensor: Tensor) -> int | None:
    return tensor.shape.with_rank(1).as_list()[0]


def _sorted(kind: str, doc: str) -> Any:
    op_type = f"Segment{kind}"
    kernel = _sorted_kernel(kind)
    allowed = ANY_NUMBER if kind in ("Sum", "Prod", "Mean") else REALS

    def function(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type, [data, segment_ids]) as scope:
            data = first_input("data", data, allowed)
            ids = first_input("segment_ids", segment_ids, INDEX)
            _vector(ids)
            inner = data.shape.with_rank_at_least(1).sizes
            shape = unknown_shape() if inner is None else TensorShape([None, *inner[1:]])
            dtype = data.dtype.base_dtype
            attrs = {"T": dtype, "Tindices": ids.dtype.base_dtype}
            return tensor_node(op_type, [data, ids], kernel, dtype, shape, name=scope, attrs=attrs)

    function.__doc__ = doc + " The ids must be in ascending order; segments without rows give {}.".format(
        1 if kind == "Prod" else 0
    )
    return function


segment_sum = _sorted("Sum", "Return the sums of the rows of each segment.")
segment_prod = _sorted("Prod", "Return the products of the rows of each segment.")
segment_mean = _sorted("Mean", "Return the means of the rows of each segment.")
segment_max = _sorted("Max", "Return the largest of the rows of each segment.")
segment_min = _sorted("Min", "Return the smallest of the rows of each segment.")
