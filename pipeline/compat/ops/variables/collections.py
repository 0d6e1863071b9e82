"""A graph's variables by collection, ops that initialise or check all of them, and the global step."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import device, get_collection, get_default_graph, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.masking import boolean_mask
from pipeline.compat.ops.control.flow import group, no_op
from pipeline.compat.ops.math.comparing import logical_not
from pipeline.compat.ops.variables import updates as state
from pipeline.compat.ops.variables.initializers import zeros_initializer
from pipeline.compat.ops.variables.scope import get_variable
from pipeline.compat.ops.variables.variable import Variable
from pipeline.compat.values.constants import constant
from pipeline.compat.values.packing import pack


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the global variables in creation order; `scope` is a regex their names must match."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Return all variables; old name for `global_variables`."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the local variables, such as epoch counters."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the trainable variables, updated by optimizers in TensorFlow."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection MOVING_AVERAGE_VARIABLES."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Any, name: str = "init") -> Operation:
    """Return one operation that initialises all variables in a list."""
    return group(*[variable.initializer for variable in var_list], name=name) if var_list else no_op(name=name)


initialize_variables = variables_initializer


def global_variables_initializer() -> Operation:
    """Return one operation that initialises the global variables made so far."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Operation:
    """Return one operation that initialises the local variables made so far."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a variable has a value, a bool scalar."""
    return state.is_variable_initialized(variable)


def _every_variable() -> list[Any]:
    """Return the global and local variables; if there are none, all ref tensors."""
    variables = global_variables() + local_variables()
    if variables:
        return variables
    return [op.outputs[0] for op in get_default_graph().get_operations() if op.type == "VariableV2"]


def _rank(value: Any) -> Any:
    return dtypes.int32.np.type(getattr(value, "ndim", 0))


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """Return the names of variables without a value, a string vector."""
    variables = _every_variable() if var_list is None else var_list
    with name_scope(name):
        checks = [state.is_variable_initialized(variable) for variable in variables]
        with device("/cpu:0"):
            if not checks:
                return constant([], dtypes.string)
            with name_scope(None, "stack") as scope:
                mask = pack(checks, 0, scope)
            missing = logical_not(mask)
            return boolean_mask(constant([variable.op.name for variable in variables]), missing)


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the global step's value in `sess` as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Any = None) -> Any:
    """Return `graph`'s global step (default: the default graph), or None.

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
    """Make the global step, an int64 variable starting at zero.

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
    """Return `graph`'s global step (default: the default graph), made on first use."""
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
