"""tf.edit_distance: how far the sequences of two sparse tensors are apart."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.edit_distance import distances
from pipeline.compat.ops.making.opdef import op
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value
from pipeline.decode.example.sparse_value import SparseTensorValue


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """Return the Levenshtein distance of each sequence of a sparse tensor from that of another one.

    Args:
        hypothesis: A SparseTensor whose last axis holds the sequences.
        truth: The same, of the same dtype.
        normalize: Divide each distance by the length of the sequence in `truth`.
        name: Name of the op.

    Returns:
        A float32 tensor without the last axis. Where only `truth` is empty, a normalized distance is infinite.

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
        lambda *tensors: [(dtypes.float32, _shape(tensors[2], tensors[5]))],
        lambda *parts: distances(parts[:3], parts[3:], normalize),
        name,
        {"normalize": normalize},
    ).outputs[0]


def _shape(hypothesis: Tensor, truth: Tensor) -> Any:
    """The static shape of the result."""
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
