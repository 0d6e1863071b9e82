"""where: elements chosen by a condition, or the places where it holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape, broadcast_static_shape, merged
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import ANY_NUMBER, check_allowed
from pipeline.compat.ops.making.opdef import op, tensor_op
from pipeline.compat.values.convert import convert_to_tensor
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
        # A vector chooses whole rows and says nothing about their number.
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
    """Return the elements of `x` where the condition holds and those of `y` elsewhere; or the places where it holds.

    Args:
        condition: bool: a scalar, a vector that chooses rows, or of the shape of `x`.
        x: Any dtype; None, with `y`, for the places: int64, a row of indices for each.
        y: Of the dtype and shape of `x`.
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
