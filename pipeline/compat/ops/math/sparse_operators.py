"""A SparseTensor times or divided by a dense tensor, which is broadcast to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import ANY_NUMBER
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.errors import invalid, show

_DEFINITION = f"sp_indices:int64 sp_values:T({','.join(ANY_NUMBER)}) sp_shape:int64 dense:T"


def times(sparse: SparseTensor, dense: Any, scope: str) -> SparseTensor:
    """Return each element multiplied by that of a dense tensor."""
    dense = convert_to_tensor(dense, sparse.dtype.base_dtype, name="y")
    return _with_dense("SparseDenseCwiseMul", sparse, sparse.values, dense, _kernel(np.multiply), scope)


def _multiply(sparse: SparseTensor, dense: Any) -> SparseTensor:
    with name_scope(None, "mul", [sparse.indices, sparse.values, sparse.dense_shape, dense]) as scope:
        return times(sparse, dense, scope)


def _divide(sparse: SparseTensor, dense: Any) -> SparseTensor:
    with name_scope(None, "truediv", [sparse.indices, sparse.values, sparse.dense_shape, dense]) as scope:
        values = sparse.values
        dense = convert_to_tensor(dense, values.dtype.base_dtype, name="y")
        if values.dtype.is_integer:
            wide = dtypes.float64 if values.dtype.base_dtype.size >= 4 else dtypes.float32
            values, dense = cast_node(values, wide), cast_node(dense, wide)
        return _with_dense("SparseDenseCwiseDiv", sparse, values, dense, _kernel(np.divide), scope)


def _with_dense(
    op_type: str, sparse: SparseTensor, values: Tensor, dense: Any, kernel: Callable[..., Any], scope: str
) -> SparseTensor:
    def rule(indices: Tensor, values: Tensor, *_: Tensor) -> Any:
        sizes = indices.shape.sizes
        return [(values.dtype.base_dtype, [sizes[0] if sizes else None])]

    inputs = [sparse.indices, values, sparse.dense_shape, dense]
    made = op(op_type, _DEFINITION, inputs, rule, kernel, scope).outputs[0]
    return SparseTensor(sparse.indices, made, sparse.dense_shape)


def _kernel(function: Any) -> Callable[..., Any]:
    def kernel(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        dense, sizes = np.asarray(dense), tuple(shape.tolist())
        try:
            whole = np.broadcast_to(dense, sizes)
        except ValueError:
            text = "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes"
            raise invalid(f"{text}: {show(sizes)} vs. {show(dense.shape)}") from None
        if ((indices < 0) | (indices >= shape)).any():
            raise invalid(f"an index of the sparse tensor is out of the bounds of its shape {show(sizes)}")
        with np.errstate(all="ignore"):
            return function(values, whole[tuple(indices.T)])

    return kernel


def attach() -> None:
    """Give SparseTensor its operators."""
    for name, method in (("__mul__", _multiply), ("__truediv__", _divide), ("__div__", _divide)):
        setattr(SparseTensor, name, method)
