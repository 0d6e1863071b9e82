"""Arithmetic on sparse tensors: add, maximum, minimum, reductions, matrix product, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import broadcast_static_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.sparse import flat, order
from pipeline.compat.ops.arrays.arranging import transpose
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import rank as rank_op
from pipeline.compat.ops.making.inputs import ANY_NUMBER, REALS, renamed
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.ops.sparse.form import as_sparse, parts_of, rank_of
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor, is_sparse
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid

_NUMBER = f"T({','.join(ANY_NUMBER)})"
_REAL = f"T({','.join(REALS)})"


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Add two tensors of the same shape, at least one of which is sparse.

    Args:
        a: A SparseTensor or a dense tensor.
        b: A SparseTensor or a dense tensor.
        threshold: If both are sparse, sums with a smaller absolute value are left out.
        thresh: Old name of `threshold`.

    Returns:
        A SparseTensor if both are sparse, else a dense tensor.
    """
    threshold = renamed("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (is_sparse(a) and is_sparse(b)):
        return _add_dense(a, b) if is_sparse(a) else _add_dense(b, a)
    a, b = as_sparse(a), as_sparse(b)
    threshold = convert_to_tensor(threshold, a.values.dtype.base_dtype.real_dtype, name="threshold")
    rank = rank_of(a)
    made = op(
        "SparseAdd",
        f"a_indices:int64 a_values:{_NUMBER} a_shape:int64 b_indices:int64 b_values:T b_shape:int64 "
        f"thresh:Treal({','.join(REALS)})",
        [*parts_of(a), *parts_of(b), threshold],
        lambda *t: [(dtypes.int64, [None, rank]), (t[1].dtype.base_dtype, [None]), (dtypes.int64, [rank])],
        _add,
    )
    a.get_shape().assert_is_compatible_with(b.get_shape())
    known = broadcast_static_shape(a.get_shape(), b.get_shape())
    shape: Any = known.as_list() if known.is_fully_defined() else made.outputs[2]
    return SparseTensor(made.outputs[0], made.outputs[1], shape)


def _add(ai: Any, av: Any, shape: Any, bi: Any, bv: Any, other: Any, threshold: Any) -> list[Any]:
    _same_shape(shape, other, "Operands' shapes do not match: got {} and {} for dimension {}")
    indices, left, right = _aligned(ai, av, bi, bv)
    sums = left + right
    kept = np.abs(sums) >= threshold
    return [indices[kept], sums[kept], shape]


def _same_shape(a: Any, b: Any, text: str) -> None:
    if len(a) != len(b):
        raise invalid(f"Ranks of input tensors must match, but saw ranks: {len(a)} and {len(b)}")
    for axis, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if x != y:
            raise invalid(text.format(x, y, axis))


def _aligned(ai: Any, av: Any, bi: Any, bv: Any) -> Any:
    """The sorted indices of both, and the values of each there, zero where it has none."""
    together = np.concatenate([ai, bi])
    by = order(together)
    rows = together[by]
    fresh = _differs_from_last(rows)
    places = np.empty(len(by), np.int64)
    places[by] = np.cumsum(fresh) - 1
    indices = rows[fresh]
    left, right = np.zeros(len(indices), av.dtype), np.zeros(len(indices), av.dtype)
    left[places[: len(ai)]] = av
    right[places[len(ai) :]] = bv
    return indices, left, right


def _differs_from_last(rows: Any) -> Any:
    """For each row whether it differs from the one before it; true for the first."""
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return fresh


def _add_dense(a: Any, b: Any) -> Tensor:
    sparse = as_sparse(a)
    made = op(
        "SparseTensorDenseAdd",
        f"a_indices:Tindices(int32,int64) a_values:{_NUMBER} a_shape:Tindices b:T",
        [*parts_of(sparse), b],
        lambda *t: [(t[1].dtype.base_dtype, t[3].shape)],
        _kernel_add_dense,
    )
    return made.outputs[0]


def _kernel_add_dense(indices: Any, values: Any, shape: Any, b: Any) -> Any:
    if len(shape) != b.ndim:
        raise invalid(f"Two operands have different ranks: {len(shape)} vs {b.ndim}")
    text = "Dimension {2} does not equal (no broadcasting is supported): sparse side {0} vs dense side {1}"
    _same_shape(shape, np.array(b.shape), text)
    if ((indices < 0) | (indices >= shape)).any():
        raise invalid("Sparse tensor has some invalid index on a dimension: index out of bounds")
    result = b.copy()
    np.add.at(result, tuple(indices.T), values)
    return result


# Reductions


def _reduce(op_type: str, sparse: Any, axis: Any, keepdims: bool, to_sparse: bool, name: str | None = None) -> Any:
    values = _REAL if "Max" in op_type else _NUMBER
    maximum = "Max" in op_type
    keep = bool(keepdims)

    def rule(indices: Tensor, given: Tensor, shape: Tensor, axes: Tensor) -> Any:
        dtype = given.dtype.base_dtype
        if to_sparse:
            return [(dtypes.int64, None), (dtype, None), (dtypes.int64, None)]
        known, which = constant_value(shape), constant_value(axes)
        if known is None or which is None:
            return [(dtype, None)]
        gone = {int(each) % max(len(known), 1) for each in np.ravel(which)}
        sizes = [1 if i in gone else size for i, size in enumerate(map(int, known)) if keep or i not in gone]
        return [(dtype, sizes)]

    def kernel(indices: Any, given: Any, shape: Any, axes: Any) -> Any:
        return _reduced(indices, given, shape, axes, keep, maximum, to_sparse)

    return op(
        op_type,
        f"input_indices:int64 input_values:{values} input_shape:int64 reduction_axes:int32",
        [*parts_of(sparse), _axes(sparse, axis)],
        rule,
        kernel,
        name,
        {"keep_dims": keep},
    )


def _axes(sparse: SparseTensor, axis: Any) -> Any:
    """The axes; if none are given, all axes, made with the same ops as in TensorFlow."""
    if axis is not None:
        return axis
    rank = sparse.shape.ndims
    if rank:
        return constant(np.arange(rank, dtype=np.int32))

    return range_(0, rank_op(sparse))


def _reduced(indices: Any, values: Any, shape: Any, axes: Any, keep: bool, maximum: bool, to_sparse: bool) -> Any:
    rank = len(shape)
    for each in np.ravel(axes).tolist():
        if not -rank <= each < rank:
            raise invalid(f"Invalid reduction dimension {each}, for input with {rank} dimensions.")
    gone = {int(each) % rank for each in np.ravel(axes)}
    kept = [i for i in range(rank) if i not in gone]
    places = indices[:, kept]
    by = order(places)
    rows, sorted_values = places[by], values[by]
    starts = np.flatnonzero(_differs_from_last(rows))
    combine = np.maximum if maximum else np.add
    found = combine.reduceat(sorted_values, starts) if len(starts) else sorted_values[:0]
    found = np.asarray(found, values.dtype)
    out = rows[starts]
    full = np.array([1 if i in gone else size for i, size in enumerate(shape.tolist())], np.int64)
    if to_sparse:
        if keep:
            wide = np.zeros((len(out), rank), np.int64)
            wide[:, kept] = out
            return [wide, found, full]
        return [out, found, shape[kept]]
    result = np.zeros(tuple(shape[kept].tolist()), values.dtype)
    result[tuple(out.T)] = found if kept else (found[0] if len(found) else 0)
    return result.reshape(full.tolist()) if keep else result


def sparse_reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """Return the sums of a sparse tensor along axes as a dense tensor.

    Args:
        sp_input: A SparseTensor.
        axis: An axis or a list of axes; all by default.
        keepdims: Keep the reduced axes with size 1.
        reduction_axes: Old name of `axis`.
        keep_dims: Old name of `keepdims`.
    """
    axis, keepdims = _old(axis, keepdims, reduction_axes, keep_dims)
    return _reduce("SparseReduceSum", sp_input, axis, keepdims, False).outputs[0]  # type: ignore[no-any-return]


def sparse_reduce_sum_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """As `sparse_reduce_sum`, but return a SparseTensor."""
    axis, keepdims = _old(axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*_reduce("SparseReduceSumSparse", sp_input, axis, keepdims, True).outputs)


def sparse_reduce_max(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """Return the largest values along axes, 0 where there are none; arguments as `sparse_reduce_sum`."""
    axis, keepdims = _old(axis, keepdims, reduction_axes, keep_dims)
    return _reduce("SparseReduceMax", sp_input, axis, keepdims, False).outputs[0]  # type: ignore[no-any-return]


def sparse_reduce_max_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """As `sparse_reduce_max`, but return a SparseTensor."""
    axis, keepdims = _old(axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*_reduce("SparseReduceMaxSparse", sp_input, axis, keepdims, True).outputs)


def _old(axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any) -> tuple[Any, bool]:
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    return renamed("axis", axis, "reduction_axes", reduction_axes), bool(keepdims)


# Products


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """Return the dense product of a sparse and a dense matrix.

    Args:
        sp_a: The first matrix.
        b: The second matrix; one of the two must be sparse.
        adjoint_a: Use the conjugate transpose of the first.
        adjoint_b: Use the conjugate transpose of the second.
        name: Name of the scope.
    """
    if is_sparse(b):
        if adjoint_a != adjoint_b:
            return transpose(sparse_tensor_dense_matmul(b, sp_a, adjoint_a, adjoint_b))
        return transpose(sparse_tensor_dense_matmul(b, sp_a, adjoint_a=not adjoint_a, adjoint_b=not adjoint_b))
    sparse = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sparse.indices, sparse.values]):
        b = convert_to_tensor(b, name="b")

        def rule(indices: Tensor, values: Tensor, shape: Tensor, given: Tensor) -> Any:
            left = constant_value_as_shape(shape).with_rank(2).sizes or (None, None)
            right = given.shape.with_rank(2).sizes or (None, None)
            rows, inner = left[::-1] if adjoint_a else left
            other, columns = right[::-1] if adjoint_b else right
            if inner is not None and other is not None and inner != other:
                raise ValueError(f"Dimensions must be equal, but are {inner} and {other}")
            return [(values.dtype.base_dtype, [rows, columns])]

        made = op(
            "SparseTensorDenseMatMul",
            "a_indices:Tindices(int32,int64) a_values:T a_shape:int64 b:T",
            [*parts_of(sparse), b],
            rule,
            lambda i, v, shape, b: _product(i, v, shape, b, adjoint_a, adjoint_b),
            None,
            {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b},
        )
        return made.outputs[0]


def _product(indices: Any, values: Any, shape: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    if len(shape) != 2:
        raise invalid("Tensor 'a_shape' must have 2 elements")
    rows, columns = indices[:, 0], indices[:, 1]
    sizes = shape.tolist()
    if adjoint_a:
        rows, columns, sizes, values = columns, rows, sizes[::-1], np.conj(values)
    if adjoint_b:
        b = np.conj(b.T)
    if sizes[1] != b.shape[0]:
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {sizes[1]} vs. {b.shape[0]}.  Did you "
            "forget a transpose?  Dimensions of A: [{}, {})".format(*shape.tolist())
        )
    for letter, given, limit, column in (("k", columns, sizes[1], 1), ("m", rows, sizes[0], 0)):
        outside = (given < 0) | (given >= limit)
        if outside.any():
            n = int(outside.argmax())
            at = 1 - column if adjoint_a else column
            raise invalid(f"{letter} ({given[n]}) from index[{n},{at}] out of bounds (>={limit})")
    result = np.zeros((sizes[0], b.shape[1]), b.dtype)
    np.add.at(result, rows, values[:, None] * b[columns])
    return result


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the larger of the values of two sparse tensors at each index; a missing value counts as 0."""
    return _compared("SparseSparseMaximum", np.maximum, sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the smaller of the values of two sparse tensors at each index; a missing value counts as 0."""
    return _compared("SparseSparseMinimum", np.minimum, sp_a, sp_b, name)


def _compared(op_type: str, function: Any, a: SparseTensor, b: SparseTensor, name: str | None) -> SparseTensor:
    def kernel(ai: Any, av: Any, shape: Any, bi: Any, bv: Any, other: Any) -> Any:
        _same_shape(shape, other, "Operands' shapes do not match: got {} and {} for dimension {}")
        indices, left, right = _aligned(ai, av, bi, bv)
        return [indices, function(left, right)]

    kind = _REAL if "Max" in op_type else _NUMBER
    with name_scope(name, op_type) as scope:
        made = op(
            op_type,
            f"a_indices:int64 a_values:{kind} a_shape:int64 b_indices:int64 b_values:T b_shape:int64",
            [*parts_of(a), *parts_of(b)],
            lambda *t: [(dtypes.int64, [None, None]), (t[1].dtype.base_dtype, [None])],
            kernel,
            scope,
        )
    return SparseTensor(made.outputs[0], made.outputs[1], a.dense_shape)


def sparse_softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the softmax along the last axis, over the values that are present."""
    with name_scope(name, "SparseSoftmax"):
        made = op(
            "SparseSoftmax",
            "sp_indices:int64 sp_values:T(float16,float32,float64) sp_shape:int64",
            parts_of(sp_input),
            lambda indices, values, shape: [(values.dtype.base_dtype, values.shape)],
            _softmax,
        )
        return SparseTensor(sp_input.indices, made.outputs[0], sp_input.dense_shape)


def _softmax(indices: Any, values: Any, shape: Any) -> Any:
    if not len(values):
        return values
    rows = flat(indices[:, :-1], shape[:-1])
    _, which = np.unique(rows, return_inverse=True)
    which = np.reshape(which, -1)
    largest = np.full(which.max() + 1, -np.inf, values.dtype)
    np.maximum.at(largest, which, values)
    powers = np.exp(values - largest[which])
    return np.asarray(powers / np.bincount(which, powers)[which], values.dtype)
