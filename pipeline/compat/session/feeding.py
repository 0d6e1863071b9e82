"""feed_dict: checks fed values, and converts them for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.constants import to_array
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def fed(graph: Any, feed_dict: Any) -> dict[Tensor, Any]:
    """Return the value for each tensor in `feed_dict`.

    Raises:
        TypeError: A key is not a tensor, or a value is one; a value cannot be converted to the tensor's dtype.
        ValueError: A value's shape does not fit, or a tensor must not be fed.
    """
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"feed_dict must be a dict, not {type(feed_dict).__name__}")
    result: dict[Tensor, Any] = {}
    for key, value in feed_dict.items():
        for tensor, part in _parts(graph, key, value):
            if isinstance(part, Tensor):
                raise TypeError(
                    "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                    f"strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {part} "
                    f"which was passed to the argument `feed_dict` with key {key}."
                )
            if not graph.is_feedable(tensor):
                raise ValueError(f"Tensor {tensor.name} may not be fed.")
            result[tensor] = as_value(tensor, part)
    return result


def _parts(graph: Any, key: Any, value: Any) -> list[tuple[Tensor, Any]]:
    if isinstance(key, SparseTensor):
        return list(zip((key.indices, key.values, key.dense_shape), value, strict=True))
    if isinstance(key, IndexedSlices):
        tensors = [key.values, key.indices, *([] if key.dense_shape is None else [key.dense_shape])]
        return list(zip(tensors, value, strict=False))
    if isinstance(key, (list, tuple)) and not hasattr(key, "_as_graph_element"):
        return [part for one, each in zip(key, value, strict=True) for part in _parts(graph, one, each)]
    try:
        return [(graph.as_graph_element(key, allow_operation=False), value)]
    except (TypeError, ValueError, KeyError) as error:
        text = error.args[0] if error.args else error
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None


def as_value(tensor: Tensor, value: Any) -> Any:
    """Return `value` as the value of `tensor`: a read-only array, or a scalar."""
    dtype = tensor.dtype.base_dtype
    if dtype is dtypes.string:
        array = to_array(value, dtype)
    elif dtype.is_numpy_compatible:
        array = _array(dtype, value)
    else:
        return value
    sizes = tensor._shape.sizes
    if sizes != array.shape and not tensor._shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {tensor._shape}"
        )
    if not array.ndim:
        return array[()]
    array = array.view()
    array.flags.writeable = False
    return array


def as_array(tensor: Any, value: Any) -> Any:
    """Return a fed value as a run returns it: an array, even for a scalar."""
    return np.asarray(value, tensor.dtype.base_dtype.np)


def _array(dtype: Any, value: Any) -> Any:
    if type(value) is int and dtype.is_integer and not dtype.min <= value <= dtype.max:
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {dtype.np}. Try "
            "explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
        )
    return np.asarray(value, dtype.np)
