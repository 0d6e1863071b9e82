"""Convert sparse tensors: reordered, dense, or as indicators."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import sparse as kernels
from pipeline.compat.ops.arrays.filling import zeros
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.shaping import expand_dims
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value_as_shape
from pipeline.decode.example.sparse_value import SparseTensorValue


def as_sparse(value: Any) -> SparseTensor:
    """Return a SparseTensor or SparseTensorValue as a SparseTensor; TypeError for anything else."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def parts_of(sparse: SparseTensor) -> list[Tensor]:
    """Return indices, values and dense shape."""
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
        output_shape: The result's shape.
        sparse_values: [N], or a scalar for all indices.
        default_value: Value at all other indices.
        validate_indices: Check for sorted and unique indices.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if the indices do not fit.
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
        default_value: Value at missing indices; zero by default.
        validate_indices: Check for sorted and unique indices.
        name: Name of the op.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sparse.dtype)
    return sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Return a bool tensor [..., vocab_size] with True where an id occurs.

    Args:
        sp_input: A SparseTensor of ids.
        vocab_size: Number of different ids.
        name: Name of the op.
    """
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input, vocab_size]) as scope:
        indices: Any = sparse.indices
        shape: Any = sparse.dense_shape
        ids = expand_dims(cast(sparse.values, dtypes.int64), axis=1)
        sizes = concat([shape[:-1], [cast(vocab_size, dtypes.int64)]], 0)
        return sparse_to_dense(concat([indices[:, :-1], ids], 1), sizes, True, False, False, scope)


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
