"""Sparse tensors as arrays: indices [N, rank], values [N] and dense shape; sorting, reshaping, joining."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.errors import invalid

Parts = tuple[Any, Any, Any]


def listed(numbers: Any) -> str:
    """Return the numbers as text such as [2,3]."""
    return f"[{','.join(map(str, np.ravel(numbers).tolist()))}]"


def order(indices: Any) -> Any:
    """Return the permutation sorting index rows; equal rows keep their order."""
    return np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))


def reorder(indices: Any, values: Any, shape: Any) -> list[Any]:
    """Sort the elements by index."""
    if indices.shape[1] != len(shape):
        raise invalid(f"Input shape has {len(shape)} elements, but indices have {indices.shape[1]} columns")
    by = order(indices)
    return [indices[by], values[by]]


def dense(indices: Any, shape: Any, values: Any, default: Any, validate: bool) -> Any:
    """Return the dense tensor, with `default` where there is no element."""
    if indices.ndim > 2:
        raise invalid(f"sparse_indices should be a scalar, vector, or matrix, got shape {listed(indices.shape)}")
    count = len(indices) if indices.ndim else 1
    rank = indices.shape[1] if indices.ndim == 2 else 1
    if shape.ndim != 1:
        raise invalid(f"output_shape must be rank 1, got shape {listed(shape.shape)}")
    if len(shape) != rank:
        raise invalid(f"output_shape has incorrect number of elements: {len(shape)} should be: {rank}")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != count):
        raise invalid(f"sparse_values has incorrect shape {listed(values.shape)}, should be [] or [{count}]")
    if default.ndim:
        raise invalid("default_value should be a scalar.")
    if len(shape) and shape.min() < 0:
        raise invalid(f"Dimension {shape.min()} must be >= 0")
    rows = indices.reshape(count, rank)
    if validate:
        check_indices(rows, shape)
    elif ((rows < 0) | (rows >= shape)).any():
        raise invalid(f"Indices are not valid (out of bounds).  Shape: {listed(shape)}")
    result = np.full(tuple(shape.tolist()), default[()], values.dtype)
    result[tuple(rows.T)] = values
    return result


def check_indices(rows: Any, shape: Any) -> None:
    """Raise InvalidArgumentError for the first index out of bounds, out of order or repeated."""
    outside = ((rows < 0) | (rows >= shape)).any(axis=1)
    behind = np.zeros(len(rows), bool)
    if len(rows) > 1:
        steps = np.diff(rows, axis=0)
        differs = steps != 0
        first = np.take_along_axis(steps, differs.argmax(axis=1)[:, None], 1)[:, 0] if rows.shape[1] else steps.sum(1)
        behind[1:] = first <= 0
    wrong = outside | behind
    if not wrong.any():
        return
    n = int(wrong.argmax())
    which = f"indices[{n}] = {listed(rows[n])}"
    if outside[n]:
        raise invalid(f"{which} is out of bounds: need 0 <= index < {listed(shape)}")
    if (rows[n] == rows[n - 1]).all():
        raise invalid(f"{which} is repeated")
    raise invalid(
        f"{which} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a "
        "correctly ordered copy."
    )
