"""identity and stop_gradient: ops that return their input."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import same_shape, tensor_op
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.decode.example.sparse_value import SparseTensorValue


def _same(value: Any) -> Any:
    return value


def _pass(op_type: str, input: Any, name: str | None, attrs: dict[str, Any] | None = None) -> Tensor:
    return tensor_op(op_type, "input:T", [input], same_shape, _same, name, attrs, rows=True)


def identity(input: Any, name: str | None = None) -> Any:
    """Return a tensor, or sparse tensor, with the same values from a new op."""
    if isinstance(input, (SparseTensor, SparseTensorValue)):
        parts = [_pass("Identity", part, name) for part in (input.indices, input.values, input.dense_shape)]
        return SparseTensor(*parts)
    return _pass("Identity", input, name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the same values. There are no gradients to stop."""
    return _pass("StopGradient", input, name)
