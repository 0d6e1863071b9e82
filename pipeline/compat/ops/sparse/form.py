"""Sparse tensors in another form: reordered, reshaped, concatenated, or dense."""

from __future__ import annotations

import math
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import sparse as kernels
from pipeline.compat.ops.arrays.filling import zeros
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.shaping import reshape
from pipeline.compat.ops.making.inputs import renamed
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_max
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.decode.example.sparse_value import SparseTensorValue


def as_sparse(value: Any) -> SparseTensor:
    """Return a SparseTensor or SparseTensorValue as a SparseTensor; TypeError for anything else."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def rank_of(sparse: SparseTensor) -> int | None:
    """The static rank, or None."""
    for sizes in (sparse.indices.shape.sizes, (None, *(sparse.dense_shape.shape.sizes or (None,)))):
        if sizes is not None and sizes[1] is not None:
            return sizes[1]
    return None


def parts_of(sparse: SparseTensor) -> list[Tensor]:
    """Indices, values and dense shape."""
    return [sparse.indices, sparse.values, sparse.dense_shape]


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a dense tensor with values at some indices and a default elsewhere.

    Args:
        sparse_indices: int32 or int64: a scalar, [N], or [N, rank].
        output_shape: The shape of the result.
        sparse_values: [N], or a scalar for all indices.
        default_value: The value at all other indices.
        validate_indices: Check that the indices are sorted and unique.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: the indices do not fit.
    """

    def rule(indices: Tensor, shape: Tensor, values: Tensor, default: Tensor) -> Any:
        check_rank(shape, 1)
        return constant_value_as_shape(shape)

    return op(
        "SparseToDense",
        "sparse_indices:Tindices(int32,int64)=int64 output_shape:Tindices sparse_values:T default_value:T",
        [sparse_indices, output_shape, sparse_values, default_value],
        lambda *tensors: [(tensors[2].dtype.base_dtype, rule(*tensors))],
        lambda indices, shape, values, default: kernels.dense(indices, shape, values, default, validate_indices),
        name,
        {"validate_indices": validate_indices},
    ).outputs[0]


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Convert a sparse tensor to a dense one.

    Args:
        sp_input: A SparseTensor.
        default_value: The value at indices that have none; zero by default.
        validate_indices: Check that the indices are sorted and unique.
        name: Name of the op.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sparse.dtype)
    return sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name)


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Return the same values, sorted by their indices."""
    sparse = as_sparse(sp_input)
    made = op(
        "SparseReorder",
        "input_indices:int64 input_values:T input_shape:int64",
        parts_of(sparse),
        lambda indices, values, shape: [(dtypes.int64, indices.shape), (values.dtype.base_dtype, values.shape)],
        kernels.reorder,
        name,
    )
    if sparse.get_shape().is_fully_defined():
        return SparseTensor(made.outputs[0], made.outputs[1], sparse.get_shape().as_list())
    result = SparseTensor(made.outputs[0], made.outputs[1], identity(sparse.dense_shape))
    result.set_shape(sparse.shape)
    return result


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Return the same values in another shape, of which one size may be -1.

    Raises:
        ValueError: The shape is known not to fit.
        InvalidArgumentError: At run time: the shape does not fit.
    """
    sparse = as_sparse(sp_input)
    shape = cast(shape, dtypes.int64)
    with name_scope(name, "SparseReshape", parts_of(sparse)) as scope:

        def rule(indices: Tensor, old: Tensor, new: Tensor) -> Any:
            rows = (indices.shape.sizes or (None,))[0]
            size = (new.shape.sizes or (None,))[0]
            return [(dtypes.int64, [rows, size]), (dtypes.int64, [size])]

        made = op(
            "SparseReshape",
            "input_indices:int64 input_shape:int64 new_shape:int64",
            [sparse.indices, sparse.dense_shape, shape],
            rule,
            kernels.reshape,
            scope,
        )
        new_shape: Any = made.outputs[1]
        known = _known_reshape(sparse, shape)
        if known is not None:
            new_shape = constant(known, dtypes.int64)
        return SparseTensor(made.outputs[0], identity(sparse.values), new_shape)


def _known_reshape(sparse: SparseTensor, shape: Tensor) -> list[int] | None:
    """The new shape if it is static, else None; ValueError if it does not fit."""
    sizes = constant_value_as_shape(shape).sizes
    if sizes is None or not sparse.shape.is_fully_defined():
        return None
    given = constant_value(shape)
    if given is not None and sum(each == -1 for each in given) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {given}")
    size = math.prod(each for each in sparse.shape.as_list() if each is not None)
    unknown = sizes.count(None)
    if unknown > 1 or (unknown and 0 in sizes):
        return None
    rest = math.prod(each for each in sizes if each is not None)
    found: list[int] = [size // rest if each is None else each for each in sizes]
    total = math.prod(found)
    if total != size:
        raise ValueError(f"Cannot reshape a tensor with {size} elements to shape {list(sizes)} ({total} elements).")
    return found


def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> SparseTensor:
    """Concatenate sparse tensors along an axis.

    Args:
        axis: The axis.
        sp_inputs: A list of SparseTensors.
        name: Name of the op.
        expand_nonconcat_dim: Let sizes along other axes differ; the result has the largest of each.
        concat_dim: Old name of `axis`.
        expand_nonconcat_dims: New name of `expand_nonconcat_dim`.
    """
    if expand_nonconcat_dims is not None:
        expand_nonconcat_dim = expand_nonconcat_dims
    axis = renamed("axis", axis, "concat_dim", concat_dim)
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [as_sparse(each) for each in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes: list[Any] = [each.dense_shape for each in inputs]
    if expand_nonconcat_dim:
        shapes = _expanded(axis, shapes)
    count, along = len(inputs), axis

    def kernel(*values: Any) -> Any:
        parts = list(zip(values[:count], values[count : 2 * count], values[2 * count :], strict=True))
        return kernels.concat(along, parts)

    made = op(
        "SparseConcat",
        "indices:*int64 values:*T shapes:*int64",
        [[each.indices for each in inputs], [each.values for each in inputs], shapes],
        _concat_outputs,
        kernel,
        name,
        {"concat_dim": axis},
    )
    known = _concat_shape(axis, [each.shape for each in inputs], expand_nonconcat_dim)
    if all(each.shape.is_fully_defined() for each in inputs):
        return SparseTensor(made.outputs[0], made.outputs[1], convert_to_tensor(known.as_list(), dtypes.int64))
    result = SparseTensor(*made.outputs)
    result.set_shape(known)
    return result


def _concat_outputs(indices: list[Tensor], values: list[Tensor], sizes: list[Tensor]) -> Any:
    """Dtypes and static shapes of the three outputs; ValueError if the ranks are known to differ."""
    ranks = {each.shape.sizes[1] for each in indices if each.shape.sizes is not None} - {None}
    ranks |= {each.shape.sizes[0] for each in sizes if each.shape.sizes is not None} - {None}
    if len(ranks) > 1:
        first, second = sorted((each for each in ranks if each is not None), reverse=True)[:2]
        raise ValueError(f"Dimensions must be equal, but are {first} and {second}")
    rank = ranks.pop() if ranks else None
    counts = [(each.shape.sizes or (None,))[0] for each in indices]
    total = None if None in counts else sum(each for each in counts if each is not None)
    return [(dtypes.int64, [total, rank]), (values[0].dtype.base_dtype, [total]), (dtypes.int64, [rank])]


def _concat_shape(axis: int, shapes: list[TensorShape], expand: bool) -> TensorShape:
    """The static dense shape of the result."""
    if any(each.sizes is None for each in shapes):
        return unknown_shape()
    sizes = [list(each.sizes or ()) for each in shapes]
    found = list(sizes[0])
    if expand:
        columns = [[each[i] for each in sizes] for i in range(len(found))]
        found = [None if None in each else max(size for size in each if size is not None) for each in columns]
    column = [each[axis] for each in sizes]
    found[axis] = None if None in column else sum(each for each in column if each is not None)
    return TensorShape(found)


def _expanded(axis: int, shapes: list[Any]) -> list[Any]:
    """The dense shapes with the largest size along each axis but `axis`."""
    largest: Any = reduce_max(concat([reshape(each, [1, -1]) for each in shapes], 0), 0)
    found = []
    for shape in shapes:
        before = largest[:axis]
        along = shape[-1:] if axis == -1 else shape[axis : axis + 1]
        found.append(concat([before, along, [] if axis == -1 else largest[axis + 1 :]], 0))
    return found


_REQUIRED: Any = object()
