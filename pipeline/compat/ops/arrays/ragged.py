"""tf.ragged: constants, placeholders, and ops on the values of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.kernels import ragged
from pipeline.compat.values import constants
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.placeholders import placeholder as dense_placeholder
from pipeline.compat.values.ragged_making import as_splits_dtype
from pipeline.compat.values.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from pipeline.compat.values.ragged_value import RaggedTensorValue

_Maker = Callable[..., Any]


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Return a RaggedTensor of nested lists.

    Args:
        pylist: Nested lists, tuples or arrays, all scalars at the same depth.
        dtype: The DType of the values; by default as for `tf.constant`.
        ragged_rank: How many dimensions are ragged; by default all but the outermost one and those of `inner_shape`.
        inner_shape: The shape of a flat value; by default () or, with `ragged_rank`, that of the values.
        name: Name of the scope.
        row_splits_dtype: int32 or int64.

    Returns:
        A RaggedTensor; a tensor if no dimension is ragged.

    Raises:
        ValueError: The scalars differ in depth, or `ragged_rank` or `inner_shape` does not fit.
        TypeError: `pylist` is ragged itself.
    """
    splits_dtype = as_splits_dtype(row_splits_dtype)

    def rows(values: Any, splits: Any) -> Any:
        return RaggedTensor._of(values, constants.constant(splits, splits_dtype))

    def inner(values: Any, shape: Any) -> Any:
        return constants.constant(values, dtype, shape, name="values" if shape else "Const")

    with name_scope(name, "RaggedConstant"):
        return _nested(pylist, ragged_rank, inner_shape, rows, inner)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Return a RaggedTensorValue of nested lists, or an array if no dimension is ragged; else as `constant`."""
    number = dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype
    splits_dtype = as_splits_dtype(row_splits_dtype).np

    def inner(values: Any, shape: Any) -> Any:
        found = np.array(values, None if number is None else number)
        return found if shape is None else found.reshape(shape)

    return _nested(
        pylist,
        ragged_rank,
        inner_shape,
        lambda values, splits: RaggedTensorValue(values, np.array(splits, splits_dtype)),
        inner,
    )


def _nested(
    pylist: Any, ragged_rank: Any, inner_shape: Any, rows: Callable[..., Any], inner: Callable[..., Any]
) -> Any:
    """Make a ragged value by `rows(values, splits)` around `inner(values, shape)`; arguments as in `constant`."""
    if isinstance(pylist, (RaggedTensor, RaggedTensorValue)):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}")
        return inner(pylist, ())
    scalars, deepest = _depths(pylist)
    _check(pylist, ragged_rank, inner_shape, scalars, deepest)
    if ragged_rank == 0 or (ragged_rank is None and deepest - len(inner_shape or ()) < 2):
        return inner(pylist, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        ragged_rank = max(1, deepest - 1 if scalars is None else scalars - 1 - len(inner_shape))
    nested, values = [], pylist
    for _ in range(ragged_rank):
        nested.append(ragged.splits_of_lengths(np.array([len(row) for row in values], np.int64)))
        values = [each for row in values for each in row]
    made = inner(values, (len(values), *inner_shape))
    for splits in reversed(nested):
        made = rows(made, splits)
    return made


def _check(pylist: Any, ragged_rank: Any, inner_shape: Any, scalars: int | None, deepest: int) -> None:
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    if scalars is not None:
        if deepest > scalars:
            raise ValueError(f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting")
        if ragged_rank is not None and deepest < ragged_rank:
            raise ValueError(f"Invalid pylist={pylist}, max depth smaller than ragged_rank={ragged_rank}")
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected != scalars if scalars is not None else expected < deepest:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or np.ndim(value) != 0


def _depths(value: Any) -> tuple[int | None, int]:
    """Return the depth of the scalars in nested lists, None if there are none, and that of the deepest list."""
    if not _is_list(value):
        return 0, 0
    scalars, deepest = None, 1
    for child in value:
        depth, below = _depths(child)
        if depth is not None:
            if scalars is not None and scalars != depth + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalars = depth + 1
        deepest = max(deepest, below + 1)
    return scalars, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """Return the shape of the values behind the ragged dimensions; ValueError if they differ."""
    values = list(pylist)
    for depth in range(ragged_rank):
        if not all(map(_is_list, values)):
            raise ValueError(
                f"pylist has scalar values depth {depth + 1}, but ragged_rank={ragged_rank} requires scalar value "
                f"depth greater than {ragged_rank}"
            )
        values = [each for row in values for each in row]
    shapes = {_shape(each) for each in values}
    if len(shapes) > 1:
        raise ValueError("inner values have inconsistent shape")
    return shapes.pop() if shapes else ()


def _shape(value: Any) -> tuple[int, ...]:
    if not _is_list(value):
        return ()
    shapes = {_shape(each) for each in value}
    if len(shapes) > 1:
        raise ValueError("inner values have inconsistent shape")
    return (len(value), *(shapes.pop() if shapes else ()))


def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """Return a RaggedTensor of placeholders: feed it a RaggedTensorValue.

    Args:
        dtype: The DType of the values.
        ragged_rank: The number of ragged dimensions; 0 for a tensor.
        value_shape: The shape of a flat value; None if unknown.
        name: Name of the scope.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder"):
        made: Any = dense_placeholder(dtype, TensorShape([None]).concatenate(value_shape), "flat_values")
        for i in reversed(range(ragged_rank)):
            made = RaggedTensor._of(made, dense_placeholder(dtypes.int64, [None], f"row_splits_{i}"))
        return made


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply an op to the flat values of RaggedTensors, and give the result their rows.

    Args:
        op: A function of tensors that keeps the number of values.
        *args: Its arguments; RaggedTensors among them, also in lists, tuples and dicts, are replaced by their values.
            They must have the same rows.
        **kwargs: The same by name.

    Raises:
        ValueError: The ragged ranks or the numbers of values differ, or the op changes that number.
        TypeError: `op` is not callable.
    """
    if not callable(op):
        raise TypeError("argument 'op' must be callable")
    found: list[Any] = []

    def flat(value: Any) -> Any:
        if isinstance(value, (RaggedTensor, RaggedTensorValue)):
            found.append(as_ragged_or_tensor(value))
            return found[-1].flat_values
        if type(value) in (list, tuple):
            return type(value)(map(flat, value))
        return {key: flat(each) for key, each in value.items()} if type(value) is dict else value

    inputs, named = flat(args), flat(kwargs)
    if not found:
        return op(*args, **kwargs)
    if len({each.ragged_rank for each in found}) > 1:
        raise ValueError("All ragged inputs must have the same ragged_rank.")
    if len({each.row_splits.dtype for each in found}) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row partition dtypes; use RaggedTensor.with_row_splits_dtype() to "
            "convert them to compatible dtypes."
        )
    for each in found[1:]:
        found[0].flat_values.shape[:1].assert_is_compatible_with(each.flat_values.shape[:1])
    made = convert_to_tensor(op(*inputs, **named))
    return found[0].with_flat_values(made)
