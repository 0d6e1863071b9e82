"""A graph's named variables: `get_variable` makes, finds and shares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import add_to_collection, get_default_graph, name_scope
from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.ops.variables.initializers import glorot_uniform_initializer, zeros_initializer
from pipeline.compat.ops.variables.variable import Variable

_KEY = ("__variable_store",)


class _AutoReuse:
    def __repr__(self) -> str:
        return "_ReuseMode.AUTO_REUSE"


AUTO_REUSE: Any = _AutoReuse()


class VariableStore:
    """One graph's variables by name."""

    def __init__(self) -> None:
        self._variables: dict[str, Variable] = {}

    def get_variable(self, name: str, custom_getter: Any = None, **options: Any) -> Any:
        """Return the variable `name`, through `custom_getter(getter, name, ...)` if there is one.

        Raises:
            ValueError: See `getter`.
        """
        if custom_getter is None:
            return self.getter(name, **options)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        return custom_getter(getter=self.getter, name=name, **options)

    def getter(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: Any = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: Any = True,
        use_resource: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        """Return the variable `name`, found if `reuse` allows it, else made.

        Raises:
            ValueError: It exists but must not, or must exist but does not; or shape, dtype and initializer contradict
                each other.
        """
        if partitioner is not None and not (isinstance(shape, Sequence) and not shape):
            raise NotImplementedError("partitioned variables are not part of pipeline.compat.v1")
        if shape is not None and initializer is not None and not callable(initializer):
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = dtypes.as_dtype(dtype).base_dtype
        shape = None if shape is None else as_shape(shape)
        if name in self._variables or reuse is True:
            return self._found(name, shape, dtype, reuse)
        value, value_dtype = _initial_value(name, initializer, shape, dtype)
        modes = {"synchronization": synchronization, "aggregation": aggregation, "constraint": constraint}
        made = Variable(
            value, trainable, collections, validate_shape, name=name, dtype=value_dtype, shape=shape, **modes
        )
        self._variables[name] = made
        if regularizer:
            _add_loss(name, regularizer, made)
        return made

    def _found(self, name: str, shape: Any, dtype: Any, reuse: Any) -> Variable:
        """Return an existing variable; ValueError if it is missing, must not exist, or has another shape or dtype."""
        variable = self._variables.get(name)
        if variable is None:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if reuse is False:
            file, line = variable.op.made_at
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
                f'VarScope? Originally defined at:\n\n  File "{file}", line {line}\n'
            )
        if shape is not None and not shape.is_compatible_with(variable.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {variable.get_shape()}."
            )
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} "
                f"and found dtype {variable.dtype.name}."
            )
        return variable


def _default_initializer(name: str, dtype: Any) -> Any:
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
        return zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype!r} is required")


def _add_loss(name: str, regularizer: Any, variable: Variable) -> None:
    with name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _initial_value(name: str, initializer: Any, shape: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the initial value or a function that makes it, and its dtype if the initializer takes one."""
    if initializer is None:
        if shape is None:
            raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
        initializer = _default_initializer(name, dtype)
    if not callable(initializer):
        return initializer, None
    if isinstance(initializer, type):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        return lambda: initializer(shape.as_list(), dtype=dtype), dtype
    if _needs_no_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be "
        "provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
    )


def _needs_no_arguments(function: Any) -> bool:
    import inspect

    parameters = inspect.signature(function).parameters.values()
    return all(
        each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters
    )


def default_store() -> VariableStore:
    """Return the default graph's store."""
    found = get_default_graph().get_collection_ref(_KEY)
    if not found:
        found.append(VariableStore())
    return found[0]  # type: ignore[no-any-return]
