"""tf.edit_distance: Levenshtein distances between the sequences in two sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.sparse import Parts, listed
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value
from pipeline.decode.example.sparse_value import SparseTensorValue
from pipeline.errors import InternalError, invalid


def distances(hypothesis: Parts, truth: Parts, normalize: bool) -> Any:
    """Return the distance for each pair of sequences; they lie along the last axis."""
    shape = _shape(hypothesis, truth)
    result = np.zeros(shape, np.float32)
    for group, ours, theirs in _paired(list(_groups(hypothesis)), list(_groups(truth))):
        if not all(0 <= at < size for at, size in zip(group, shape, strict=True)):
            raise InternalError(
                None, None, f"The indices {list(group)} are out of bounds of the result, whose shape is {list(shape)}"
            )
        distance: float = levenshtein(ours, theirs)
        if normalize and distance:
            distance = distance / len(theirs) if len(theirs) else math.inf
        result[group] = distance
    return result


def _shape(hypothesis: Parts, truth: Parts) -> tuple[int, ...]:
    """Return the result's shape; InvalidArgumentError if the parts do not fit."""
    for name, (indices, values, shape) in (("hypothesis", hypothesis), ("truth", truth)):
        for what, array, ndim in (("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)):
            if array.ndim != ndim:
                kind = ("vector", "matrix")[ndim - 1]
                raise invalid(f"{name}_{what} should be a {kind}, but got shape: {listed(array.shape)}")
        if len(indices) != len(values):
            raise invalid(f"{name}_values has {len(values)} elements, but {name}_indices has {len(indices)} rows")
        if indices.shape[1] != len(shape):
            raise invalid(f"{name}_indices has {indices.shape[1]} columns, but {name}_shape has {len(shape)} elements")
        if len(shape) < 2:
            raise invalid(f"{name}_shape must have at least 2 elements, got shape: {listed(shape)}")
    if len(hypothesis[2]) != len(truth[2]):
        raise invalid(
            f"Expected truth and hypothesis to have matching ranks, but their shapes are: {listed(truth[2].shape)} and "
            f"{listed(hypothesis[2].shape)}"
        )
    return tuple(np.maximum(hypothesis[2], truth[2])[:-1].tolist())


def _groups(parts: Parts) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield each sequence's indices and values; a sequence is a run of rows with equal first indices."""
    indices, values, _ = parts
    leading = indices[:, :-1]
    starts = [0, *(np.flatnonzero((leading[1:] != leading[:-1]).any(axis=1)) + 1).tolist()] if len(values) else []
    for start, end in zip(starts, [*starts[1:], len(values)], strict=False):
        yield tuple(leading[start].tolist()), values[start:end]


def _paired(ours: list[Any], theirs: list[Any]) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Yield each group with both sequences, in order; a sequence without a counterpart is paired with an empty one."""
    i = j = 0
    while i < len(ours) or j < len(theirs):
        if j == len(theirs) or (i < len(ours) and ours[i][0] < theirs[j][0]):
            yield ours[i][0], ours[i][1], ours[i][1][:0]
            i += 1
        elif i == len(ours) or theirs[j][0] < ours[i][0]:
            yield theirs[j][0], theirs[j][1][:0], theirs[j][1]
            j += 1
        else:
            yield ours[i][0], ours[i][1], theirs[j][1]
            i, j = i + 1, j + 1


def levenshtein(a: Any, b: Any) -> int:
    """Return how many insertions, deletions and replacements turn one sequence into the other."""
    steps = np.arange(len(b) + 1)
    row = steps
    for element in a:
        # No insertions so far; an insertion adds 1 per step along the row.
        least = np.concatenate([row[:1] + 1, np.minimum(row[1:] + 1, row[:-1] + (b != element))])
        row = np.minimum.accumulate(least - steps) + steps
    return int(row[-1])


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """Return Levenshtein distances between the sequences in two sparse tensors.

    Args:
        hypothesis: A SparseTensor with sequences along its last axis.
        truth: The same, with equal dtype.
        normalize: Divide each distance by the sequence length in `truth`.
        name: Name of the op.

    Returns:
        A float32 tensor without the last axis. If only `truth` is empty, a normalised distance is infinite.

    Raises:
        TypeError: An argument is not sparse; the dtypes differ.
        ValueError: The ranks are known to differ, or to be below 2.
    """
    for what, given in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(given, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")
    return op(
        "EditDistance",
        "hypothesis_indices:int64 hypothesis_values:T hypothesis_shape:int64 "
        "truth_indices:int64 truth_values:T truth_shape:int64",
        [part for given in (hypothesis, truth) for part in (given.indices, given.values, given.dense_shape)],
        lambda *tensors: [(dtypes.float32, _static_shape(tensors[2], tensors[5]))],
        lambda *parts: distances(parts[:3], parts[3:], normalize),
        name,
        {"normalize": normalize},
    ).outputs[0]


def _static_shape(hypothesis: Tensor, truth: Tensor) -> Any:
    """Return the result's static shape."""
    sizes = [constant_value(each) for each in (hypothesis, truth)]
    if any(each is None for each in sizes):
        return unknown_shape()
    ours, theirs = (each.tolist() for each in sizes)
    if len(ours) != len(theirs):
        raise ValueError(f"Num elements of hypothesis_shape does not match truth_shape: {len(ours)} vs. {len(theirs)}")
    if len(ours) < 2:
        raise ValueError(
            f"Input Hypothesis SparseTensors must have rank at least 2, but hypothesis_shape rank is: {len(ours)}"
        )
    return [max(pair) for pair in zip(ours[:-1], theirs[:-1], strict=True)]
