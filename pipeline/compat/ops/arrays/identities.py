"""Operations that pass their inputs on."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import same_shape, tensor_op
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.decode.example.features import SparseTensorValue


def _same(value: Any) -> Any:
    return value


def _pass(op_type: str, input: Any, name: str | None, attrs: dict[str, Any] | None = None) -> Tensor:
    return tensor_op(op_type, "input:T", [input], same_shape, _same, name, attrs, rows=True)


def identity(input: Any, name: str | None = None) -> Any:
    """Return a tensor, or sparse tensor, with the same values: a new op."""
    if isinstance(input, (SparseTensor, SparseTensorValue)):
        parts = [_pass("Identity", part, name) for part in (input.indices, input.values, input.dense_shape)]
        return SparseTensor(*parts)
    return _pass("Identity", input, name)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Return tensors with the same values as those of a list, whatever their dtypes: one op."""
    from pipeline.compat.graph.node import node
    from pipeline.compat.graph.scopes import name_scope
    from pipeline.compat.values.convert import convert_n

    if not isinstance(input, (list, tuple)):
        raise TypeError(f"Expected list for 'input' argument to 'IdentityN' Op, not {input!r}.")
    with name_scope(name, "IdentityN") as scope:
        tensors = convert_n(input, name="input")
        outputs = [(tensor.dtype.base_dtype, tensor.shape) for tensor in tensors]
        attrs = {"T": [dtype for dtype, _ in outputs]}
        kernel = _same if len(tensors) == 1 else _all
        return node("IdentityN", tensors, outputs, kernel, name=scope, attrs=attrs).outputs


def _all(*values: Any) -> Any:
    return values


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the same values; there are no gradients to stop."""
    return _pass("StopGradient", input, name)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """Return a tensor with the same values; `message` is what an attempt at a gradient would say."""
    return _pass("PreventGradient", input, name, {"message": message.encode()})


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the same values, which the caller promises not to change."""
    return _pass("GuaranteeConst", input, name)
