"""Queue operations: graph nodes, and the kernels that run them in a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.inputs import first_input, fixed_input
from pipeline.compat.queues.in_session import QueueSpec
from pipeline.compat.session.run import SessionRun
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.placeholders import runtime_name
from pipeline.compat.values.static import constant_value, get_static_value
from pipeline.dtypes import object_vector
from pipeline.errors import InvalidArgumentError


def queue(op_type: str, spec: QueueSpec, attrs: dict[str, Any], name: str | None) -> Tensor:
    """Make a queue's handle; its value is the queue itself, kept by the session."""

    def kernel(run: SessionRun) -> Any:
        return run.state(spec, lambda: spec.open(run))

    ref = tensor_node(op_type, (), kernel, dtypes.resource, (), name, attrs=attrs, handle=True)
    spec.op_name = ref.op.name
    return ref


def component(value: Any, dtype: DType, index: int) -> Tensor:
    """Return one component to enqueue as a tensor."""
    name = f"component_{index}"
    try:
        return convert_to_tensor(value, dtype, name=name)
    except ValueError as error:
        if isinstance(value, Tensor):
            raise ValueError(f"{name}: {error}") from None
        raise


def _check_count(queue: Any, tensors: list[Tensor]) -> None:
    """Raise InvalidArgumentError for fewer values than components; surplus values have been dropped before."""
    wanted = queue.spec.dtypes
    if len(tensors) < len(wanted):
        have = ", ".join(["resource", *(runtime_name(each.dtype) for each in tensors)])
        want = ", ".join(["resource", *map(runtime_name, wanted)])
        raise InvalidArgumentError(None, None, f"Signature mismatch, have: {have}-> expected: {want}->")


def enqueue(ref: Tensor, tensors: list[Tensor], scope: str) -> Operation:
    """Enqueue one element."""

    def kernel(run: SessionRun, queue: Any, *values: Any) -> None:
        _check_count(queue, tensors)
        queue.enqueue(values, timeout=run.remaining())

    def given(run: SessionRun, held: list[Any]) -> None:
        queue, *values = held
        held.clear()
        _check_count(queue, tensors)
        components = tuple(values)
        values.clear()  # so that a large array held only by `components` is not copied
        queue._enqueue_given(components, timeout=run.remaining())

    kernel.given = given  # type: ignore[attr-defined]  # for plans
    return _in("QueueEnqueueV2", ref, tensors, kernel, scope)


def enqueue_many(ref: Tensor, tensors: list[Tensor], scope: str) -> Operation:
    """Enqueue many elements."""

    def kernel(run: SessionRun, queue: Any, *values: Any) -> None:
        _check_count(queue, tensors)
        for value in values:
            if np.ndim(value) == 0:
                raise InvalidArgumentError(None, None, "Shape mismatch: enqueue_many of a scalar, which has no rows")
        queue.enqueue_many(values, timeout=run.remaining())

    return _in("QueueEnqueueManyV2", ref, tensors, kernel, scope)


def _in(op_type: str, ref: Tensor, tensors: list[Tensor], kernel: Any, scope: str) -> Operation:
    if not tensors:
        raise ValueError(f"Attr 'Tcomponents' of '{op_type}' Op passed list of length 0 less than minimum 1.")
    attrs = {"Tcomponents": [each.dtype.base_dtype for each in tensors], "timeout_ms": -1}
    return node(op_type, [ref, *tensors], (), kernel, scope, attrs, blocking=True)


def dequeue(ref: Tensor, outputs: Sequence[tuple[DType, TensorShape]], name: str) -> list[Tensor]:
    """Dequeue one element."""

    def kernel(run: SessionRun, queue: Any) -> Any:
        return queue.dequeue(timeout=run.remaining())

    attrs = {"component_types": [dtype for dtype, _ in outputs], "timeout_ms": -1}
    return node("QueueDequeueV2", [ref], outputs, kernel, name, attrs, blocking=True).outputs


def dequeue_many(
    which: str, ref: Tensor, n: Any, kinds: list[DType], shapes: Sequence[TensorShape], name: str
) -> list[Tensor]:
    """Dequeue several elements, stacked: `which` is "Many" or "UpTo"."""
    op_type = f"QueueDequeue{which}V2"
    with name_scope(name, op_type, [ref]) as scope:
        count = _count(n, op_type)
        known = constant_value(count)  # also finds values the static shape lacks
        if which == "Many" and known is not None and np.size(known) == 1 and np.reshape(known, -1)[0] < 0:
            raise ValueError(f"Input 'n' must be >= 0, but is {known} for '{scope[:-1]}' ({op_type})")
        plain = get_static_value(count) if which == "Many" else None
        if plain is not None and np.ndim(plain):
            raise TypeError(f"n must be a scalar, got shape {np.shape(plain)}")
        rows = None if plain is None else int(plain)
        outputs = [
            (dtype, unknown_shape() if shape.sizes is None else as_shape((rows, *shape.sizes)))
            for dtype, shape in zip(kinds, shapes, strict=True)
        ]
        kernel = _take_many if which == "Many" else _take_up_to
        attrs = {"component_types": kinds, "timeout_ms": -1}
        return node(op_type, [ref, count], outputs, kernel, scope, attrs, blocking=True).outputs


def _count(n: Any, op_type: str) -> Tensor:
    if n is None:
        raise ValueError("Tried to convert 'n' to a tensor and failed. Error: None values not supported.")
    return fixed_input(op_type, "n", n, dtypes.int32)


def _take_many(run: SessionRun, queue: Any, n: Any) -> Any:
    count = _one(n)
    if count == 1 and queue.hands_on:
        # A large element is passed on as is; stacking would copy it.
        taken = queue.dequeue(timeout=run.remaining())
        return [_stacked(each) for each in taken] if isinstance(taken, list) else _stacked(taken)
    return queue.dequeue_many(count, timeout=run.remaining())


def _stacked(value: Any) -> Any:
    """Return a value as a batch of one row."""
    return object_vector([value]) if isinstance(value, bytes) else np.asarray(value)[None]


def _take_up_to(run: SessionRun, queue: Any, n: Any) -> Any:
    return queue.dequeue_up_to(_one(n), timeout=run.remaining())


def _one(n: Any) -> int:
    if np.size(n) != 1:
        raise InvalidArgumentError(None, None, f"n must be a scalar, got shape {list(np.shape(n))}")
    return int(n) if np.ndim(n) == 0 else int(n.item())


def close(ref: Tensor, cancel: bool, name: str) -> Operation:
    """Close the queue."""

    def kernel(run: SessionRun, queue: Any) -> None:
        queue.close(cancel)

    attrs = {"cancel_pending_enqueues": cancel}
    return node("QueueCloseV2", [ref], (), kernel, name, attrs, blocking=not cancel, stateful=True)


def size(ref: Tensor, name: str) -> Tensor:
    """Return the queue's size."""
    return tensor_node(
        "QueueSizeV2", [ref], lambda run, queue: np.int32(queue.size()), dtypes.int32, (), name, stateful=True
    )


def is_closed(ref: Tensor, name: str) -> Tensor:
    """Return whether the queue is closed."""
    return tensor_node(
        "QueueIsClosedV2", [ref], lambda run, queue: np.bool_(queue.is_closed()), dtypes.bool, (), name, stateful=True
    )


def select(index: Any, refs: list[Tensor]) -> Tensor:
    """Return the handle at an index known only at run time."""
    attrs = {"N": len(refs), "T": dtypes.resource, "axis": 0}
    stacked = tensor_node(
        "Pack", refs, lambda run, *queues: queues, dtypes.resource, (len(refs),), "stack", attrs=attrs, stateful=True
    )
    with name_scope(None, "GatherV2", [index, refs]) as scope:
        number = first_input("indices", index, ("int16", "int32", "int64"), None)
        axis = convert_to_tensor(0, name="axis")

        def kernel(run: SessionRun, queues: Any, i: Any, _: Any) -> Any:
            i = _one(i)
            if not 0 <= i < len(queues):
                raise InvalidArgumentError(None, None, f"indices = {i} is not in [0, {len(queues)})")
            return queues[i]

        return tensor_node("GatherV2", [stacked, number, axis], kernel, dtypes.resource, (), scope, stateful=True)
