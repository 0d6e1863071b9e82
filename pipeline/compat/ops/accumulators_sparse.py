"""SparseConditionalAccumulator: collects rows of a tensor, and gives the mean of each row when there are enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import node
from pipeline.compat.core.sparse_tensor import IndexedSlices
from pipeline.compat.core.tensor import Operation
from pipeline.compat.ops.accumulators import Collected, ConditionalAccumulatorBase, invalid
from pipeline.compat.ops.casting import cast
from pipeline.compat.ops.inputs import fixed_input


class SparseAccumulatorTakeGradient(NamedTuple):
    """What `take_grad` gives: the numbers of rows, the rows, and the shape of the whole."""

    indices: Any
    values: Any
    shape: Any


class _Rows(Collected):
    """Sums of rows, and how many values each has."""

    def add(self, *value: Any) -> None:
        indices, rows, shape = value
        self._check(indices, rows, shape)
        if self.total is None:
            self.total = indices, rows, np.ones(len(indices), np.int64)
            return
        old, sums, counts = self.total
        # As a merge of two sorted lists; rows that are in both are added up.
        merged: list[tuple[int, Any, int]] = []
        i = j = 0
        while i < len(old) or j < len(indices):
            if j == len(indices) or (i < len(old) and old[i] < indices[j]):
                merged.append((old[i], sums[i], counts[i]))
                i += 1
            elif i == len(old) or indices[j] < old[i]:
                merged.append((indices[j], rows[j], 1))
                j += 1
            else:
                merged.append((old[i], sums[i] + rows[j], counts[i] + 1))
                i, j = i + 1, j + 1
        self.total = (
            np.array([each[0] for each in merged], np.int64),
            np.stack([each[1] for each in merged]),
            np.array([each[2] for each in merged], np.int64),
        )

    def _check(self, indices: Any, rows: Any, shape: Any) -> None:
        if np.ndim(indices) != 1:
            raise invalid(f"Input indices should be vector but received shape: {list(np.shape(indices))}")
        if not np.ndim(rows) or len(rows) != len(indices):
            raise invalid(f"Expected {len(indices)} rows of values, got shape {list(np.shape(rows))}")
        wanted = self.shape.sizes
        if wanted is None:
            return
        if rows.ndim != len(wanted):
            raise invalid(f"Shape mismatch: expected values rank {len(wanted)}, got {rows.ndim}")
        for axis, (size, given) in enumerate(zip(wanted[1:], rows.shape[1:], strict=True), 1):
            if size is not None and size != given:
                what = "shape" if len(shape) else "values"
                raise invalid(f"Shape mismatch: expected {what} dim {axis} to be {size}, got {given}")
        if len(shape) and wanted[0] is not None and shape[0] not in (-1, wanted[0]):
            raise invalid(f"Shape mismatch: expected shape dim 0 to be {wanted[0]}, got {shape[0]}")

    def result(self) -> Any:
        indices, sums, counts = self.total
        if self.mean:
            sums = np.asarray(sums / counts.reshape(-1, *[1] * (sums.ndim - 1)).astype(sums.dtype), sums.dtype)
        known = self.shape.sizes
        first = -1 if not known or known[0] is None else known[0]
        return [indices, sums, np.array([first, *sums.shape[1:]], np.int64)]


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects rows, which sessions keep.

    Args:
        dtype: Their DType, a number.
        shape: The shape of the whole, or None.
        shared_name: Accumulators of one name are one in a session.
        name: Name of the operation.
        reduction_type: "MEAN" or "SUM".
    """

    _type = "SparseConditionalAccumulator"
    _collected = _Rows

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """As `apply_grad`, for IndexedSlices."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """An operation that adds rows, unless their step is older than the accumulator's.

        Args:
            grad_indices: [n]: the numbers of the rows, sorted.
            grad_values: [n, ...]: the rows.
            grad_shape: The shape of the whole.
            local_step: The step.
            name: Name of the operation.
        """
        step = cast(convert_to_tensor(local_step), dtypes.int64)
        op_type = "SparseAccumulatorApplyGradient"
        indices = cast(grad_indices, dtypes.int64)
        shape = cast([] if grad_shape is None else grad_shape, dtypes.int64)
        with name_scope(name, op_type) as scope:
            values = fixed_input(op_type, "gradient_values", grad_values, self._dtype)
            attrs = {"dtype": self._dtype, "has_known_shape": grad_shape is not None}
            return node(
                op_type,
                [self._accumulator_ref, step, indices, values, shape],
                [],
                lambda run, held, step, *rest: held.apply(int(step), *rest),
                scope,
                attrs,
                stateful=True,
            )

    def take_grad(self, num_required: Any, name: str | None = None) -> SparseAccumulatorTakeGradient:
        """The mean of each row, which are taken; waits until there were as many additions as required."""
        outputs = [(dtypes.int64, None), (self._dtype, None), (dtypes.int64, None)]
        made = self._take("SparseAccumulatorTakeGradient", num_required, outputs, name)
        return SparseAccumulatorTakeGradient(*made.outputs)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(taken.values, taken.indices, taken.shape)
