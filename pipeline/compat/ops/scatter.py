"""Updates of parts of a variable: the scatter operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.state import _ref_tensor, _update, argument, is_ref


def _indices(value: Any) -> Tensor:
    indices: Tensor = convert_to_tensor(value, name="indices")
    if indices.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Value passed to parameter 'indices' has DataType {indices.dtype.name} "
            "not in list of allowed values: int32, int64"
        )
    return indices


def _put(held: Any, indices: Any, updates: Any) -> None:
    held[indices] = updates


def _rows(function: Any) -> Any:
    def change(held: Any, indices: Any, updates: Any) -> Any:
        flat = np.asarray(indices).reshape(-1)
        outside = np.flatnonzero((flat < 0) | (flat >= len(held)))
        if outside.size:
            at = int(outside[0])
            place = ", ".join(str(int(i)) for i in np.unravel_index(at, np.shape(indices))) if np.ndim(indices) else ""
            raise errors.InvalidArgumentError(
                None, None, f"indices{'[' + place + ']' if place else ''} = {int(flat[at])} is not in [0, {len(held)})"
            )
        held = np.array(held)
        function(held, indices, updates)
        return held

    return change


def _scatter(op_type: str, function: Any, ref: Any, indices: Any, updates: Any, use_locking: Any, name: Any) -> Tensor:
    if not is_ref(ref):
        raise AttributeError(f"'{type(ref).__name__}' object has no attribute '_lazy_read'")
    with name_scope(name, op_type, [ref, indices, updates]) as scope:
        ref = _ref_tensor(ref)
        indices = _indices(indices)
        updates = argument(updates, op_type, "updates", ref.dtype.base_dtype)
        shape = ref.get_shape()
        if shape.ndims is not None and updates.get_shape().ndims != 0:
            shape.with_rank_at_least(1)
            updates.get_shape().merge_with(indices.get_shape().concatenate(shape[1:]))
        return _update(
            op_type, ref, [indices, updates], _rows(function), shape, scope, {"use_locking": bool(use_locking)}
        )


def _nd(function: Any) -> Any:
    def change(held: Any, indices: Any, updates: Any) -> Any:
        depth = np.shape(indices)[-1]
        sizes = np.asarray(np.shape(held)[:depth])
        bad = np.argwhere(((indices < 0) | (indices >= sizes)).any(axis=-1))
        if len(bad):
            at = tuple(int(i) for i in bad[0])
            row = ",".join(str(int(i)) for i in indices[at])
            shape = ",".join(map(str, np.shape(held)))
            raise errors.InvalidArgumentError(
                None, None, f"indices[{','.join(map(str, at))}] = [{row}] does not index into shape [{shape}]"
            )
        held = np.array(held)
        function(held, tuple(np.moveaxis(indices, -1, 0)), updates)
        return held

    return change


def _scatter_nd(
    op_type: str, function: Any, ref: Any, indices: Any, updates: Any, use_locking: Any, name: Any
) -> Tensor:
    with name_scope(name, op_type, [ref, indices, updates]) as scope:
        ref = _ref_tensor(ref)
        indices = _indices(indices)
        updates = argument(updates, op_type, "updates", ref.dtype.base_dtype)
        shape = ref.get_shape()
        places = indices.get_shape()
        if shape.ndims is not None and places.ndims is not None and places.sizes[-1] is not None:
            updates.get_shape().merge_with(places[:-1].concatenate(shape[places.sizes[-1] :]))
        return _update(
            op_type, ref, [indices, updates], _nd(function), shape, scope, {"use_locking": bool(use_locking)}
        )


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: Any = True, name: str | None = None) -> Tensor:
    """Set the rows `indices` of a variable to `updates` (indices.shape + ref.shape[1:], or a scalar)."""
    return _scatter("ScatterUpdate", _put, ref, indices, updates, use_locking, name)


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Add `updates` to rows of a variable; indices that occur twice are added twice."""
    return _scatter("ScatterAdd", np.add.at, ref, indices, updates, use_locking, name)


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Subtract `updates` from rows of a variable."""
    return _scatter("ScatterSub", np.subtract.at, ref, indices, updates, use_locking, name)


def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Multiply rows of a variable by `updates`."""
    return _scatter("ScatterMul", np.multiply.at, ref, indices, updates, use_locking, name)


def _divide_at(held: Any, indices: Any, updates: Any) -> None:
    np.floor_divide.at(held, indices, updates) if held.dtype.kind in "iu" else np.divide.at(held, indices, updates)


def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Divide rows of a variable by `updates`."""
    return _scatter("ScatterDiv", _divide_at, ref, indices, updates, use_locking, name)


def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Lower rows of a variable to `updates` where those are less."""
    return _scatter("ScatterMin", np.minimum.at, ref, indices, updates, use_locking, name)


def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Raise rows of a variable to `updates` where those are greater."""
    return _scatter("ScatterMax", np.maximum.at, ref, indices, updates, use_locking, name)


def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: Any = True, name: str | None = None) -> Tensor:
    """Set the places `indices` (their last axis indexes into the variable) to `updates`."""
    return _scatter_nd("ScatterNdUpdate", _put, ref, indices, updates, use_locking, name)


def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Add `updates` at the places `indices`."""
    return _scatter_nd("ScatterNdAdd", np.add.at, ref, indices, updates, use_locking, name)


def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Subtract `updates` at the places `indices`."""
    return _scatter_nd("ScatterNdSub", np.subtract.at, ref, indices, updates, use_locking, name)
