"""fill, zeros, ones: tensors of one repeated value."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import reshape, shape_constant, shape_of
from pipeline.compat.ops.making.opdef import INDEX_32, array, check_rank, check_scalar, op, same_shape, tensor_op
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid

# Known shapes with fewer elements become a constant, others a Fill.
_SMALL = 1000


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """Return a tensor with shape `dims` (an int32 or int64 vector), filled with `value` (a scalar)."""

    def rule(dims: Tensor, value: Tensor) -> Any:
        check_rank(dims, 1)
        check_rank(value, 0)
        known = constant_value(dims)
        if known is not None and np.any(np.asarray(known) < 0):
            raise ValueError("Fill dimensions must be >= 0")
        return [(value.dtype.base_dtype, constant_value_as_shape(dims))]

    def kernel(dims: Any, value: Any) -> Any:
        sizes = tuple(np.asarray(dims).tolist())
        if any(size < 0 for size in sizes):
            raise invalid(f"Dimension {min(sizes)} must be >= 0")
        value = array(value)
        check_scalar(value, "value must represent a scalar, got shape {}")
        made = np.empty(sizes, value.dtype)
        made[...] = value[()]
        return made

    return op("Fill", "dims:index_type" + INDEX_32 + " value:T", [dims, value], rule, kernel, name).outputs[0]


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """Return a tensor of zeros; of False for bool, of empty strings for string.

    Args:
        shape: A list, TensorShape, or int32 or int64 vector.
        dtype: Element dtype.
        name: Name of the op.
        layout: Not used.
    """
    kind = as_dtype(dtype).base_dtype
    value = {"b": False, "O": ""}.get(kind.np.kind, 0)
    return _repeated("zeros", shape, kind, value, name)


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """Return a tensor of ones, of True for bool; arguments as in `zeros`."""
    kind = as_dtype(dtype).base_dtype
    return _repeated("ones", shape, kind, True if kind.np.kind == "b" else 1, name)


def _count(shape: Any) -> Any:
    """Return a shape's element count; None if a size is a tensor or unknown."""
    if isinstance(shape, TensorShape):
        return shape.num_elements()
    sizes = [shape] if np.ndim(shape) == 0 and not isinstance(shape, (list, tuple)) else list(shape)
    count = 1
    for size in sizes:
        size = size.value if isinstance(size, Dimension) else size
        if not isinstance(size, (int, float, np.number)):
            return None
        count *= size  # type: ignore[assignment]
    return count


def _repeated(default: str, shape: Any, dtype: DType, value: Any, name: str | None) -> Tensor:
    with name_scope(name, default, [shape]) as scope:
        if not isinstance(shape, Tensor):
            made = _constant_or_none(shape, dtype, value, scope)
            if made is not None:
                return made
            try:
                shape = shape_constant(shape)
            except (TypeError, ValueError):
                shape = convert_to_tensor(shape, dtype=dtypes.int32)
        if not shape.shape.sizes:
            # A scalar, or a shape with unknown rank.
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype), name=scope)


def _constant_or_none(shape: Any, dtype: DType, value: Any, scope: str) -> Tensor | None:
    plain = isinstance(shape, (TensorShape, list, tuple, np.ndarray)) and not isinstance(shape, Tensor)
    if not plain or (isinstance(shape, (list, tuple)) and any(isinstance(size, (list, tuple)) for size in shape)):
        return None
    if isinstance(shape, (list, tuple)) and any(isinstance(size, Tensor) for size in shape):
        return None
    count = _count(shape)
    if count is None or not count < _SMALL:
        return None
    try:
        return constant(value, dtype, shape=shape, name=scope)
    except (TypeError, ValueError, NotImplementedError):
        return None


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Return zeros shaped like `tensor`, with its dtype unless `dtype` is given."""
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined():
            return zeros(tensor.shape, kind, name=scope)
        if kind is not tensor.dtype.base_dtype:
            return zeros(shape_of(tensor, optimize=optimize), kind, name=scope)

        def kernel(value: Any) -> Any:
            value = np.asarray(value)
            made = np.zeros(value.shape, value.dtype)
            if value.dtype == object:
                made[...] = b""
            return made

        return tensor_op("ZerosLike", "x:T", [tensor], same_shape, kernel, scope, rows=True)


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Return ones shaped like `tensor`, with its dtype unless `dtype` is given."""
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        shape = shape_of(tensor, optimize=optimize)
        kind = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        made = ones(shape, kind, name=scope)
        made.set_shape(tensor.shape)
        return made
