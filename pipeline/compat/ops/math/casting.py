"""Conversion between dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.inputs import ANY_NUMBER, first_input, next_input
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Return x with the elements cast to a dtype; x itself if it has that already.

    Args:
        x: A tensor or what can be made one, a SparseTensor or IndexedSlices.
        dtype: The DType of the result, or what names it.
        name: Name of the op.
    """
    target = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is target:
        return x
    with name_scope(name, "Cast") as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, target, name=scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, target, name=scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        return x if x.dtype is target else cast_node(x, target, scope)


def to_float(x: Any, name: str | None = "ToFloat") -> Any:
    """Return x cast to float32."""
    return cast(x, dtypes.float32, name=name)


def to_double(x: Any, name: str | None = "ToDouble") -> Any:
    """Return x cast to float64."""
    return cast(x, dtypes.float64, name=name)


def to_int32(x: Any, name: str | None = "ToInt32") -> Any:
    """Return x cast to int32."""
    return cast(x, dtypes.int32, name=name)


def to_int64(x: Any, name: str | None = "ToInt64") -> Any:
    """Return x cast to int64."""
    return cast(x, dtypes.int64, name=name)


def to_bfloat16(x: Any, name: str | None = "ToBFloat16") -> Any:
    """Return x cast to bfloat16."""
    return cast(x, as_dtype("bfloat16"), name=name)


def to_complex64(x: Any, name: str | None = "ToComplex64") -> Any:
    """Return x cast to complex64."""
    return cast(x, dtypes.complex64, name=name)


def to_complex128(x: Any, name: str | None = "ToComplex128") -> Any:
    """Return x cast to complex128."""
    return cast(x, dtypes.complex128, name=name)


def _limits(source: DType, target: DType) -> tuple[Any, Any]:
    """Return the values of `source` between which it fits into `target`, as near to target's limits as there are."""
    kind = source.as_numpy_dtype
    if not (source.is_floating or target.is_floating):
        return kind(max(int(source.min), int(target.min))), kind(min(int(source.max), int(target.max)))
    low, high = kind(max(source.min, target.min)), source.max
    if float(high) > float(target.max):
        high = kind(target.max)
    # A float that was rounded outwards is out of range by a bit.
    if float(low) < float(target.min):
        low = np.nextafter(low, kind(0), dtype=kind)
    if not target.is_floating and float(high) > float(target.max):
        high = np.nextafter(high, kind(0), dtype=kind)
    return low, kind(high)


def _clip(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def clip_node(value: Tensor, low: Any, high: Any, name: str) -> Tensor:
    """Make the node ClipByValue."""
    with name_scope(name) as scope:
        first = first_input("t", value, ANY_NUMBER)
        parts = [next_input("ClipByValue", "clip_value_min", low, first.dtype, "t")]
        parts.append(next_input("ClipByValue", "clip_value_max", high, first.dtype, "t"))
        dtype = first.dtype.base_dtype
        return tensor_node("ClipByValue", [first, *parts], quiet(_clip), dtype, first.shape, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Return the value cast to a dtype, with what is out of its range set to its limits; x must be real."""
    with name_scope(name, "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        target = as_dtype(dtype).base_dtype
        if value.dtype.is_complex:
            from pipeline.compat.ops.math.complex import real

            if target.is_complex:
                return cast(value, target, name=scope)  # type: ignore[no-any-return]
            value = real(value)
        source = value.dtype.base_dtype
        with np.errstate(all="ignore"):
            low, high = _limits(source, target.real_dtype)
        low, high = convert_to_tensor(low, dtype=source), convert_to_tensor(high, dtype=source)
        return cast(clip_node(value, low, high, "clamp"), target, name=scope)  # type: ignore[no-any-return]
