"""IndexedSlices as tensors: whoever has the class can convert its instances."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.math.segments import unsorted_segment_sum
from pipeline.compat.values.convert import convert_to_tensor, register_tensor_conversion_function
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor

__all__ = ["IndexedSlices", "convert_to_tensor_or_indexed_slices"]


def _to_tensor(value: IndexedSlices, dtype: DType | None, name: str | None, as_ref: bool) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible tensor conversion requested to `dtype` {dtype.name} for IndexedSlices ({value}) with dtype "
            f"{value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices for argument `value` without dense_shape: {value}"
        )
    dense: Tensor = unsorted_segment_sum(value.values, value.indices, value.dense_shape[0], name=name)
    return dense


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return `value` as a tensor; IndexedSlices and SparseTensors stay what they are.

    Raises:
        ValueError: It has another dtype.
    """
    if not isinstance(value, (IndexedSlices, SparseTensor, Tensor)):
        return convert_to_tensor(value, dtype=dtype, name=name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible tensor conversion requested to `dtype` {as_dtype(dtype).name} for `value` ({value}) with "
            f"dtype {value.dtype.name}."
        )
    return value


register_tensor_conversion_function(IndexedSlices, _to_tensor)
