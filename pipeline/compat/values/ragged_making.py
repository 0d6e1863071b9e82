"""What the factory methods of RaggedTensor compute: row splits out of lengths, starts and rows, and out of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import ragged
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value


def partition(name: str, value: Any, values: Any) -> Tensor:
    """Return a row partition as a vector of int32 or int64, by default of the dtype of ragged `values`.

    Raises:
        ValueError: It has another dtype or rank, or another dtype than the partitions of `values`.
    """
    given = None if isinstance(values, Tensor) else values.row_splits.dtype
    if isinstance(value, np.ndarray) and value.dtype == np.int32:
        tensor = convert_to_tensor(value, name=name)
    else:
        tensor = convert_to_tensor(value, preferred_dtype=given or dtypes.int64, name=name)
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64")
    if given is not None and tensor.dtype != given:
        raise ValueError(f"{name} must have the dtype of the row splits of `values` ({tensor.dtype} vs. {given}).")
    tensor.shape.assert_has_rank(1)
    return tensor


def nvals(values: Any, dtype: DType) -> Tensor:
    """Return the number of values that rows are made of, a scalar."""
    if not isinstance(values, Tensor):
        return values.nrows(out_type=dtype)  # type: ignore[no-any-return]
    size = None if values.shape.ndims is None else values.shape.sizes[0]  # type: ignore[index]
    if size is not None:
        return constant(size, dtype, name="nvals")
    count = dtype.np.type
    return tensor_node("NumValues", [values], lambda each: count(len(each)), dtype, [], "nvals")


def splits(source: str, parts: Sequence[Tensor], kernel: Callable[..., Any], count: int | None) -> Tensor:
    """Return row splits; at run time InvalidArgumentError if they do not fit the values.

    Args:
        source: The factory method, for the error.
        parts: The row partition, the number of values, and further tensors.
        kernel: Computes the splits from them.
        count: The number of splits, if it is known.
    """

    def checked(first: Any, nvals: Any, *rest: Any) -> Any:
        return ragged.check(kernel(first, nvals, *rest), nvals, source)

    made = tensor_node("RowSplits", parts, checked, parts[0].dtype, [count])
    known = constant_value(made)
    if known is not None:
        made.set_shape([len(known)])
    return made


def from_tensor(cls: Any, tensor: Tensor, lengths: Any, padding: Any, ragged_rank: int, dtype: DType) -> Any:
    """Make a RaggedTensor of the class `cls` of a tensor; arguments and errors as in `RaggedTensor.from_tensor`."""
    sizes = tensor.shape.with_rank_at_least(ragged_rank + 1).sizes
    if sizes is None:
        raise ValueError("The rank of `tensor` must be known.")
    if ragged_rank > 1:
        made = from_tensor(cls, _merged(tensor, ragged_rank), lengths, padding, 1, dtype)
        for axis in range(ragged_rank - 1, 0, -1):
            made = _uniform(cls, tensor, made, axis, dtype)
        return made
    if lengths is None and padding is None:
        return _uniform(cls, tensor, _merged(tensor, 2), 1, dtype)
    if lengths is None:
        pad = convert_to_tensor(padding, tensor.dtype, name="padding")
        counts = tensor_node("PaddedLengths", [tensor, pad], ragged.lengths_before, dtypes.int64, [sizes[0]])
    else:
        counts = convert_to_tensor(lengths, preferred_dtype=dtype, name="lengths")
        counts.shape.assert_has_rank(1)

    def kernel(rows: Any, counts: Any) -> list[Any]:
        return ragged.from_dense(rows, counts, dtype.np)

    outputs = [(dtype, [None if sizes[0] is None else sizes[0] + 1]), (tensor.dtype.base_dtype, [None, *sizes[2:]])]
    made, values = node("RaggedFromDense", [tensor, counts], outputs, kernel).outputs
    return cls._of(values, made)


def _merged(tensor: Tensor, axes: int) -> Tensor:
    """Return the tensor with its first axes made one."""
    sizes = tensor.shape.sizes or ()
    first = None if None in sizes[:axes] else int(np.prod([each or 0 for each in sizes[:axes]]))

    def kernel(value: Any) -> Any:
        return value.reshape(int(np.prod(value.shape[:axes])), *value.shape[axes:])

    return tensor_node("Reshape", [tensor], kernel, tensor.dtype.base_dtype, [first, *sizes[axes:]])


def _uniform(cls: Any, tensor: Tensor, values: Any, axis: int, dtype: DType) -> Any:
    """Split values into rows as long as an axis of a tensor, whose axes before are their number."""
    sizes = tensor.shape.sizes or ()
    number = dtype.np.type
    before = None if None in sizes[:axis] else int(np.prod([each or 0 for each in sizes[:axis]]))

    def kernel(value: Any) -> Any:
        return np.arange(int(np.prod(value.shape[:axis])) + 1, dtype=number) * number(value.shape[axis])

    made = tensor_node("UniformSplits", [tensor], kernel, dtype, [None if before is None else before + 1])
    return cls._of(values, made, sizes[axis])


def as_splits_dtype(dtype: Any) -> DType:
    """Return a DType of row splits; ValueError if it is neither int32 nor int64."""
    found = as_dtype(dtype)
    if found not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Argument `row_splits` dtype must be int32 or int64. Received {found}.")
    return found
