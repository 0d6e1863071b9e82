"""The global step: the variable that counts the training steps of a program."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.variables.initializers import zeros_initializer
from pipeline.compat.ops.variables.scope import get_variable
from pipeline.compat.ops.variables.variable import Variable


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step in `sess` as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Any = None) -> Any:
    """Return the global step of `graph` (default: the default graph), or None.

    Raises:
        TypeError: The tensor called `global_step` is not an integer scalar.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    else:
        return None
    assert_global_step(step)
    return step


def create_global_step(graph: Any = None) -> Variable:
    """Make the global step, an int64 variable that starts at zero.

    Raises:
        ValueError: It exists already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(  # type: ignore[no-any-return]
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Any = None) -> Any:
    """Return the global step of `graph` (default: the default graph), made on first use."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Any) -> None:
    """Check that a value can be the global step.

    Raises:
        TypeError: It is not a tensor or variable, not an integer, or not a scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
