"""The confusion matrix of labels and predictions."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.filling import ones_like
from pipeline.compat.ops.arrays.joining import stack
from pipeline.compat.ops.arrays.scattering import scatter_nd
from pipeline.compat.ops.arrays.shaping import squeeze
from pipeline.compat.ops.control.checks import assert_less, assert_non_negative
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.math.arithmetic import add, maximum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.reducing import reduce_max
from pipeline.compat.values.convert import convert_to_tensor


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """Return how often (or with what weight) each label, a row, goes with each prediction, a column.

    Args:
        labels: A vector of numbers from 0.
        predictions: A vector of the same length.
        num_classes: Size of the matrix; one more than the largest number by default.
        dtype: Of the result.
        name: Name of the scope.
        weights: A vector of the same length; all are 1 by default.

    Raises:
        ValueError: The shapes do not fit.
        InvalidArgumentError: At run time: a number is negative, or not below `num_classes`.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        labels = convert_to_tensor(labels, name="labels")
        predictions = convert_to_tensor(predictions, name="predictions")
        labels, predictions = _same_rank(labels, predictions)
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = with_dependencies([assert_non_negative(labels, message="`labels` contains negative values")], labels)
        predictions = with_dependencies(
            [assert_non_negative(predictions, message="`predictions` contains negative values")], predictions
        )
        if num_classes is None:
            num_classes = add(maximum(reduce_max(predictions), reduce_max(labels)), 1, name="add")
        else:
            below = cast(num_classes, dtypes.int64)
            labels = with_dependencies([assert_less(labels, below, message="`labels` out of bound")], labels)
            predictions = with_dependencies(
                [assert_less(predictions, below, message="`predictions` out of bound")], predictions
            )
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = cast(weights, dtype)
        shape = stack([num_classes, num_classes])
        indices = stack([labels, predictions], axis=1)
        values = ones_like(predictions, dtype) if weights is None else weights
        return scatter_nd(indices, values, cast(shape, dtypes.int64))


def _same_rank(labels: Tensor, predictions: Tensor) -> tuple[Any, Any]:
    """Take the last axis, of size 1, from the one that has an axis more."""
    first, second = labels.shape.ndims, predictions.shape.ndims
    if first is not None and second is not None:
        with name_scope("remove_squeezable_dimensions"):
            if second == first + 1:
                predictions = squeeze(predictions, [-1])
            elif first == second + 1:
                labels = squeeze(labels, [-1])
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions
