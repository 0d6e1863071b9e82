"""Helpers for string ops: string inputs, checked attributes, kernels that map each string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.opdef import check_rank


def text(value: Any, argument: str, op_type: str) -> Tensor:
    """Return an argument as a string tensor; TypeError if it has another dtype."""
    return fixed_input(op_type, argument, value, string)


def one_of(value: Any, values: Sequence[str], attr: str, op_type: str) -> str:
    """Return a string attribute; ValueError if it is not in `values`."""
    text = plain(value, attr)
    if text not in values:
        listed = ", ".join(f'"{one}"' for one in values)
        raise ValueError(f"Attr '{attr}' of '{op_type}' Op passed string '{text}' not in: {listed}.")
    return text


def plain(value: Any, attr: str) -> str:
    """Return a string attribute as str; TypeError if it is not a string."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{attr}' not {value!r}.")
    return value


def encoded(value: Any) -> bytes:
    """Return a string attribute as bytes."""
    return value if isinstance(value, bytes) else plain(value, "").encode("utf-8", "surrogateescape")


def map_strings(function: Callable[[bytes], Any], values: Any, dtype: Any = object) -> Any:
    """Apply a function to each string; `dtype` is the dtype of the results."""
    if isinstance(values, bytes):
        result = function(values)
        return result if dtype is object else np.dtype(dtype).type(result)
    results = np.empty(values.shape, dtype)
    if values.size:
        results.ravel()[:] = objects(list(map(function, values.ravel().tolist())), dtype)
    return results


def objects(values: Sequence[Any], dtype: Any = object) -> np.ndarray[Any, Any]:
    """Return a vector with one element per value, even if the values are sequences."""
    array = np.empty(len(values), dtype)
    if len(values):
        array[:] = values
    return array


def scalar_or(array: np.ndarray[Any, Any]) -> Any:
    """Return a string array, or its bytes if it has no axes, as kernels return strings."""
    return array.item() if array.ndim == 0 else array


def one_or_all(values: list[Any]) -> Any:
    """Return a list of outputs, or a single output itself, as kernels return outputs."""
    return values[0] if len(values) == 1 else values


def string_op(
    op_type: str,
    value: Any,
    function: Callable[[bytes], Any],
    name: str | None,
    dtype: DType = string,
    argument: str = "input",
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """Make an op with one input that maps each string."""
    with name_scope(name, op_type, [value]) as scope:
        tensor = text(value, argument, op_type)

        def kernel(values: Any) -> Any:
            return map_strings(function, values, dtype.np)

        return tensor_node(op_type, [tensor], kernel, dtype, tensor.shape, name=scope, attrs=attrs or {}, rows=True)


def with_rank(tensor: Tensor, rank: int) -> Tensor:
    """Return the tensor; ValueError if it is known to have another rank."""
    check_rank(tensor, rank)
    return tensor


def at_most_rank(tensor: Tensor, rank: int) -> Tensor:
    """Return the tensor; ValueError if it is known to have a higher rank."""
    if tensor.shape.ndims is not None and tensor.shape.ndims > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {tensor.shape.ndims}")
    return tensor
