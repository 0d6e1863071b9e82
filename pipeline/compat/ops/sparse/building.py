"""Sparse tensors made from other tensors: merge, retain, transpose, expand_dims, from_dense, eye, placeholder."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.arranging import transpose
from pipeline.compat.ops.arrays.filling import fill, ones, ones_like, zeros, zeros_like
from pipeline.compat.ops.arrays.gathering import gather, gather_nd
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.indexing import slice_
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.masking import where_v2
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import expand_dims, reshape, shape
from pipeline.compat.ops.arrays.shaping import rank as rank_op
from pipeline.compat.ops.arrays.stacking import stack
from pipeline.compat.ops.control.checks import assert_equal, assert_less_equal
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.ops.math.arithmetic import add, maximum, minimum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import not_equal
from pipeline.compat.ops.math.reducing import reduce_max
from pipeline.compat.ops.sparse.form import as_sparse, sparse_reorder, sparse_tensor_to_dense
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.placeholders import placeholder, placeholder_with_default
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor, is_sparse
from pipeline.compat.values.static import constant_value, constant_value_as_shape


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Return a bool tensor [..., vocab_size] that is true where an id occurs.

    Args:
        sp_input: A SparseTensor of ids.
        vocab_size: The number of different ids.
        name: Name of the op.
    """
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator") as scope:
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
    with name_scope(name, "SparseMerge"):
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


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Return the values of a sparse tensor for which a bool vector is true.

    Raises:
        ValueError: The lengths are known to differ.
    """
    sparse = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    known = to_retain.get_shape()
    known.assert_has_rank(1)
    if sparse.values.shape.sizes is not None and known.sizes is not None:
        sparse.values.shape[0].assert_is_compatible_with(known[0])
    places = reshape(where_v2(to_retain), [-1])
    return SparseTensor(gather(sparse.indices, places), gather(sparse.values, places), identity(sparse.dense_shape))


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Return the same values with another dense shape.

    Args:
        sp_input: A SparseTensor.
        new_shape: The shape, with no size below the old one; by default the smallest that holds all values.

    Raises:
        ValueError: A size is known to be below the old one.
        InvalidArgumentError: At run time: a size is below the old one.
    """
    sparse = as_sparse(sp_input)
    indices, values = identity(sparse.indices), identity(sparse.values)
    old = identity(sparse.dense_shape)
    if new_shape is None:
        largest = reduce_max(indices, axis=0)
        # Without values the largest index is the smallest number of the dtype.
        size: Any = maximum(constant(0, dtypes.int64), add(largest, ones_like(old)))
        return SparseTensor(indices, values, size)
    wanted = convert_to_tensor(new_shape)
    wanted.get_shape().assert_has_rank(1)
    wanted = cast(wanted, dtypes.int64)
    if wanted.shape.sizes is not None and old.shape.sizes is not None:
        wanted.shape[0].assert_is_compatible_with(old.shape[0])
    known = constant_value(wanted)
    if known is not None and sparse.get_shape().is_fully_defined():
        sizes = np.array(sparse.get_shape().as_list())
        if not (sizes <= known).all():
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
                f"({sizes}), sp_input.shape ({known})."
            )
        return SparseTensor(indices, values, known)
    wanted = with_dependencies([assert_equal(shape(old), shape(wanted))], wanted)
    wanted = with_dependencies([assert_less_equal(old, wanted)], wanted)
    return SparseTensor(indices, values, wanted)


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with its axes in another order.

    Args:
        sp_input: A SparseTensor.
        perm: The axes in their new order; reversed by default.
        name: Name of the scope.
    """
    with name_scope(name, "SparseTranspose"):
        if perm is None:
            rank: Any = sp_input.shape.ndims
            if rank is not None:
                perm = rank - 1 - np.arange(0, rank, 1)
            else:
                rank = rank_op(sp_input)
                perm = rank - 1 - range_(0, rank, 1)
        indices = transpose(gather(transpose(sp_input.indices), perm))
        known = constant_value(convert_to_tensor(perm))
        sizes = sp_input.get_shape()
        if known is not None and sizes.is_fully_defined():
            new_shape: Any = [sizes.as_list()[int(axis)] for axis in known]
        else:
            new_shape = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, new_shape))


def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Return IndexedSlices without the rows that have certain indices.

    Args:
        a: IndexedSlices.
        mask_indices: The indices to leave out.
        name: Name of the op.
    """
    with name_scope(name, "sparse_mask") as scope:

        def kernel(x: Any, y: Any) -> Any:
            kept = np.flatnonzero(~np.isin(x, y)).astype(np.int32)
            return [x[kept], kept]

        made = op(
            "ListDiff",
            "x:T y:T",
            [a.indices, mask_indices],
            lambda x, y: [(x.dtype.base_dtype, [None]), (dtypes.int32, [None])],
            kernel,
            attrs={"out_idx": dtypes.int32},
        )
        kept, places = made.outputs
        return IndexedSlices(gather(a.values, places, name=scope), kept, a.dense_shape)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return the nonzero values of a dense tensor as a SparseTensor."""
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = where_v2(not_equal(tensor, zeros_like(tensor)))
        values = gather_nd(tensor, indices)
        return SparseTensor(indices, values, shape(tensor, out_type=dtypes.int64))


def sparse_expand_dims(sp_input: SparseTensor, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with one more axis, of size 1.

    Args:
        sp_input: A SparseTensor.
        axis: The index of the new axis; last by default.
        name: Name of the scope.
    """
    sizes = sp_input.dense_shape.get_shape().sizes
    rank: Any = sizes[0] if sizes else None
    if rank is None:
        length: Any = shape(sp_input.dense_shape)
        rank = length[0]
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims"):
        if isinstance(axis, numbers.Integral):
            axis = convert_to_tensor(axis, dtypes.int32, name="axis")
        elif not isinstance(axis, Tensor):
            raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
        at: Any = axis
        at = where_v2(at >= 0, at, at + rank + 1)
        count: Any = shape(sp_input.indices)
        column = zeros([count[0], 1], dtype=dtypes.int64)
        before = slice_(sp_input.indices, [0, 0], [-1, at])
        after = slice_(sp_input.indices, [0, at], [-1, -1])
        indices = concat([before, column, after], axis=1)
        sizes_before = slice_(sp_input.dense_shape, [0], [at])
        sizes_after = slice_(sp_input.dense_shape, [at], [-1])
        one = convert_to_tensor([1], dtypes.int64, name="new_shape")
        new_shape = concat([sizes_before, one, sizes_after], axis=0)
        return SparseTensor(indices, sp_input.values, new_shape)


def eye(num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None) -> SparseTensor:
    """Return a sparse matrix with ones on its diagonal.

    Args:
        num_rows: The number of rows.
        num_columns: The number of columns; by default that of rows.
        dtype: The dtype of the values.
        name: Name of the scope.
    """
    with name_scope(name, "eye"):
        rows = _int64(num_rows, "num_rows")
        columns = rows if num_columns is None else _int64(num_columns, "num_columns")
        size = minimum(rows, columns)
        diagonal = range_(size, dtype=dtypes.int64)
        indices = stack([diagonal, diagonal], axis=1)
        return SparseTensor(indices, ones(size, dtype=dtype), [rows, columns])


def _int64(value: Any, name: str) -> Tensor:
    if isinstance(value, numbers.Integral):
        return convert_to_tensor(value, dtypes.int64, name=name)
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be an integer value")
    return value if value.dtype == dtypes.int64 else cast(value, dtypes.int64)


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
