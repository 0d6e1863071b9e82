"""no_op, group, tuple: operations that only order others, and tensors waiting for operations."""

from __future__ import annotations

import builtins
from typing import Any

from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import control_dependencies, device, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import flatten, map_structure
from pipeline.compat.values.sparse_tensor import IndexedSlices


def _nothing(*_: Any) -> None:
    return None


def _same(value: Any) -> Any:
    return value


def no_op(name: str | None = None) -> Operation:
    """Return an operation that only waits for its control inputs."""
    return node("NoOp", [], [], _nothing, name=name)


def identity_of(tensor: Tensor, name: str | None = None) -> Tensor:
    """Return an Identity node for `tensor` with the caller's scope, control inputs and branch."""
    return tensor_node("Identity", [tensor], _same, tensor.dtype.base_dtype, tensor.get_shape(), name=name)


def variables_as_tensors(structure: Any) -> Any:
    """Return the nested structure with variables replaced by their values."""
    return map_structure(lambda each: each.value() if hasattr(each, "_variable") else each, structure)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """Return the value of `output_tensor`, available only once all `dependencies` have run."""
    scope_of = name_scope(name, "control_dependency", list(dependencies) + [output_tensor])
    with scope_of as scope, control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            values = identity_of(output_tensor.values, scope)
            return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
        return identity_of(convert_to_tensor(output_tensor), scope)


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """Return one operation that finishes once all `inputs` have run.

    Args:
        inputs: Operations, tensors and nested lists of them.
        kwargs: `name`.

    Raises:
        ValueError: There is a keyword other than `name`.
        TypeError: An input is neither an operation nor a tensor.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with name_scope(name, "group_deps", inputs) as scope:
        operations = []
        for item in flatten(inputs):
            item = getattr(item, "_as_graph_element", lambda item=item: item)()
            if not hasattr(item, "device"):
                raise TypeError(
                    f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'."
                )
            operations.append(item)
        devices: dict[str, list[Any]] = {}
        for each in operations:
            devices.setdefault(each.device, []).append(each)
        if len(devices) > 1:
            return _done([_done(devices[each], each) for each in sorted(devices)], "", scope)
        return _done(operations, next(iter(devices), ""), scope)


def _done(operations: list[Any], device_name: str, name: str | None = None) -> Operation:
    with control_dependencies(operations), device(device_name):
        return no_op(name=name)


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Return the same tensors, each available only once all are computed.

    Args:
        tensors: Tensors, IndexedSlices, operations to wait for, or None, returned as None.
        name: Scope name.
        control_inputs: More operations or tensors to wait for.

    Raises:
        ValueError: `tensors` contains no tensor.
        TypeError: A control input is neither an operation nor a tensor.
    """
    with name_scope(name, "tuple", tensors):
        tensors = [
            each
            if isinstance(each, Operation) or each is None or isinstance(each, IndexedSlices)
            else convert_to_tensor(each)
            for each in tensors
        ]
        waited = [each if isinstance(each, Operation) else each.op for each in tensors if each is not None]
        for each in control_inputs or ():
            if isinstance(each, Tensor):
                each = each.op
            elif not isinstance(each, Operation):
                raise TypeError(f"'control_inputs' must only contain Operation or Tensor. Received: {type(each)}")
            waited.append(each)
        if not waited:
            raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
        waited = sorted(builtins.set(waited), key=lambda operation: operation.name)
        gate = group(*waited)
        return [_after(gate, each) for each in tensors]


def _after(gate: Operation, each: Any) -> Any:
    if isinstance(each, Operation):
        return group(gate, each)
    return None if each is None else with_dependencies([gate], each)
