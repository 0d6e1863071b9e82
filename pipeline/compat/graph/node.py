"""node adds an operation to the default graph; every operation is made by it."""

from __future__ import annotations

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
        op_type: TensorFlow's name for this kind of operation.
        inputs: Input tensors.
        outputs: DType and shape per output; shape None means unknown rank.
        kernel: `kernel(*values)` returns the only output's value, or a sequence with one value per output.
        name: The operation's name, `op_type` by default, made unique in the current scope; used as is if it ends in
            "/".
        attrs: Attributes for `get_attr` and `node_def`.
        stateful: The kernel depends on more than its inputs. It is called as `kernel(run, *values)` in every run.
        blocking: The kernel may wait for another thread; implies `stateful`.
        rows: For an operation on single rows, a function for a block: `rows(is_row, *values)`. `is_row` marks values
            with rows along a new first axis. True if the kernel itself takes blocks.
        control_inputs: Operations that run before it, besides the context's.
        ref_inputs: Input positions where the kernel takes the variable's Cell, not its value.
        handle: The output is a session object, the same in every run: a queue or a reader.

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
    """Add an operation with one output, and return the output; see `node` for the arguments."""
    return node(op_type, inputs, [(dtype, shape)], kernel, name, **options).outputs[0]
