"""clip_by_value and saturate_cast: keep values within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.inputs import ANY_NUMBER, first_input, next_input
from pipeline.compat.ops.math.arithmetic import maximum, minimum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices


def _values(t: Any, name: str) -> Any:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t: Any, values: Any) -> Any:
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Return t with elements outside the bounds set to the nearer bound. The bounds broadcast to t's shape.

    Raises:
        ValueError: The bounds do not broadcast to `t`'s shape.
        TypeError: Their dtype differs from `t`'s.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = _values(t, "t")
        lower = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(lower.shape)
        clipped = maximum(lower, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return _like(t, clipped)


def _limits(source: DType, target: DType) -> tuple[Any, Any]:
    """Return the smallest and largest `source` values representable in `target`."""
    kind = source.as_numpy_dtype
    if not (source.is_floating or target.is_floating):
        return kind(max(int(source.min), int(target.min))), kind(min(int(source.max), int(target.max)))
    low, high = kind(max(source.min, target.min)), source.max
    if float(high) > float(target.max):
        high = kind(target.max)
    # Rounding to a float may have moved a limit out of range.
    if float(low) < float(target.min):
        low = np.nextafter(low, kind(0), dtype=kind)
    if not target.is_floating and float(high) > float(target.max):
        high = np.nextafter(high, kind(0), dtype=kind)
    return low, kind(high)


def _clip(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def clip_node(value: Tensor, low: Any, high: Any, name: str) -> Tensor:
    """Make the ClipByValue node."""
    with name_scope(name, values=[value, low, high]) as scope:
        first = first_input("t", value, ANY_NUMBER)
        parts = [next_input("ClipByValue", "clip_value_min", low, first.dtype, "t")]
        parts.append(next_input("ClipByValue", "clip_value_max", high, first.dtype, "t"))
        dtype = first.dtype.base_dtype
        return tensor_node("ClipByValue", [first, *parts], quiet(_clip), dtype, first.shape, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Return the value cast to a dtype, with elements outside its range set to its limits.

    Raises:
        TypeError: The value is complex, and the dtype is not.
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        target = as_dtype(dtype).base_dtype
        if value.dtype.is_complex:
            if target.is_complex:
                return cast(value, target, name=scope)  # type: ignore[no-any-return]
            raise TypeError(f"saturate_cast takes real numbers, got {value.dtype.name} for {target.name}")
        source = value.dtype.base_dtype
        with np.errstate(all="ignore"):
            low, high = _limits(source, target.real_dtype)
        low, high = convert_to_tensor(low, dtype=source), convert_to_tensor(high, dtype=source)
        return cast(clip_node(value, low, high, "clamp"), target, name=scope)  # type: ignore[no-any-return]
