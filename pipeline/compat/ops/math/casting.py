"""cast, to_float and similar functions: convert dtypes."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Return x cast to a dtype; x itself if it already has it.

    Args:
        x: A SparseTensor, IndexedSlices, a tensor or a value convertible to one.
        dtype: The result's DType, or its name.
        name: Name of the op.
    """
    target = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is target:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, target, name=scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, target, name=scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        return x if x.dtype is target else cast_node(x, target, scope)


def to_float(x: Any, name: str | None = "ToFloat") -> Any:
    """Return x cast to float32."""
    return cast(x, dtypes.float32, name=name)


def to_double(x: Any, name: str | None = "ToDouble") -> Any:
    """Return x cast to float64."""
    return cast(x, dtypes.float64, name=name)


def to_int32(x: Any, name: str | None = "ToInt32") -> Any:
    """Return x cast to int32."""
    return cast(x, dtypes.int32, name=name)


def to_int64(x: Any, name: str | None = "ToInt64") -> Any:
    """Return x cast to int64."""
    return cast(x, dtypes.int64, name=name)


def to_bfloat16(x: Any, name: str | None = "ToBFloat16") -> Any:
    """Return x cast to bfloat16."""
    return cast(x, as_dtype("bfloat16"), name=name)
