"""Values and norms kept within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import float32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import colocate_with, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.inputs import FLOATS, first_input
from pipeline.compat.ops.math.arithmetic import maximum, minimum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_sum
from pipeline.compat.ops.math.unary import rsqrt, sqrt
from pipeline.compat.values.constants import constant
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


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Return t scaled so that its Euclidean norm (over `axes`) is at most `clip_norm`."""
    from pipeline.compat.ops.arrays.filling import ones_like
    from pipeline.compat.ops.arrays.identities import identity
    from pipeline.compat.ops.arrays.masking import where

    with name_scope(name, "clip_by_norm") as scope:
        values = _values(t, "t")
        clip_norm = (
            max(clip_norm, 0)
            if isinstance(clip_norm, (int, float, np.number))
            else cast(maximum(clip_norm, 0), values.dtype)
        )
        squares: Any = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        # The root of 0 has no gradient, hence the detour.
        safe = where(positive, squares, ones_like(squares))
        norm = where(positive, sqrt(safe), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        return _like(t, identity(scaled / maximum(norm, clip_norm), name=scope))


def _l2_loss(value: Any) -> Any:
    return np.sum(value * value, dtype=value.dtype) / value.dtype.type(2)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Return half the sum of the squares of t."""
    with name_scope(name, "L2Loss") as scope:
        t = first_input("t", t, FLOATS)
        dtype = t.dtype.base_dtype
        return tensor_node("L2Loss", [t], quiet(_l2_loss), dtype, (), name=scope, attrs={"T": dtype})


def _list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """Return the Euclidean norm of all tensors of a list together; None in it is left out."""
    from pipeline.compat.ops.arrays.joining import stack

    t_list = _list(t_list)
    with name_scope(name, "global_norm"):
        halves = []
        values = [None if t is None else _values(t, f"t_{i}") for i, t in enumerate(t_list)]
        for value in values:
            if value is not None:
                with colocate_with(value):
                    halves.append(l2_loss(value))
        half: Any = reduce_sum(stack(halves))
        return sqrt(half * constant(2.0, dtype=half.dtype), name="global_norm")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Return the tensors scaled so that their norm together is at most `clip_norm`, and that norm before.

    Args:
        t_list: Tensors, IndexedSlices and None.
        clip_norm: The norm to keep to.
        use_norm: The norm they have, if it is known.
        name: Name of the ops.
    """
    from pipeline.compat.ops.arrays.identities import identity

    t_list = _list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm") as scope:
        scale: Any = clip_norm * minimum(1.0 / use_norm, constant(1.0, dtype=use_norm.dtype) / clip_norm)
        # An infinite norm makes everything NaN.
        scale = scale + (use_norm - use_norm)
        values = [None if t is None else _values(t, f"t_{i}") for i, t in enumerate(t_list)]
        clipped: list[Any] = []
        for index, (t, value) in enumerate(zip(t_list, values, strict=True)):
            if value is None:
                clipped.append(None)
                continue
            with colocate_with(value):
                clipped.append(_like(t, identity(value * cast(scale, value.dtype), name=f"{scope}_{index}")))
        return clipped, use_norm


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Return t scaled so that its norm over its number of elements is at most `clip_norm`."""
    from pipeline.compat.ops.arrays.identities import identity
    from pipeline.compat.ops.arrays.sequences import range as range_
    from pipeline.compat.ops.arrays.shaping import rank, size

    with name_scope(name, "clip_by_average_norm") as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(size(t), float32)
        inverse: Any = rsqrt(reduce_sum(t * t, range_(rank(t))))
        scaled = t * clip_norm * minimum(inverse * count, constant(1.0) / clip_norm)
        return identity(scaled, name=scope)
