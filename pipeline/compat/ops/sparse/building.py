"""Sparse tensors made from other tensors: indicators, merge, placeholder."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.filling import fill
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.shaping import expand_dims, shape
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.sparse.form import as_sparse, sparse_reorder, sparse_tensor_to_dense
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.placeholders import placeholder, placeholder_with_default
from pipeline.compat.values.sparse_tensor import SparseTensor, is_sparse
from pipeline.compat.values.static import constant_value_as_shape


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Return a bool tensor [..., vocab_size] that is true where an id occurs.

    Args:
        sp_input: A SparseTensor of ids.
        vocab_size: The number of different ids.
        name: Name of the op.
    """
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input, vocab_size]) as scope:
        entries: Any = shape(sparse.indices)
        values = fill(expand_dims(entries[0], 0), True)
        marks = SparseTensor(sparse.indices, values, sparse.dense_shape)
        merged = sparse_merge(sparse, marks, vocab_size, scope)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=scope)


def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Return the values as a sparse tensor in which ids replace the last index.

    Args:
        sp_ids: A SparseTensor of ids, or a list of them, each of which makes an axis of the result.
        sp_values: A SparseTensor with values for the same indices.
        vocab_size: The number of different ids; a list of numbers for a list of ids.
        name: Name of the scope.
        already_sorted: Do not sort the result.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: The lists differ in length.
    """
    sp_ids, vocab_size = _ids_and_sizes(sp_ids, vocab_size)
    with name_scope(name, "SparseMerge", [sp_ids, sp_values, vocab_size]):
        all_ids = [as_sparse(each) for each in sp_ids]
        sp_values = as_sparse(sp_values)
        ids = []
        for each in all_ids:
            values = each.values if each.dtype == dtypes.int64 else cast(each.values, dtypes.int64)
            ids.append(expand_dims(values, axis=1))
        sizes = [cast(each, dtypes.int64) for each in vocab_size]
        indices: Any = all_ids[0].indices
        new_indices = concat([indices[:, :-1], *ids], 1)
        first: Any = all_ids[0].dense_shape
        new_shape = concat([first[:-1], sizes], 0)
        result = SparseTensor(new_indices, sp_values.values, new_shape)
        if already_sorted:
            return result
        ordered = sparse_reorder(result)
        return SparseTensor(ordered.indices, ordered.values, new_shape)


def _ids_and_sizes(sp_ids: Any, vocab_size: Any) -> tuple[Any, Any]:
    """The arguments of `sparse_merge` as two lists of the same length."""
    if is_sparse(sp_ids):
        if not isinstance(vocab_size, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        return [sp_ids], [vocab_size]
    if not isinstance(sp_ids, Iterable):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    if not isinstance(vocab_size, Iterable):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}")
    for each in vocab_size:
        if not isinstance(each, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(each)}")
    if len(sp_ids) != len(vocab_size):  # type: ignore[arg-type]
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return sp_ids, vocab_size


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor whose value must be fed in every run.

    Args:
        dtype: The dtype of the values.
        shape: The dense shape, whose sizes may be None; or a tensor; or None if it is unknown.
        name: Prefix of the names of the three placeholders.
    """

    def named(what: str) -> str | None:
        return None if name is None else f"{name}/{what}"

    rank: Any = None
    if shape is None:
        dense_shape = placeholder(dtypes.int64, [None], named("shape"))
        known = unknown_shape()
    else:
        if isinstance(shape, Tensor):
            rank = (shape.shape.sizes or (None,))[0]
            known, given = constant_value_as_shape(shape), shape
        else:
            sizes = [None if each in (None, -1) else int(each) for each in TensorShape(_no_minus(shape)).as_list()]
            rank, known = len(sizes), TensorShape(sizes)
            numbers = [-1 if each is None else each for each in sizes]
            given = convert_to_tensor(numbers, dtypes.int64, name=named("shape_default"))
        dense_shape = placeholder_with_default(given, given.shape, named("shape"))
    values = placeholder(dtype, [None], named("values"))
    result = SparseTensor(placeholder(dtypes.int64, [None, rank], named("indices")), values, dense_shape)
    result.set_shape(known)
    return result


def _no_minus(shape: Sequence[Any]) -> list[Any]:
    return [None if isinstance(each, int) and each == -1 else each for each in shape]
