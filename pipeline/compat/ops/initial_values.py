"""Initial values that are made of other variables: those may not be initialised yet when they are needed."""

from __future__ import annotations

from typing import Any

from pipeline.compat.core.graph import GraphKeys, get_default_graph
from pipeline.compat.core.node import node
from pipeline.compat.core.tensor import Operation, Tensor


def without_uninitialized(name: str, value: Tensor) -> Tensor:
    """`value` with each variable that it is made of replaced by its initialized value.

    The variables of a graph are initialised in any order.
    """
    if _in_cycle(value.op):
        return value
    return _safe_tensor(name.rstrip("/"), value, {})


def _in_cycle(op: Operation, done: set[Operation] | None = None) -> bool:
    """Whether a loop leads up to `op`; loops cannot be copied node by node."""
    done = set() if done is None else done
    pending = [op]
    while pending:
        op = pending.pop()
        if op in done:
            continue
        done.add(op)
        if op.type in ("NextIteration", "Exit"):
            return True
        pending += [each.op for each in op.inputs]
    return False


def _safe_tensor(name: str, tensor: Tensor, done: dict[Operation, Operation]) -> Tensor:
    op = tensor.op
    if op not in done:
        done[op] = _safe_op(name, op, done)
    new = done[op]
    if new is op:
        return tensor
    return new.outputs[0] if op.type == "VariableV2" else new.outputs[tensor.value_index]


def _safe_op(name: str, op: Operation, done: dict[Operation, Operation]) -> Operation:
    if op.type == "IsVariableInitialized":
        return op
    if op.type == "VariableV2":
        for variable in [*_all(GraphKeys.GLOBAL_VARIABLES), *_all(GraphKeys.LOCAL_VARIABLES)]:
            if variable.name == f"{op.name}:0":
                return variable.initialized_value().op  # type: ignore[no-any-return]
        return op
    inputs = [_safe_tensor(name, each, done) for each in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs, strict=True)):
        return op
    ref_switch = op.type == "RefSwitch"
    outputs = [(each.dtype.base_dtype if ref_switch else each.dtype, each.get_shape()) for each in op.outputs]
    return node(
        "Switch" if ref_switch else op.type,
        inputs,
        outputs,
        op.kernel,
        name=f"{op.name}_{name}/".replace(":", "_"),
        attrs=op.attrs,
        stateful=op.stateful,
        blocking=op.blocking,
        rows=op.rows,
        ref_inputs=() if ref_switch else op.ref_inputs,
    )


def _all(key: str) -> list[Any]:
    return get_default_graph().get_collection(key)
