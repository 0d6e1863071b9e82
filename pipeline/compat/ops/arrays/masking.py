"""where, boolean_mask and sequence_mask: elements chosen by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape, broadcast_static_shape, merged, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays import shaping
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import expand_dims, reshape, shape, squeeze
from pipeline.compat.ops.making.inputs import ANY_NUMBER, check_allowed
from pipeline.compat.ops.making.opdef import op, tensor_op
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.reducing import reduce_max, reduce_prod
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def _places(condition: Any, name: str | None) -> Tensor:
    def rule(tensor: Tensor) -> Any:
        return (None, tensor.shape.ndims)

    def kernel(value: Any) -> Any:
        if np.ndim(value) == 0:
            raise invalid("WhereOp : Unhandled input dimensions: 0")
        return np.argwhere(value).astype(np.int64, copy=False)

    with name_scope(name, "Where", [condition]) as scope:
        tensor = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
        check_allowed("input", tensor.dtype.base_dtype, (*ANY_NUMBER, "bool"))
        return tensor_op("Where", "input:T", [tensor], rule, kernel, scope, dtype=dtypes.int64)


def _selected(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    made = merged(x.shape, y.shape)
    sizes, known = condition.shape.sizes, made.sizes
    if sizes is None or known is None or not sizes:
        return made
    if len(sizes) == 1 and known:
        # A vector chooses whole rows and does not limit their count.
        merged(condition.shape, as_shape(known[:1]))
        return made
    return merged(made, condition.shape)


def _select(condition: Any, x: Any, y: Any) -> Any:
    if np.ndim(condition) == 0:
        return x if condition else y
    shape = np.shape(x)
    if shape != np.shape(y) or np.shape(condition) not in (shape, shape[:1]):
        raise invalid(
            f"'then' and 'else' must have the same size, and the condition that of them or of their rows: "
            f"{list(np.shape(condition))}, {list(shape)}, {list(np.shape(y))}"
        )
    condition = np.asarray(condition)
    return np.where(condition.reshape(condition.shape + (1,) * (len(shape) - condition.ndim)), x, y)


def _select_rows(is_row: tuple[bool, ...], condition: Any, x: Any, y: Any) -> Any:
    shapes = {np.shape(value)[row:] for value, row in zip((condition, x, y), is_row, strict=True)}
    if len(shapes) == 1:
        return np.where(condition, x, y)
    return None


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return elements from `x` where the condition holds and from `y` elsewhere; or the positions where it holds.

    Args:
        condition: bool: a scalar, a vector choosing rows, or shaped like `x`.
        x: Any dtype; None, with `y`, for the positions: int64, one index row per position.
        y: Same dtype and shape as `x`.
        name: Name of the op.

    Raises:
        ValueError: Only one of `x` and `y` is given, or the shapes do not fit.
    """
    return _choice("Select", [condition, x, y], _selected, _select, name, _select_rows)


def _choice(op_type: str, values: list[Any], rule: Any, kernel: Any, name: str | None, rows: Any = None) -> Tensor:
    condition, x, y = values
    if x is None and y is None:
        return _places(condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")

    def outputs(condition: Tensor, x: Tensor, y: Tensor) -> Any:
        return [(x.dtype.base_dtype, rule(condition, x, y))]

    return op(op_type, "condition:bool t:T e:T", values, outputs, kernel, name, rows=rows).outputs[0]


def _selected_broadcast(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    return broadcast_static_shape(condition.shape, broadcast_static_shape(x.shape, y.shape))


def _select_broadcast(condition: Any, x: Any, y: Any) -> Any:
    try:
        return np.where(condition, x, y)
    except ValueError as error:
        raise invalid(f"Incompatible shapes: {error}") from None


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Choose as `where` does, with condition, `x` and `y` broadcast."""
    return _choice("SelectV2", [condition, x, y], _selected_broadcast, _select_broadcast, name)


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """Return a tensor's slices along one axis where the mask is true.

    Args:
        tensor: Any dtype.
        mask: bool, with a known rank; its shape matches the axes of `tensor` from `axis` on.
        name: Scope name.
        axis: The first axis covered by the mask; 0 by default.

    Raises:
        ValueError: The mask is a scalar, its rank is not known, or the shapes do not fit.
    """
    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        covered = mask.shape.ndims
        if covered == 0:
            raise ValueError("mask cannot be scalar.")
        if covered is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is "
                "ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        known = constant_value(axis) if isinstance(axis, Tensor) else axis
        full = tensor.shape
        if known is not None:
            axis = int(known)
            full[axis : axis + covered].assert_is_compatible_with(mask.shape)
        sizes: Any = shape(tensor)
        count = reduce_prod(sizes[axis : axis + covered], [0])
        sizes_before: Any = shape(tensor)
        before = sizes_before[:axis]
        sizes_after: Any = shape(tensor)
        flat = reshape(tensor, concat([before, [count], sizes_after[axis + covered :]], 0))
        if known is not None:
            between = unknown_shape(1) if full.sizes is None else as_shape([full[axis : axis + covered].num_elements()])
            flat.set_shape(full[:axis].concatenate(between).concatenate(full[axis + covered :]))
        picked = squeeze(where_v2(reshape(mask, [-1])), axis=[1])
        return gather(flat, picked, axis=axis)


def _all_axes(tensor: Tensor) -> Tensor:
    count = tensor.shape.ndims
    if count is not None:
        return constant(np.arange(count, dtype=np.int32))
    return range_node(0, shaping.rank(tensor), 1)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None) -> Tensor:
    """Return one row per length: that many True (or ones), then False (or zeros).

    Args:
        lengths: Integers, any shape.
        maxlen: Row length; the largest in `lengths` by default.
        dtype: Result dtype.
        name: Scope name.

    Raises:
        ValueError: `maxlen` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_max(lengths, _all_axes(lengths))
            maxlen = maximum(constant(0, maxlen.dtype.base_dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen} with shape "
                f"'{maxlen.shape}' instead"
            )
        kind = maxlen.dtype.base_dtype
        numbers: Any = range_node(constant(0, kind), maxlen, constant(1, kind))
        made: Any = numbers < cast_node(expand_dims(lengths, -1), kind)
        if dtype is None or as_dtype(dtype).base_dtype is dtypes.bool:
            return made  # type: ignore[no-any-return]
        return cast_node(made, as_dtype(dtype))
