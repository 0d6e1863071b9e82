"""Sparse tensors as arrays: indices [N, rank], values [N] and dense shape; sorting, reshaping, joining, cutting."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.errors import invalid

Parts = tuple[Any, Any, Any]


def listed(numbers: Any) -> str:
    """Return the numbers as text such as [2,3]."""
    return f"[{','.join(map(str, np.ravel(numbers).tolist()))}]"


def order(indices: Any) -> Any:
    """Return the permutation that sorts indices row by row; equal indices keep their order."""
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
    """InvalidArgumentError for the first index that is out of bounds, out of order or repeated."""
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


def flat(indices: Any, shape: Any) -> Any:
    """Return the position of each index in the flattened dense tensor."""
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
    return indices @ strides if len(shape) else np.zeros(len(indices), np.int64)


def reshape(indices: Any, shape: Any, new_shape: Any) -> list[Any]:
    """Return the indices and the shape after a reshape; one new size may be -1."""
    unknown = np.flatnonzero(new_shape == -1)
    if len(unknown) > 1:
        raise invalid(f"only one output dimension may be -1, not both {unknown[0]} and {unknown[1]}")
    if (new_shape < -1).any():
        which = int((new_shape < -1).argmax())
        raise invalid(f"size {which} must be non-negative, not {new_shape[which]}")
    size = int(np.prod(shape))
    target = new_shape.copy()
    if len(unknown):
        known = int(np.prod(new_shape[new_shape != -1]))
        if known <= 0:
            raise invalid("reshape cannot infer the missing input size for an empty tensor unless all specified input "
                          "sizes are non-zero")  # fmt: skip
        target[unknown[0]] = size // known
        if size % known:
            raise invalid(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape requires a "
                f"multiple of {known}. input_shape={listed(shape)} output_shape={listed(target)}"
            )
    if int(np.prod(target)) != size:
        raise invalid(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has "
            f"{int(np.prod(target))}. input_shape={listed(shape)} output_shape={listed(target)}"
        )
    numbers = flat(indices, shape)
    result = np.empty((len(indices), len(target)), np.int64)
    for axis in range(len(target) - 1, -1, -1):
        numbers, result[:, axis] = np.divmod(numbers, max(int(target[axis]), 1))
    return [result, target]


def concat(axis: int, parts: list[Parts]) -> list[Any]:
    """Concatenate along an axis; the result is sorted."""
    shape = parts[0][2].copy()
    rank = len(shape)
    if not -rank <= axis < rank:
        raise invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {axis}")
    axis %= rank
    shifted, at = [], 0
    for number, (indices, _, size) in enumerate(parts):
        if len(size) != rank:
            raise invalid(f"Ranks of all input tensors must match: expected {rank} but got {len(size)} at position "
                          f"{number}")  # fmt: skip
        for other in range(rank):
            if other != axis and size[other] != shape[other]:
                raise invalid(
                    f"Input shapes must match: expected {shape[other]} for dimension {other} but got {size[other]} at "
                    f"position {number}"
                )
        moved = indices.copy()
        moved[:, axis] += at
        shifted.append(moved)
        at += int(size[axis])
    shape[axis] = at
    indices = np.concatenate(shifted)
    by = order(indices)
    return [indices[by], np.concatenate([values for _, values, _ in parts])[by], shape]


def split(axis: int, number: int, indices: Any, values: Any, shape: Any) -> list[Parts]:
    """Split into `number` parts along an axis; the first parts are larger by one if the size is no multiple."""
    rank = len(shape)
    if not -rank <= axis < rank:
        raise invalid(f"Input axis should be in range [{-rank}, {rank}), got {axis}")
    axis %= rank
    size = int(shape[axis])
    if not 1 <= number <= size:
        raise invalid(f"Input num_split should be between 1 and the splitting dimension size ({size}), got {number}")
    parts, at = [], 0
    for i in range(number):
        count = size // number + (i < size % number)
        inside = (indices[:, axis] >= at) & (indices[:, axis] < at + count)
        moved = indices[inside]
        moved[:, axis] -= at
        sizes = shape.copy()
        sizes[axis] = count
        parts.append((moved, values[inside], sizes))
        at += count
    return parts


def cut(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> list[Any]:
    """Return the slice that begins at `start` and has at most the sizes `size`."""
    for what, given in (("start", start), ("size", size)):
        if len(given) != len(shape):
            raise invalid(f"Expected {what} to be a vector of length {len(shape)} but got length {len(given)}")
    if (size < 0).any():
        raise invalid(f"Expected a non-negative size, got {size[size < 0][0]}")
    sizes = np.where(start < shape, np.minimum(size, shape - start), 0)
    sizes = np.where(start < 0, np.minimum(size, shape), sizes) if (start < 0).any() else sizes
    inside = ((indices >= start) & (indices < start + sizes)).all(axis=1)
    return [indices[inside] - start, values[inside], sizes.astype(np.int64)]


def fill_empty_rows(indices: Any, values: Any, shape: Any, default: Any) -> list[Any]:
    """Put `default` into the first column of each empty row.

    Returns:
        Indices, values, whether each row was empty, and the new position of each old element.
    """
    rows, count = indices[:, 0], int(shape[0])
    if count == 0:
        if len(indices):
            raise invalid(f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {len(indices)}")
        return [indices, values, np.empty(0, bool), np.empty(0, np.int64)]
    outside = (rows < 0) | (rows >= count)
    if outside.any():
        n = int(outside.argmax())
        raise invalid(f"indices({n}, 0) is invalid: {rows[n]} {'< 0' if rows[n] < 0 else f'>= {count}'}")
    empty = np.ones(count, bool)
    empty[rows] = False
    missing = np.flatnonzero(empty)
    added = np.zeros((len(missing), indices.shape[1]), np.int64)
    added[:, 0] = missing
    filled = np.empty(len(missing), values.dtype)
    filled[:] = default[()]
    together = np.concatenate([indices, added])
    by = np.argsort(together[:, 0], kind="stable")
    places = np.empty(len(by), np.int64)
    places[by] = np.arange(len(by))
    return [together[by], np.concatenate([values, filled])[by], empty, places[: len(indices)]]
