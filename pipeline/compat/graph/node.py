"""node: how every operation gets into a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.graph.tensor import Operation, Tensor, caller, new_tensor


def node(
    op_type: str,
    inputs: Sequence[Tensor],
    outputs: Iterable[tuple[DType, Any]],
    kernel: Callable[..., Any] | None,
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    stateful: bool = False,
    blocking: bool = False,
    rows: Any = None,
    control_inputs: Sequence[Operation] = (),
    ref_inputs: tuple[int, ...] = (),
    handle: bool = False,
) -> Operation:
    """Add an operation to the default graph.

    Args:
        op_type: TensorFlow's name for what it does.
        inputs: The tensors that it takes.
        outputs: DType and shape of each output; None for an unknown rank.
        kernel: `kernel(*values)` computes the value of the one output, or a sequence with one for each.
        name: Its name, `op_type` by default, made unique within the current scope; with a final "/" taken as it is.
        attrs: What `get_attr` and `node_def` show.
        stateful: The kernel depends on more than its inputs: it is called as `kernel(run, *values)`, at every run.
        blocking: The kernel may wait for another thread; `stateful` then goes without saying.
        rows: For an operation on single rows: the same for a block of rows, `rows(is_row, *values)`, where `is_row`
            says which of the values have the rows along a new first axis; True if the kernel itself does that.
        control_inputs: Operations that run before it, besides those that the context asks for.
        handle: The value is an object of the session, the same at every run: a queue or a reader.
        ref_inputs: Positions of inputs for which the kernel gets the variable's Cell, not its value.

    Raises:
        ValueError: An input is from another graph, or the name is not valid.
        RuntimeError: The graph is finalised.
    """
    graph = inputs[0].op.graph if inputs else get_default_graph()
    op = Operation()
    op.graph, op.type, op.kernel = graph, op_type, kernel
    op.attrs = {} if attrs is None else attrs
    op.stateful, op.blocking, op.handle = stateful or blocking or handle, blocking, handle
    op.rows, op.ref_inputs = rows, ref_inputs
    op.made_at = caller()
    graph._add(op, name or op_type, list(inputs), list(control_inputs))
    op.outputs = [new_tensor(op, i, dtype, shape) for i, (dtype, shape) in enumerate(outputs)]
    if ref_inputs and any(inputs[i].dtype._is_ref_dtype for i in ref_inputs):
        # What works on a variable is where the variable is.
        with contextlib.ExitStack() as near:
            for i in ref_inputs:
                near.enter_context(graph.colocate_with(inputs[i].op))
            graph._added(op)
    else:
        graph._added(op)
    return op


def tensor_node(
    op_type: str,
    inputs: Sequence[Tensor],
    kernel: Callable[..., Any] | None,
    dtype: DType,
    shape: Any,
    name: str | None = None,
    **options: Any,
) -> Tensor:
    """As `node`, for an operation of one output, which is returned."""
    return node(op_type, inputs, [(dtype, shape)], kernel, name, **options).outputs[0]
