"""Variable: a value kept by each session from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from pipeline.compat.graph.default_session import get_default_session
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.graph import Graph
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import (
    add_to_collections,
    control_dependencies,
    device,
    get_default_graph,
    name_scope,
)
from pipeline.compat.graph.tensor import Operation, Reference, Tensor
from pipeline.compat.ops.arrays.brackets import getitem
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.control.flow import identity_of
from pipeline.compat.ops.variables import updates as state
from pipeline.compat.ops.variables.initializers import without_uninitialized
from pipeline.compat.values.convert import convert_to_tensor, register_tensor_conversion_function
from pipeline.compat.values.sparse_tensor import IndexedSlices


class VariableSynchronization(Enum):
    """Synchronisation mode for copies on several devices; without effect, because there is one device."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """Aggregation mode for copies on several devices; without effect, because there is one device."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3


class Variable:
    """A value read and assigned by operations. Each session has its own, and must initialise it.

    Args:
        initial_value: A tensor, a Python value, or a function that takes no arguments and returns either.
        trainable: Add it to TRAINABLE_VARIABLES; True by default.
        collections: Collections to add it to; GLOBAL_VARIABLES by default.
        validate_shape: If False, the shape is unknown until the variable is initialised, and may change.
        name: The name, made unique; "Variable" by default.
        variable_def: Must be None.
        dtype: The dtype; by default as `initial_value`.
        constraint: A function, kept as an attribute.
        synchronization: Kept as an attribute.
        aggregation: Kept as an attribute.
        shape: The static shape; by default as `initial_value`.
        caching_device, expected_shape, import_scope, use_resource: Ignored.

    Raises:
        ValueError: There is no initial value, its shape is not static, or it was made inside a branch or loop.
    """

    # Makes NumPy leave `array + variable` and similar to the variable's reflected operators.
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: Any = None,
        collections: Any = None,
        validate_shape: Any = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        use_resource: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            raise NotImplementedError("Variable from a VariableDef is not part of pipeline.compat.v1")
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        _check_arguments(initial_value, collections, constraint)
        self._synchronization = _mode(VariableSynchronization, synchronization, "synchronization", name)
        self._aggregation = _mode(VariableAggregation, aggregation, "aggregation", name)
        self._trainable = (
            self._synchronization is not VariableSynchronization.ON_READ if trainable is None else trainable
        )
        self._constraint = constraint
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        # A variable exists independently of branches and control dependencies.
        with control_dependencies(None):
            self._build(initial_value, validate_shape, name, dtype, shape)
        add_to_collections(collections, self)

    def _build(self, initial_value: Any, validate_shape: Any, name: str | None, dtype: Any, shape: Any) -> None:
        from_function = callable(initial_value) and not isinstance(initial_value, (Tensor, Variable))
        with name_scope(name, "Variable", [] if from_function else [initial_value]) as scope:
            if from_function:
                with name_scope("Initializer"), device(None):
                    value = convert_to_tensor(initial_value(), dtype, name="initial_value")
            else:
                value = convert_to_tensor(initial_value, dtype, name="initial_value")
                if value.op in get_default_graph()._unfetchable:
                    raise ValueError(
                        f"Initializer for variable {scope} is from inside a control-flow construct, such as a loop "
                        "or conditional. When creating a variable inside a loop or conditional, use a lambda as the "
                        "initializer."
                    )
            self._initial_value = value
            if shape is None:
                shape = value.get_shape() if validate_shape else None
            self._variable = state.variable_op(shape, value.dtype.base_dtype, scope)
            if validate_shape and not value.get_shape().is_fully_defined():
                raise ValueError(f"initial_value must have a shape specified: {value}")
            value = without_uninitialized(scope, value)
            self._initializer_op = state.assign(self._variable, value, validate_shape=validate_shape).op
            self._snapshot = identity_of(self._variable, "read")

    # Properties

    @property
    def name(self) -> str:
        """The ref tensor's name, such as "Variable:0"."""
        return self._variable.name

    @property
    def dtype(self) -> DType:
        """The dtype, a ref dtype."""
        return self._variable.dtype

    @property
    def shape(self) -> Any:
        """The static shape."""
        return self._variable.get_shape()

    def get_shape(self) -> Any:
        """Return the static shape."""
        return self._variable.get_shape()

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def op(self) -> Operation:
        """The VariableV2 operation."""
        return self._variable.op

    @property
    def graph(self) -> Graph:
        """The variable's graph."""
        return self._variable.graph

    @property
    def device(self) -> str:
        """The requested device."""
        return self._variable.device

    @property
    def trainable(self) -> Any:
        """True if it is trainable."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """As given."""
        return self._synchronization  # type: ignore[no-any-return]

    @property
    def aggregation(self) -> VariableAggregation:
        """As given."""
        return self._aggregation  # type: ignore[no-any-return]

    @property
    def constraint(self) -> Any:
        """As given."""
        return self._constraint

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor:
        """The initial value's tensor."""
        return self._initial_value

    # Reading

    def _ref(self) -> Tensor:
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def value(self) -> Tensor:
        """Return the value as one tensor shared by all readers."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Return the value read by a new operation with the current control inputs."""
        return identity_of(self._variable, "read")

    def initialized_value(self) -> Tensor:
        """Return the value, or the initial value while the variable is not initialised."""
        with control_dependencies(None):
            return cond(  # type: ignore[no-any-return]
                state.is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )

    def eval(self, session: Any = None) -> Any:
        """Return the value in `session` (default: the default session)."""
        return self._variable.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session` (default: the default session); ValueError if there is none."""
        session = session or get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    # Writing

    def assign(self, value: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True) -> Any:
        """Set the value; return the ref tensor, or the operation if not `read_value`."""
        assigned = state.assign(self._variable, value, use_locking=use_locking, name=name)
        return assigned if read_value else assigned.op

    def assign_add(self, delta: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True) -> Any:
        """Add to the value; otherwise as `assign`."""
        assigned = state.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return assigned if read_value else assigned.op

    def assign_sub(self, delta: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract from the value; otherwise as `assign`."""
        assigned = state.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return assigned if read_value else assigned.op

    def count_up_to(self, limit: int) -> Tensor:
        """Return the value and increment it; OutOfRangeError once it is `limit`."""
        return state.count_up_to(self._variable, limit)

    # Keys

    def experimental_ref(self) -> Any:
        """Return a hashable reference to the variable, for dicts and sets."""
        return Reference(self)

    ref = experimental_ref

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value())

    def __getitem__(self, key: Any) -> Tensor:
        return getitem(self.value(), key)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    __str__ = __repr__


def _check_arguments(initial_value: Any, collections: Any, constraint: Any) -> None:
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. "
            f"Got {collections} of type {type(collections)}"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")


def _mode(kind: Any, value: Any, what: str, name: str | None) -> Any:
    try:
        return kind(0 if value is None else value)
    except ValueError:
        raise ValueError(f"Invalid variable {what} mode: {value} for variable: {name}") from None


# Operators and scatter methods are generated, because written out they would be nearly the same forty times.

_OPERATORS = (
    "abs add radd sub rsub mul rmul truediv rtruediv div rdiv floordiv rfloordiv mod rmod pow rpow matmul "
    "rmatmul and rand or ror xor rxor lt le gt ge invert neg"
)


def _forward(operator: str) -> Callable[..., Any]:
    def method(self: Variable, *args: Any, **kwargs: Any) -> Any:
        return getattr(Tensor, operator)(self.value(), *args, **kwargs)

    method.__name__ = operator
    return method


def _scatter_method(operation: str) -> Callable[..., Any]:
    def method(self: Variable, sparse_delta: Any, use_locking: Any = False, name: str | None = None) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        update = getattr(state, operation)
        return update(self._variable, sparse_delta.indices, sparse_delta.values, use_locking, name)  # type: ignore[no-any-return]

    method.__name__ = operation
    method.__doc__ = f"As `tf.{operation}`, with the indices and values of the IndexedSlices `sparse_delta`."
    return method


for _name in _OPERATORS.split():
    setattr(Variable, f"__{_name}__", _forward(f"__{_name}__"))
for _name in ("update", "add", "sub"):
    setattr(Variable, f"scatter_{_name}", _scatter_method(f"scatter_{_name}"))


def _to_tensor(value: Any, dtype: DType | None, name: str | None, as_ref: bool) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype.base_dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable "
            f"of type '{value.dtype.name}' ({value})"
        )
    tensor: Tensor = value._ref() if as_ref else value.value()
    return tensor


register_tensor_conversion_function(Variable, _to_tensor)
