"""Static values: tensor values known before a run, such as constants and shape sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor

# Larger values are not computed during graph construction.
_MOST_ELEMENTS = 1 << 16


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Return a tensor's value if it depends on constants alone, as an array or scalar; None if unknown."""
    if not isinstance(tensor, Tensor):
        return None
    op = tensor.op
    if op.type == "Const":
        return op.attrs["value"]
    if op.type in _KNOWN:
        return _KNOWN[op.type](op)
    if op.stateful or op.kernel is None or not op.inputs:
        return None
    if (tensor.shape.num_elements() or 0) > _MOST_ELEMENTS:
        return None
    values = []
    for each in op.inputs:
        value = constant_value(each)
        if value is None or np.size(value) > _MOST_ELEMENTS:
            return None
        values.append(value)
    try:
        result = op.kernel(*values)
    except Exception:
        return None  # the run reports the error
    return result if len(op.outputs) == 1 else result[tensor.value_index]


# Ops evaluated by TensorFlow's `get_static_value`. Its shape functions, and `constant_value`, evaluate more.
_EVALUATED = frozenset(
    (
        "Const",
        "Shape",
        "Size",
        "Rank",
        "Range",
        "Cast",
        "Concat",
        "ConcatV2",
        "Pack",
        "Unpack",
        "Split",
        "Fill",
        "Equal",
        "NotEqual",
        "StopGradient",
        "Identity",
        "BroadcastTo",
    )
)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return a tensor's value if TensorFlow finds it before a run, as an array; None otherwise.

    Args:
        tensor: The tensor.
        partial: Ignored.
    """
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    value = constant_value(tensor) if _is_simple(tensor) else None
    plain = value is None or tensor.dtype.np.kind == "O" or tensor.op.type in ("Equal", "NotEqual")
    return value if plain else np.asarray(value)


def _is_simple(tensor: Tensor) -> bool:
    op = tensor.op
    if op.type in ("Shape", "Size", "Rank"):
        return True
    return op.type in _EVALUATED and all(_is_simple(each) for each in op.inputs)


def _shape_value(op: Operation) -> Any:
    shape = op.inputs[0].shape
    return np.array(shape.sizes, op.outputs[0].dtype.np) if shape.is_fully_defined() else None


def _size_value(op: Operation) -> Any:
    count = op.inputs[0].shape.num_elements()
    return None if count is None else op.outputs[0].dtype.np.type(count)


def _rank_value(op: Operation) -> Any:
    rank = op.inputs[0].shape.ndims
    return None if rank is None else np.int32(rank)


def _slice_value(op: Operation) -> Any:
    """Evaluate a StridedSlice; part of a shape may be known although the whole is not."""
    values = [constant_value(each) for each in op.inputs]
    if values[0] is None:
        sizes = _sizes(op.inputs[0])
        if sizes is None or any(each is None for each in values[1:]):
            return None
        picked = _picked(op, sizes, values[1:])
        if picked is None:
            return None
        known = picked if isinstance(picked, list) else [picked]
        if any(each is None for each in known):
            return None
        array = np.array(picked, op.outputs[0].dtype.np)
        return array if array.ndim else array[()]
    if any(each is None for each in values) or op.kernel is None:
        return None
    try:
        return op.kernel(*values)
    except Exception:
        return None


_KNOWN: dict[str, Callable[[Operation], Any]] = {
    "Shape": _shape_value,
    "Size": _size_value,
    "Rank": _rank_value,
    "StridedSlice": _slice_value,
}


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """Return the shape in an integer vector, as far as it is known; -1 is an unknown size."""
    if isinstance(tensor, Tensor) and tensor.shape.ndims == 0:
        return unknown_shape()  # a scalar -1
    sizes = _sizes(tensor)
    if sizes is None:
        return unknown_shape()
    if any(each is not None and each < -1 for each in sizes):
        wrong = min(each for each in sizes if each is not None)
        raise ValueError(f"Invalid value in tensor used for shape: {wrong}")
    return TensorShape([None if each == -1 else each for each in sizes])


def static_shape(tensor: Any) -> TensorShape:
    """Return the shape as `constant_value_as_shape` does, with `get_static_value`; any negative size is unknown."""
    sizes = _sizes(tensor, get_static_value)
    if sizes is None:
        return unknown_shape()
    return TensorShape([None if each is None or each < 0 else each for each in sizes])


def _sizes(tensor: Any, evaluate: Callable[[Any], Any] = constant_value) -> list[int | None] | None:
    """Return an integer vector's elements, None for unknown ones; None if their count is unknown."""
    op = tensor.op
    if op.type == "Shape":
        shape = op.inputs[0].shape
        return None if shape.sizes is None else list(shape.sizes)
    if op.type in ("Cast", "Identity"):
        return _sizes(op.inputs[0], evaluate) if op.inputs[0].shape.ndims == 1 else None
    if op.type == "Pack" and tensor.shape.ndims == 1:
        return [_size(evaluate(each)) for each in op.inputs]
    if op.type == "ConcatV2":
        parts = [_sizes(each, evaluate) for each in op.inputs[:-1]]
        return None if None in parts else [size for part in parts for size in part or ()]
    if op.type == "StridedSlice" and tensor.shape.ndims == 1:
        sizes = _sizes(op.inputs[0], evaluate)
        bounds = [evaluate(each) for each in op.inputs[1:]]
        if sizes is not None and all(each is not None for each in bounds):
            picked = _picked(op, sizes, bounds)
            if isinstance(picked, list):
                return picked
    value = evaluate(tensor)
    if value is None or np.ndim(value) != 1:
        return [None] * n if (n := _length(tensor)) is not None else None
    return [int(each) for each in value]


def _length(tensor: Tensor) -> int | None:
    sizes = tensor.shape.sizes
    return sizes[0] if sizes is not None and len(sizes) == 1 else None


def _size(value: Any) -> int | None:
    return None if value is None else int(value)


def _picked(op: Operation, sizes: list[int | None], bounds: list[Any]) -> Any:
    """Return a strided slice's result for a list: a list or one element; None for other slices."""
    if op.attrs.get("new_axis_mask") or op.attrs.get("ellipsis_mask") or any(np.size(each) != 1 for each in bounds):
        return None
    begin, end, step = (int(np.reshape(each, ())) for each in bounds)
    if op.attrs.get("shrink_axis_mask"):
        return sizes[begin] if -len(sizes) <= begin < len(sizes) else None
    first = None if op.attrs.get("begin_mask") else begin
    last = None if op.attrs.get("end_mask") else end
    return sizes[first:last:step]
