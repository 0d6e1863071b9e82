"""Values and norms kept within bounds."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.ops.math.arithmetic import maximum, minimum
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices


def _values(t: Any, name: str) -> Any:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t: Any, values: Any) -> Any:
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Return t with elements below and above the bounds set to them; the bounds broadcast to t's shape.

    Raises:
        ValueError: The bounds do not broadcast to the shape of `t`.
        TypeError: Their dtype is not that of `t`.
    """
    with name_scope(name, "clip_by_value") as scope:
        values = _values(t, "t")
        lower = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(lower.shape)
        clipped = maximum(lower, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return _like(t, clipped)
