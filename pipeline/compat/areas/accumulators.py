"""ConditionalAccumulator: collects gradients or other tensors and returns their mean once there are enough."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.inputs import ANY_NUMBER, check_allowed, fixed_input
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices
from pipeline.errors import invalid


class Accumulated:
    """The state of an accumulator in one session. Thread safe.

    `condition` guards everything and is notified when a value is added.
    """

    def __init__(self, mean: bool, shape: TensorShape) -> None:
        self.condition = threading.Condition()
        self.mean, self.shape = mean, shape
        self.count, self.step = 0, 0
        self.total: Any = None

    def apply(self, step: int, *value: Any) -> None:
        """Add a value, unless its step is older than the accumulator's."""
        with self.condition:
            if step >= self.step:
                self.add(*value)
                self.count += 1
                self.condition.notify_all()

    def take(self, run: Any, required: int) -> Any:
        """Wait for the required number of values, return their mean or sum, and start over with the next step."""
        if required <= 0:
            raise invalid(f"Argument num_required must be positive, but was {required}")
        with self.condition:
            run.wait_for(self.condition, lambda: self.count >= required, "Take gradient")
            result = self.result()
            self.count, self.total = 0, None
            self.step += 1
            return result

    def set_step(self, step: int) -> None:
        """Set the step."""
        with self.condition:
            self.step = step

    def add(self, *value: Any) -> None:
        """Add a value to the sum."""
        (given,) = value
        sizes = self.shape.sizes if self.total is None else self.total.shape
        if sizes is not None and not as_shape(sizes).is_compatible_with(given.shape):
            shown = ",".join("?" if each is None else str(each) for each in sizes)
            raise invalid(f"Shape mismatch: expected [{shown}], got [{','.join(map(str, given.shape))}]")
        self.total = given if self.total is None else self.total + given

    def result(self) -> Any:
        """Return the mean or the sum."""
        if not self.mean:
            return self.total
        return np.asarray(self.total / np.asarray(self.count, self.total.dtype), self.total.dtype)


class ConditionalAccumulatorBase:
    """Base of both kinds of accumulators."""

    _type = ""
    _prefix = ""
    _state: type[Accumulated] = Accumulated

    def __init__(self, dtype: Any, shape: Any, shared_name: str | None, name: str, reduction_type: str) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = unknown_shape() if shape is None else as_shape(shape)
        check_allowed("dtype", self._dtype, ANY_NUMBER)
        if reduction_type not in ("MEAN", "SUM"):
            raise ValueError(
                f"Attr 'reduction_type' of '{self._type}' Op passed string '{reduction_type}' not in: "
                '"MEAN", "SUM".'
            )
        container = get_default_graph()._container
        key: Any = ("accumulator", container, shared_name) if shared_name else object()
        make, mean, known = self._state, reduction_type == "MEAN", self._shape
        attrs = {
            "dtype": self._dtype,
            "shape": self._shape,
            "container": container,
            "shared_name": shared_name or "",
            "reduction_type": reduction_type,
        }
        handle = dtypes.resource if self._prefix else dtypes.string._as_ref
        self._accumulator_ref = tensor_node(
            self._type,
            [],
            lambda run: run.state(key, lambda: make(mean, known)),
            handle,
            (2,),
            name,
            attrs=attrs,
            stateful=True,
        )
        self._name = self._accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that stands for the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name without scopes."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return the number of values added since the last take."""
        return tensor_node(
            f"{self._prefix}AccumulatorNumAccumulated",
            [self._accumulator_ref],
            lambda run, held: np.int32(held.count),
            dtypes.int32,
            (),
            name or f"{self._name}_NumAccumulated",
            stateful=True,
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the step; later values of older steps are dropped."""
        step = cast(convert_to_tensor(new_global_step), dtypes.int64)
        return node(
            f"{self._prefix}AccumulatorSetGlobalStep",
            [self._accumulator_ref, step],
            [],
            lambda run, held, step: held.set_step(int(step)),
            name,
            stateful=True,
        )

    def _take(self, op_type: str, num_required: Any, outputs: Any, name: str | None) -> Operation:
        with name_scope(name, op_type) as scope:
            count = fixed_input(op_type, "num_required", num_required, dtypes.int32)
            kernel = lambda run, held, n: held.take(run, int(n))  # noqa: E731
            inputs = [self._accumulator_ref, count]
            return node(op_type, inputs, outputs, kernel, scope, {"dtype": self._dtype}, blocking=True)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects dense values. Each session keeps its own.

    Args:
        dtype: The dtype of the values, numeric.
        shape: Their shape, or None.
        shared_name: Accumulators with the same shared name are the same in a session.
        name: Name of the operation.
        reduction_type: "MEAN" or "SUM".
    """

    _type = "ResourceConditionalAccumulator"
    _prefix = "Resource"

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Return an operation that adds a value, unless `local_step` is older than the accumulator's step.

        Raises:
            ValueError: The shape is known not to fit.
            InvalidArgumentError: At run time: the shape does not fit.
        """
        value = convert_to_tensor(grad, self._dtype)
        value.get_shape().assert_is_compatible_with(self._shape)
        step = cast(convert_to_tensor(local_step), dtypes.int64)
        return node(
            "ResourceAccumulatorApplyGradient",
            [self._accumulator_ref, step, value],
            [],
            lambda run, held, step, value: held.apply(int(step), value),
            name,
            {"dtype": self._dtype},
            stateful=True,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Return the mean (or sum) of the values and remove them; the run waits until there are `num_required`."""
        outputs = [(self._dtype, self._shape)]
        return self._take("ResourceAccumulatorTakeGradient", num_required, outputs, name).outputs[0]


class SparseAccumulatorTakeGradient(NamedTuple):
    """The result of `take_grad`: indices of rows, the rows, and the dense shape."""

    indices: Any
    values: Any
    shape: Any


class _AccumulatedRows(Accumulated):
    """The sum of each row, and how many values went into it."""

    def add(self, *value: Any) -> None:
        indices, rows, shape = value
        self._check(indices, rows, shape)
        if self.total is None:
            self.total = indices, rows, np.ones(len(indices), np.int64)
            return
        old, sums, counts = self.total
        # Merge two sorted lists; rows that are in both are added.
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
        if not wanted:  # TensorFlow takes a scalar's shape for one that is not known
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
    """Collects rows of a tensor. Each session keeps its own.

    Args:
        dtype: The dtype of the values, numeric.
        shape: The dense shape, or None.
        shared_name: Accumulators with the same shared name are the same in a session.
        name: Name of the operation.
        reduction_type: "MEAN" or "SUM", for each row.
    """

    _type = "SparseConditionalAccumulator"
    _state = _AccumulatedRows

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
        """Return an operation that adds rows, unless `local_step` is older than the accumulator's step.

        Args:
            grad_indices: [n], the sorted indices of the rows.
            grad_values: [n, ...], the rows.
            grad_shape: The dense shape.
            local_step: The step of the rows.
            name: Name of the operation.

        Raises:
            InvalidArgumentError: At run time: a shape does not fit.
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
        """Return the mean (or sum) of each row and remove them; the run waits for `num_required` additions."""
        outputs = [(dtypes.int64, None), (self._dtype, None), (dtypes.int64, None)]
        made = self._take("SparseAccumulatorTakeGradient", num_required, outputs, name)
        return SparseAccumulatorTakeGradient(*made.outputs)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, but return IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(taken.values, taken.indices, taken.shape)
