"""Rows and columns of a RaggedTensor: `rt[i]`, `rt[a:b]`, `rt[:, a:b]`."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import ragged
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid

_ALL = slice(None, None, None)


def getitem(rt: Any, key: Any) -> Any:
    """Return `rt[key]`; see `RaggedTensor.__getitem__`."""
    with name_scope(None, "RaggedGetItem"):
        return _getitem(rt, list(key) if isinstance(key, (list, tuple)) else [key])


def _getitem(rt: Any, keys: list[Any]) -> Any:
    if not keys:
        return rt
    if keys[0] is Ellipsis:
        return _getitem(rt, _without_ellipsis(keys, rt.shape.ndims))
    if keys[0] is None:
        inner = _getitem(rt, keys[1:])
        return type(rt).from_row_lengths(inner, [_nrows(inner)])
    if isinstance(keys[0], slice):
        return _within_rows(rt if keys[0] == _ALL else _some_rows(rt, keys[0]), keys[1:])
    position = convert_to_tensor(keys[0], preferred_dtype=dtypes.int64)
    if not position.dtype.is_integer:
        raise TypeError(f"a row's position must be an integer, not {keys[0]!r}")
    position.shape.assert_has_rank(0)
    _check_row(rt, position)
    span = tensor_node("RowSpan", [rt.row_splits, position], ragged.row_span, dtypes.int64, [None])
    row = gather(rt.values, span)
    return row[tuple(keys[1:])] if len(keys) > 1 else row


def _within_rows(rt: Any, keys: list[Any]) -> Any:
    """Apply keys to what is behind the first axis."""
    if not keys:
        return rt
    if isinstance(rt, Tensor):
        return rt[(_ALL, *keys)]  # type: ignore[index]
    if keys[0] is Ellipsis:
        return _within_rows(rt, _without_ellipsis(keys, rt.values.shape.ndims))
    if keys[0] is None:
        return type(rt).from_uniform_row_length(_within_rows(rt, keys[1:]), 1)
    if not isinstance(keys[0], slice):
        return _within_rows(_column(rt, keys[0]), keys[1:])
    if keys[0] != _ALL:
        splits, positions = _columns(rt.row_splits, keys[0])
        rt = type(rt)._of(gather(rt.values, positions), splits)
    return rt.with_values(_within_rows(rt.values, keys[1:]))


def _column(rt: Any, position: Any) -> Any:
    """Return one value of each row of a dimension whose rows are equally long."""
    length = rt._row_length
    if length is None or not isinstance(position, int):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if not -length <= position < length:
        raise invalid("Index out of bounds when indexing into a ragged tensor")
    return rt.values[position % length :: length]


def _without_ellipsis(keys: list[Any], axes: int | None) -> list[Any]:
    """Put one full slice in front of the ellipsis, or drop it if it stands for no axis."""
    if axes is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    others = sum(each is not None for each in keys) - 1
    if others > axes:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if others == axes else [_ALL, *keys]


def _nrows(values: Any) -> Tensor:
    if not isinstance(values, Tensor):
        return values.nrows()  # type: ignore[no-any-return]
    return tensor_node("NumValues", [values], lambda each: dtypes.int64.np.type(len(each)), dtypes.int64, [])


def _bounds(key: slice) -> tuple[list[Tensor], Any]:
    """Return the tensors of what a slice gives, and a function from their values to the slice."""
    given = (key.start, key.stop, key.step)
    tensors = [convert_to_tensor(each, preferred_dtype=dtypes.int64) for each in given if each is not None]
    if not all(each.dtype.is_integer for each in tensors):
        raise TypeError("slice offsets must be integers or None")

    def made(values: Any) -> slice:
        left = iter(values)
        return slice(*(None if each is None else int(next(left)) for each in given))

    return tensors, made


def _some_rows(rt: Any, key: slice) -> Any:
    bounds, made = _bounds(key)

    def kernel(splits: Any, *values: Any) -> Any:
        return ragged.rows_of(splits, made(values))

    known, nrows = [constant_value(each) for each in bounds], rt.shape[0].value
    count = None if None in known or nrows is None else len(range(nrows)[made(known)])
    return gather(rt, tensor_node("Rows", [rt.row_splits, *bounds], kernel, dtypes.int64, [count]))


def _columns(splits: Tensor, key: slice) -> list[Tensor]:
    bounds, made = _bounds(key)

    def kernel(splits: Any, *values: Any) -> Any:
        return ragged.columns(splits, made(values))

    outputs = [(splits.dtype, splits.shape), (dtypes.int64, [None])]
    return node("Columns", [splits, *bounds], outputs, kernel).outputs


def gather(values: Any, rows: Tensor) -> Any:
    """Return some rows of a tensor or RaggedTensor."""
    count = rows.shape[0].value
    if isinstance(values, Tensor):
        shape = None if values.shape.sizes is None else [count, *values.shape.sizes[1:]]
        return tensor_node("GatherV2", [values, rows], lambda v, at: v[at], values.dtype.base_dtype, shape)
    nested, flat = values.nested_row_splits, values.flat_values
    outputs = [(nested[0].dtype, [None if count is None else count + 1])]
    outputs += [(each.dtype, [None]) for each in nested[1:]]
    outputs += [(flat.dtype.base_dtype, [None, *flat.shape[1:]])]
    *splits, made = node("RaggedGather", [*nested, flat, rows], outputs, _take).outputs
    for each, length in zip(splits[::-1], values._nested_lengths()[::-1], strict=True):
        made = type(values)._of(made, each, length)
    return made


def _take(*values: Any) -> Any:
    return ragged.take(values[:-2], values[-2], values[-1])


def _check_row(rt: Any, position: Tensor) -> None:
    """Raise ValueError for a row that is known to be out of bounds."""
    known, nrows = constant_value(position), rt.shape[0].value
    if None not in (known, nrows) and not -nrows <= known < nrows:
        raise ValueError(f"slice index {known} of dimension 0 out of bounds.")
