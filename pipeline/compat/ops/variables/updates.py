"""Ops that make and change variables: assign, assign_add, count_up_to, scatter_update and similar.

They take a `Variable` or its ref tensor. Their kernels get the variable's Cell in the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.session.variable_cell import Cell
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid


def variable_op(shape: Any, dtype: Any, name: str = "Variable", container: str = "", shared_name: str = "") -> Tensor:
    """Return a VariableV2 node: a ref tensor; each session stores its value in its own Cell."""
    dtype = dtypes.as_dtype(dtype)
    key: Any = (shared_name and ("variable", container, shared_name)) or object()
    holder: list[Any] = []

    def kernel(run: Any) -> Cell:
        return run.state(key, lambda: Cell(holder[0].op.name))  # type: ignore[no-any-return]

    attrs = {"shape": shape, "dtype": dtype, "container": container, "shared_name": shared_name}
    ref = tensor_node("VariableV2", [], kernel, dtype._as_ref, shape, name=name, attrs=attrs, handle=True)
    holder.append(ref)
    return ref


def is_ref(value: Any) -> bool:
    """Return whether `value` is a ref tensor or a variable."""
    return bool(getattr(getattr(value, "dtype", None), "_is_ref_dtype", False))


def _ref_tensor(ref: Any) -> Tensor:
    tensor: Tensor = getattr(ref, "_variable", ref)
    return tensor


def argument(value: Any, op_type: str, parameter: str, dtype: DType) -> Tensor:
    """Return an argument as a tensor with the dtype of the op's ref input.

    Raises:
        TypeError: It is a tensor with another dtype, or a value that does not fit the dtype.
    """
    found = getattr(value, "dtype", None)
    if isinstance(found, DType) and found.base_dtype != dtype:
        raise TypeError(
            f"Input '{parameter}' of '{op_type}' Op has type {found.base_dtype.name} "
            f"that does not match type {dtype.name} of argument 'ref'."
        )
    try:
        return convert_to_tensor(value, dtype, name=parameter)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Expected {dtype.name} passed to parameter '{parameter}' of op '{op_type}', "
            f"got {value!r} of type '{type(value).__name__}' instead. Error: {error}"
        ) from None


def _must_be_number(ref: Tensor, parameter: str = "ref") -> None:
    dtype = ref.dtype.base_dtype
    if dtype.is_bool or dtype == dtypes.string:
        raise TypeError(
            f"Value passed to parameter '{parameter}' has DataType {dtype.name} not in list of allowed values"
        )


def _frozen(value: Any) -> Any:
    """Return a read-only copy, because several runs may hold it."""
    if isinstance(value, bytes):
        return value
    value = np.array(value)
    value.flags.writeable = False
    return value


def update(
    op_type: str, ref: Any, inputs: list[Tensor], change: Callable[..., Any], shape: Any, name: str, attrs: Any
) -> Tensor:
    """Return a node that sets the variable to `change(value, *inputs)`; its output is the ref tensor again."""
    ref = _ref_tensor(ref)

    def kernel(_: Any, cell: Cell, *values: Any) -> Cell:
        with cell.lock:
            cell.write(_frozen(change(cell.read(), *values)))
        return cell

    attrs = {"T": ref.dtype.base_dtype, **attrs}
    return tensor_node(
        op_type, [ref, *inputs], kernel, ref.dtype, shape, name=name, attrs=attrs, stateful=True, ref_inputs=(0,)
    )


def assign(
    ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None
) -> Tensor:
    """Set a variable to `value`; return the ref tensor with the new value.

    Args:
        ref: A variable or its ref tensor.
        value: A tensor or value with the variable's dtype.
        validate_shape: True if `value` must have the variable's shape; True by default.
        use_locking: Ignored, because updates to a variable never overlap.
        name: Name of the op.

    Raises:
        AttributeError: `ref` is not a variable.
        ValueError: The shapes are known to differ.
        TypeError: `value` has another dtype.
        InvalidArgumentError: At run time, if the shapes differ.
    """
    if not is_ref(ref):
        return ref.assign(value, name=name)  # type: ignore[no-any-return]
    validate = True if validate_shape is None else bool(validate_shape)
    ref = _ref_tensor(ref)
    with name_scope(name, "Assign", [ref, value]) as scope:
        value = argument(value, "Assign", "value", ref.dtype.base_dtype)
        shape = _same_shape(ref, value) if validate else value.get_shape()
        declared = ref.op.attrs.get("shape") if validate else None

        def kernel(_: Any, cell: Cell, new: Any) -> Cell:
            if validate:
                _check_fits(cell, declared, new)
            with cell.lock:
                cell.write(_frozen(new))
            return cell

        attrs = {"T": ref.dtype.base_dtype, "validate_shape": validate, "use_locking": use_locking is not False}
        return tensor_node(
            "Assign", [ref, value], kernel, ref.dtype, shape, name=scope, attrs=attrs, stateful=True, ref_inputs=(0,)
        )


def _same_shape(ref: Tensor, value: Tensor) -> TensorShape:
    return ref.get_shape().merge_with(value.get_shape())


def _check_fits(cell: Cell, declared: Any, value: Any) -> None:
    """Check that `value` has the held value's shape, or the declared shape if there is no value yet."""
    held = cell.value
    if held is not None:
        expected = np.shape(held)
    elif isinstance(declared, TensorShape):
        # A variable with unknown shape starts as a scalar.
        expected = tuple(size or 0 for size in declared.as_list()) if declared.ndims is not None else ()
    else:
        return
    if np.shape(value) != expected:
        shapes = ["[" + ",".join(map(str, shape)) + "]" for shape in (expected, np.shape(value))]
        raise invalid(
            f"Assign requires shapes of both tensors to match. lhs shape= {shapes[0]} rhs shape= {shapes[1]}",
        )


def _assign_by(op_type: str, function: Any, ref: Any, value: Any, use_locking: Any, name: str | None) -> Tensor:
    with name_scope(name, op_type, [ref, value]) as scope:
        tensor = _ref_tensor(ref)
        _must_be_number(tensor)
        value = argument(value, op_type, "value", tensor.dtype.base_dtype)
        shape = _same_shape(tensor, value)

        def change(held: Any, new: Any) -> Any:
            if np.shape(held) != np.shape(new):
                raise invalid(f"shapes must be equal: {list(np.shape(held))} {list(np.shape(new))}")
            return function(held, new)

        return update(op_type, tensor, [value], change, shape, scope, {"use_locking": bool(use_locking)})


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Add `value`, with the variable's dtype and shape, to a variable; otherwise as `assign`."""
    if not is_ref(ref):
        return ref.assign_add(value)  # type: ignore[no-any-return]
    return _assign_by("AssignAdd", np.add, ref, value, use_locking, name)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Subtract `value`, with the variable's dtype and shape, from a variable; otherwise as `assign`."""
    if not is_ref(ref):
        return ref.assign_sub(value)  # type: ignore[no-any-return]
    return _assign_by("AssignSub", np.subtract, ref, value, use_locking, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Return an int32 or int64 scalar variable's value and increment it; OutOfRangeError once it is `limit`."""
    with name_scope(name, "CountUpTo", [ref, limit]) as scope:
        ref = _ref_tensor(ref)
        dtype = ref.dtype.base_dtype
        if not is_ref(ref):
            raise TypeError("'CountUpTo' Op requires that input 'ref' be a mutable tensor (e.g.: a tf.Variable)")
        if dtype not in (dtypes.int32, dtypes.int64):
            raise TypeError(
                f"Value passed to parameter 'ref' has DataType {dtype.name} not in list of allowed values: int32, int64"
            )
        shape = ref.get_shape().with_rank(0)
        limit = int(limit)

        def kernel(_: Any, cell: Cell) -> Any:
            with cell.lock:
                value = cell.read()
                if value >= limit:
                    raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
                cell.write(_frozen(np.asarray(value + 1, dtype.np)))
            return value

        attrs = {"T": dtype, "limit": limit}
        return tensor_node(
            "CountUpTo", [ref], kernel, dtype, shape, name=scope, attrs=attrs, stateful=True, ref_inputs=(0,)
        )


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Return whether a variable has a value, a bool scalar."""
    with name_scope(name, "IsVariableInitialized", [ref]) as scope:
        ref = _ref_tensor(ref)
        if not is_ref(ref):
            return ref.is_initialized(name=name)  # type: ignore[no-any-return]
        attrs = {"dtype": ref.dtype.base_dtype}
        return tensor_node(
            "IsVariableInitialized",
            [ref],
            lambda _, cell: np.bool_(cell.value is not None),
            dtypes.bool,
            [],
            name=scope,
            attrs=attrs,
            stateful=True,
            ref_inputs=(0,),
        )


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
            raise invalid(f"indices{'[' + place + ']' if place else ''} = {int(flat[at])} is not in [0, {len(held)})")
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
        return update(
            op_type, ref, [indices, updates], _rows(function), shape, scope, {"use_locking": bool(use_locking)}
        )


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: Any = True, name: str | None = None) -> Tensor:
    """Set rows of a variable at `indices` to `updates`, a scalar or shaped indices.shape + ref.shape[1:]."""
    return _scatter("ScatterUpdate", _put, ref, indices, updates, use_locking, name)


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Add `updates` to rows of a variable; an index given twice is added twice."""
    return _scatter("ScatterAdd", np.add.at, ref, indices, updates, use_locking, name)


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
    """Subtract `updates` from rows of a variable."""
    return _scatter("ScatterSub", np.subtract.at, ref, indices, updates, use_locking, name)
