"""What the string ops have in common: typed inputs, elementwise kernels on bytes, checked attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import fixed_input


def text(value: Any, argument: str, op_type: str) -> Tensor:
    """The tensor for an argument of strings; TypeError for one of another dtype."""
    return fixed_input(op_type, argument, value, string)


def one_of(value: Any, values: Sequence[str], attr: str, op_type: str) -> str:
    """A string attribute; ValueError for one that is not in the list."""
    text = plain(value, attr)
    if text not in values:
        listed = ", ".join(f'"{one}"' for one in values)
        raise ValueError(f"Attr '{attr}' of '{op_type}' Op passed string '{text}' not in: {listed}.")
    return text


def plain(value: Any, attr: str) -> str:
    """A string attribute; TypeError for what is no string."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{attr}' not {value!r}.")
    return value


def encoded(value: Any) -> bytes:
    """The bytes of a string attribute."""
    return value if isinstance(value, bytes) else plain(value, "").encode("utf-8", "surrogateescape")


def each(function: Callable[[bytes], Any], values: Any, dtype: Any = object) -> Any:
    """The function of every element; `dtype` is that of the results."""
    if isinstance(values, bytes):
        result = function(values)
        return result if dtype is object else np.dtype(dtype).type(result)
    results = np.empty(values.shape, dtype)
    if values.size:
        results.ravel()[:] = objects(list(map(function, values.ravel().tolist())), dtype)
    return results


def objects(values: Sequence[Any], dtype: Any = object) -> np.ndarray[Any, Any]:
    """A vector of the values, which are not looked into."""
    array = np.empty(len(values), dtype)
    if len(values):
        array[:] = values
    return array


def scalar_or(array: np.ndarray[Any, Any]) -> Any:
    """What a kernel returns for an array of strings: a scalar's own bytes."""
    return array.item() if array.ndim == 0 else array


def one_or_all(values: list[Any]) -> Any:
    """What the kernel of an op with a variable number of outputs returns: the value itself if there is one."""
    return values[0] if len(values) == 1 else values


def unary(
    op_type: str,
    value: Any,
    function: Callable[[bytes], Any],
    name: str | None,
    dtype: DType = string,
    argument: str = "input",
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """The op of one input that maps each string, as the generated wrappers of TensorFlow make it."""
    with name_scope(name, op_type) as scope:
        tensor = text(value, argument, op_type)

        def kernel(values: Any) -> Any:
            return each(function, values, dtype.np)

        return tensor_node(op_type, [tensor], kernel, dtype, tensor.shape, name=scope, attrs=attrs or {}, rows=True)


def with_rank(tensor: Tensor, rank: int) -> Tensor:
    """The tensor, whose rank is checked as far as it is known; ValueError."""
    if tensor.shape.ndims not in (None, rank):
        raise ValueError(f"Shape must be rank {rank} but is rank {tensor.shape.ndims}")
    return tensor


def at_most_rank(tensor: Tensor, rank: int) -> Tensor:
    """As `with_rank`, for a rank that is the highest one."""
    if tensor.shape.ndims is not None and tensor.shape.ndims > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {tensor.shape.ndims}")
    return tensor
