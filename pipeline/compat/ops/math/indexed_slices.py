"""IndexedSlices as tensors: whoever has the class can convert its instances."""

from __future__ import annotations

from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.math.segments import unsorted_segment_sum
from pipeline.compat.values.convert import register_tensor_conversion_function
from pipeline.compat.values.sparse_tensor import IndexedSlices

__all__ = ["IndexedSlices"]


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


register_tensor_conversion_function(IndexedSlices, _to_tensor)
