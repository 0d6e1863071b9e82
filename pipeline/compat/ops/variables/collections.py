"""The variables of a graph by collection, and ops that initialize or check all of them."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import device, get_collection, get_default_graph, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.boolean_mask import boolean_mask
from pipeline.compat.ops.control.flow import group, no_op
from pipeline.compat.ops.math.logic import logical_not
from pipeline.compat.ops.variables import updates as state
from pipeline.compat.values.constants import constant
from pipeline.compat.values.packing import pack


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the global variables in the order they were made; `scope` is a regex that the names must match."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Old name of `global_variables`."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the local variables, such as epoch counters."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the trainable variables, which optimizers would update."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection MOVING_AVERAGE_VARIABLES."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Any, name: str = "init") -> Operation:
    """Return one operation that initializes all variables of a list."""
    return group(*[variable.initializer for variable in var_list], name=name) if var_list else no_op(name=name)


initialize_variables = variables_initializer


def global_variables_initializer() -> Operation:
    """Return one operation that initializes the global variables made so far."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Operation:
    """Return one operation that initializes the local variables made so far."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a variable has a value, a bool scalar."""
    return state.is_variable_initialized(variable)


def _every_variable() -> list[Any]:
    """The global and local variables; if there are none, all ref tensors."""
    variables = global_variables() + local_variables()
    if variables:
        return variables
    return [op.outputs[0] for op in get_default_graph().get_operations() if op.type == "VariableV2"]


def _rank(value: Any) -> Any:
    return dtypes.int32.np.type(getattr(value, "ndim", 0))


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """Return the names of the variables without a value, a vector of strings."""
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
