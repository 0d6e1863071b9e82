"""Counting elements: histograms, bincount, edit distances, and flat indices as places."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value
from pipeline.decode.example.features import SparseTensorValue


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return how many values fall into each of equal bins; values out of range go into the first or last one.

    Args:
        values: int32, int64, float32 or float64.
        value_range: Two elements of the same dtype: where the first bin begins and the last one ends.
        nbins: The number of bins.
        dtype: int32 or int64, of the result.
        name: Name of the op.
    """
    kind = as_dtype(dtype)

    def rule(values: Tensor, bounds: Tensor, nbins: Tensor) -> Any:
        check_rank(bounds, 1)
        if bounds.shape.num_elements() not in (None, 2):
            raise ValueError(f"Dimension must be 2 but is {bounds.shape.num_elements()}")
        check_rank(nbins, 0)
        known = constant_value(nbins)
        if known is not None and int(known) <= 0:
            raise ValueError(f"Requires nbins > 0: {int(known)}")
        return (None if known is None else int(known),)

    def kernel(values: Any, bounds: Any, nbins: Any) -> Any:
        low, high, count = float(bounds[0]), float(bounds[1]), int(nbins)
        if count <= 0:
            raise errors.InvalidArgumentError(None, None, f"nbins should be a positive number, but got '{count}'")
        if not low < high:
            text = f"value_range should satisfy value_range[0] < value_range[1], but got '[{bounds[0]}, {bounds[1]}]'"
            raise errors.InvalidArgumentError(None, None, text)
        step = (high - low) / count
        places = np.floor((np.ravel(values).astype(np.float64) - low) / step)
        return np.bincount(np.clip(places, 0, count - 1).astype(np.int64), minlength=count).astype(kind.np)

    definition = "values:T(int32,int64,float32,float64) value_range:T nbins:int32"
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        inputs = [values, value_range, nbins]
        return tensor_op("HistogramFixedWidth", definition, inputs, rule, kernel, scope, {"dtype": kind}, dtype=kind)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return for each value the number (int32) of the bin that it falls into; see `histogram_fixed_width`."""
    from pipeline.compat.ops.arrays.shaping import reshape, shape
    from pipeline.compat.ops.math.arithmetic import truediv
    from pipeline.compat.ops.math.casting import cast
    from pipeline.compat.ops.math.clipping import clip_by_value
    from pipeline.compat.ops.math.unary import floor

    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        flat: Any = convert_to_tensor(values, name="values")
        sizes = shape(flat)
        flat = reshape(flat, [-1])
        bounds: Any = convert_to_tensor(value_range, name="value_range")
        count: Any = cast(convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins"), flat.dtype)
        scaled: Any = truediv(flat - bounds[0], bounds[1] - bounds[0], name="scaled_values")
        places = floor(count * scaled, name="indices")
        return reshape(cast(clip_by_value(places, 0, count - 1), dtypes.int32), sizes)


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = dtypes.int32
) -> Tensor:
    """Return how often each number from 0 on comes, or the sums of its weights.

    Args:
        arr: Integers that are not negative, any shape.
        weights: Of the same shape: what each element counts.
        minlength: The result is at least so long.
        maxlength: The result is at most so long; larger numbers are not counted.
        dtype: Of the result, without weights.
    """
    from pipeline.compat.ops.arrays.shaping import reshape, size
    from pipeline.compat.ops.math.arithmetic import maximum, minimum
    from pipeline.compat.ops.math.casting import cast
    from pipeline.compat.ops.math.reducing import reduce_max

    with name_scope("bincount"):
        numbers = convert_to_tensor(arr, name="arr")
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
        if not numbers.dtype.is_integer:
            numbers = cast(numbers, dtypes.int32)
        kind = numbers.dtype.base_dtype
        count: Any = size(numbers)
        some: Any = cast(count > 0, kind)
        largest: Any = reduce_max(numbers)
        length: Any = some * (largest + 1)
        if minlength is not None:
            length = maximum(convert_to_tensor(minlength, name="minlength", dtype=kind), length)
        if maxlength is not None:
            length = minimum(convert_to_tensor(maxlength, name="maxlength", dtype=kind), length)
        if weights is not None:
            weights = reshape(weights, [-1])
        numbers = reshape(numbers, [-1])
        if weights is None:
            weights = constant([], as_dtype(dtype))

        def rule(numbers: Tensor, length: Tensor, weights: Tensor) -> Any:
            known = constant_value(length)
            return (None if known is None else int(known),)

        def kernel(numbers: Any, length: Any, weights: Any) -> Any:
            if np.size(numbers) and np.min(numbers) < 0:
                raise errors.InvalidArgumentError(None, None, "Input arr must be non-negative!")
            kept = numbers < int(length)
            made = np.zeros(int(length), weights.dtype)
            np.add.at(made, numbers[kept], weights[kept] if np.size(weights) else np.ones((), weights.dtype))
            return made

        definition = "input:Tidx(int32,int64) size:Tidx weights:T(int32,int64,float32,float64)"
        attrs = {"binary_output": False}
        result = weights.dtype.base_dtype
        inputs = [numbers, length, weights]
        return tensor_op("DenseBincount", definition, inputs, rule, kernel, attrs=attrs, dtype=result)


def _distance(one: list[Any], other: list[Any]) -> int:
    """How many insertions, deletions and replacements make one sequence the other."""
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def _sequences(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = "edit_distance") -> Tensor:
    """Return the edit distances between the sequences along the last axis of two sparse tensors: float32.

    Args:
        hypothesis: A SparseTensor.
        truth: A SparseTensor of the same dtype and leading axes.
        normalize: Whether the distances are divided by the lengths of the true sequences.
        name: Name of the op.
    """
    for label, each in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(each, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{label} must be a SparseTensor.")

    def rule(*tensors: Tensor) -> Any:
        shapes = [constant_value(tensors[2]), constant_value(tensors[5])]
        if any(each is None for each in shapes):
            return None
        return [max(int(a), int(b)) for a, b in zip(shapes[0][:-1], shapes[1][:-1], strict=True)]

    def kernel(*values: Any) -> Any:
        shape = [max(a, b) for a, b in zip(values[2][:-1].tolist(), values[5][:-1].tolist(), strict=True)]
        guesses, truths = _sequences(values[0], values[1]), _sequences(values[3], values[4])
        made = np.zeros(shape, np.float32)
        for place in {*guesses, *truths}:
            guess, true = guesses.get(place, []), truths.get(place, [])
            distance: float = _distance(guess, true)
            if normalize:
                distance = distance / len(true) if true else np.inf
            made[place] = distance
        return made

    definition = (
        "hypothesis_indices:int64 hypothesis_values:T hypothesis_shape:int64 "
        "truth_indices:int64 truth_values:T truth_shape:int64"
    )
    inputs = [*_parts(hypothesis), *_parts(truth)]
    attrs = {"normalize": bool(normalize)}
    return tensor_op("EditDistance", definition, inputs, rule, kernel, name, attrs, dtype=dtypes.float32)


def _parts(sparse: Any) -> list[Any]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Return the places that flat indices stand for in a tensor of the shape `dims`: a row for each of its axes."""

    def rule(indices: Tensor, dims: Tensor) -> Any:
        if indices.shape.sizes is None or dims.shape.sizes is None:
            return None
        count = dims.shape.sizes[0] if dims.shape.sizes else None
        return (count, *(() if not indices.shape.sizes else (indices.shape.num_elements(),)))

    def kernel(indices: Any, dims: Any) -> Any:
        try:
            places = np.unravel_index(indices, tuple(dims.tolist()))
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, f"index is out of bound as with dims: {error}") from None
        return np.stack(places).astype(dims.dtype)

    return tensor_op("UnravelIndex", "indices:Tidx(int32,int64)=int32 dims:Tidx", [indices, dims], rule, kernel, name)
