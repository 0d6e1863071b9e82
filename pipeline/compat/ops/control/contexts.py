"""Branches and loops while they are built: tensors from outside come in through Switch or Enter nodes.

A graph's `_control_flow_context` is one of these; `add_op` is called with every operation that is made in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import control_dependencies, get_default_graph, name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.steps import DEAD


class Context:
    """What branches and loops have in common.

    Attributes:
        outer: The context that this one is in, or None.
        ops: The operations that were made within, nested contexts included.
        captured: What stands within for a tensor from outside.
    """

    def __init__(self) -> None:
        self.graph = get_default_graph()
        self.outer: Context | None = self.graph._control_flow_context
        self.ops: set[Operation] = set()
        self.captured: dict[Tensor, Tensor] = {}

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let operations that are made within belong to this context."""
        graph = self.graph
        old, graph._control_flow_context = graph._control_flow_context, self
        try:
            yield
        finally:
            graph._control_flow_context = old

    def own(self, op: Operation) -> None:
        """Count an operation as made within, here and in the contexts outside."""
        context: Context | None = self
        while context is not None:
            context.ops.add(op)
            context = context.outer

    def add_op(self, op: Operation) -> None:
        """Take in an operation that was just made."""
        if not all(each.op in self.ops for each in op.inputs):
            with name_scope(f"{op.name}/"):
                op.inputs = [self.value(each) for each in op.inputs]
        self.add_control(op)
        self.own(op)
        if self.outer is not None or op.type not in ("Exit", "RefExit"):
            self.graph.prevent_fetching(op)

    def add_control(self, op: Operation) -> None:
        """Let an operation wait for what says that the context is entered at all."""
        raise NotImplementedError

    def value(self, tensor: Tensor) -> Tensor:
        """What stands within for `tensor`, made if need be."""
        if tensor.op in self.ops:
            return tensor
        if tensor not in self.captured:
            outside = tensor if self.outer is None else self.outer.value(tensor)
            with control_dependencies(None):
                inside = self.capture(outside)
            self.own(inside.op)
            self.graph.prevent_fetching(inside.op)
            self.captured[tensor] = self.captured[outside] = inside
        return self.captured[tensor]

    def capture(self, tensor: Tensor) -> Tensor:
        """Make the node that brings `tensor` in."""
        raise NotImplementedError


class Branch(Context):
    """One branch of a conditional.

    Args:
        pred: The scalar that decides.
        pivot: `pred`, as it is alive in this branch alone.
        branch: 1 where `pred` is true, 0 where it is false.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__()
        self.pred, self.pivot, self.branch = pred, pivot, branch
        self.ops.update((pred.op, pivot.op))

    def add_control(self, op: Operation) -> None:
        """Without inputs from within, an operation would run in either case."""
        if not op.inputs and not any(each in self.ops for each in op.control_inputs):
            op.control_inputs.append(self.pivot.op)

    def capture(self, tensor: Tensor) -> Tensor:
        """A Switch of the tensor."""
        return switch(tensor, self.pred)[self.branch]


def _switch(_: Any, value: Any, pred: Any) -> tuple[Any, Any]:
    return (DEAD, value) if pred else (value, DEAD)


def switch(data: Tensor, pred: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The two outputs of a Switch: `data` is in the second if `pred` is true, in the first if it is false.

    Raises:
        TypeError: `pred` is no boolean.
        ValueError: `pred` is no scalar.
    """
    if pred.dtype.base_dtype != dtypes.bool:
        raise TypeError(
            f"Input 'pred' of 'Switch' Op has type {pred.dtype.name} that does not match expected type of bool."
        )
    if pred.get_shape().ndims not in (None, 0):
        raise ValueError(f"Shape must be rank 0 but is rank {pred.get_shape().ndims} for a Switch")
    ref = data.dtype._is_ref_dtype
    outputs = [(data.dtype, data.get_shape())] * 2
    refs = (0,) if ref else ()
    attrs = {"T": data.dtype.base_dtype}
    op_type = "RefSwitch" if ref else "Switch"
    # Stateful: what is known of a value before the run does not say which branch is taken.
    with data.op.graph.colocate_with(data.op, ignore_existing=True):
        made = node(
            op_type, [data, pred], outputs, _switch, name or "Switch", attrs=attrs, stateful=True, ref_inputs=refs
        )
    return made.outputs[0], made.outputs[1]


def _merge(_: Any, *values: Any) -> tuple[Any, Any]:
    for number, value in enumerate(values):
        if value is not DEAD:
            return value, dtypes.int32.np.type(number)
    raise AssertionError("every input of a Merge is dead")


def merge(tensors: list[Tensor], name: str | None = None) -> Tensor:
    """The value of the one among `tensors` that is alive."""
    shapes = [each.get_shape() for each in tensors]
    ref = all(each.dtype._is_ref_dtype for each in tensors)
    dtype = tensors[0].dtype if ref else tensors[0].dtype.base_dtype
    outputs = [(dtype, _common(shapes)), (dtypes.int32, [])]
    attrs = {"T": dtype.base_dtype, "N": len(tensors)}
    op_type = "RefMerge" if ref else "Merge"
    refs = tuple(range(len(tensors))) if ref else ()
    made = node(op_type, tensors, outputs, _merge, name or op_type, attrs=attrs, stateful=True, ref_inputs=refs)
    return made.outputs[0]


def _common(shapes: list[TensorShape]) -> TensorShape:
    """What is true of every one of `shapes`."""
    first = shapes[0]
    if any(each.ndims is None or each.ndims != first.ndims for each in shapes):
        return unknown_shape()
    columns = zip(*(each.sizes for each in shapes), strict=True)
    return TensorShape([sizes[0] if all(size == sizes[0] for size in sizes) else None for sizes in columns])


def passing(op_type: str, tensor: Tensor, name: str | None = None, shape: Any = False, stateful: bool = True) -> Tensor:
    """A node that passes a value on, such as Enter or Exit; references stay references."""
    ref = tensor.dtype._is_ref_dtype
    op_type = f"Ref{op_type}" if ref else op_type
    return tensor_node(
        op_type,
        [tensor],
        _second if stateful else _first,
        tensor.dtype,
        tensor.get_shape() if shape is False else shape,
        name or op_type,
        attrs={"T": tensor.dtype.base_dtype},
        stateful=stateful,
        ref_inputs=(0,) if ref else (),
    )


def _second(_: Any, value: Any) -> Any:
    return value


def _first(value: Any) -> Any:
    return value
