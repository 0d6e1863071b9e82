"""variable_scope and get_variable: named variables, and defaults for all variables in a scope."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import get_collection, get_default_graph, graph_of, name_scope
from pipeline.compat.ops.variables.store import AUTO_REUSE, default_store
from pipeline.compat.ops.variables.variable import VariableAggregation, VariableSynchronization
from pipeline.compat.values.convert import convert_to_tensor

_KEY = ("__varscope",)
_INHERITED = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource")


class VariableScope:
    """A prefix for variable names, and defaults for `get_variable`.

    Attributes:
        name: The prefix.
        original_name_scope: The name scope made when the scope was first entered.
        reuse: True only finds variables; AUTO_REUSE finds or makes them; False or None only makes them.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: Defaults
            for the `get_variable` arguments with these names.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: Any = None,
        constraint: Any = None,
    ) -> None:
        self.reuse, self.name, self.original_name_scope = reuse, name, name_scope
        self.initializer, self.regularizer, self.caching_device = initializer, regularizer, caching_device
        self.partitioner, self.custom_getter, self.dtype = partitioner, custom_getter, dtype
        self.use_resource, self.constraint = use_resource, constraint

    def reuse_variables(self) -> None:
        """Only find variables from now on."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default."""
        self.initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        """Set the default."""
        self.dtype = dtype

    def set_use_resource(self, use_resource: Any) -> None:
        """Set the default."""
        self.use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Set the default."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set the default."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set the default."""
        self.custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """Return collection members with names in this scope."""
        return get_collection(name, f"{self.name}/" if self.name else "")

    def trainable_variables(self) -> list[Any]:
        """Return the scope's trainable variables."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Return the scope's global variables."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Return the scope's local variables."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, store: Any, name: str, **options: Any) -> Any:
        """Return the variable `name` in this scope; see the function `get_variable`."""
        dtype, initializer = options.get("dtype"), options.get("initializer")
        full_name = f"{self.name}/{name}" if self.name else name
        # Variable names come from variable scopes alone, not from name scopes.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != dtype:
                    raise ValueError(f"Initializer type '{found!r}' and explicit dtype '{dtype!r}' don't match.")
            for option in (*_INHERITED, "constraint", "reuse"):
                if options.get(option) is None:
                    options[option] = getattr(self, option)
            return store.get_variable(full_name, **options)


class _Scopes(threading.local):
    """A thread's current variable scope, and a count per opened name."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_within(self, name: str) -> None:
        for each in self.counts:
            if each.startswith(f"{name}/"):
                self.counts[each] = 0

    def unique(self, prefix: str) -> str:
        name = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.counts.get(name):
            return prefix
        number = 1
        while self.counts.get(f"{name}_{number}"):
            number += 1
        return f"{prefix}_{number}"


def _scopes() -> _Scopes:
    found = get_default_graph().get_collection_ref(_KEY)
    if not found:
        found.append(_Scopes())
    return found[0]  # type: ignore[no-any-return]


def get_variable_scope() -> VariableScope:
    """Return the current variable scope."""
    return _scopes().current


class variable_scope(contextlib.AbstractContextManager[VariableScope]):
    """Context manager that enters a variable scope, and a name scope with it. Other arguments are its defaults.

    Args:
        name_or_scope: The name for a scope inside the current one, or a VariableScope to enter again; None makes a new
            name from `default_name`.
        default_name: The name to make unique if there is no `name_or_scope`.
        values: Tensors; all must be in one graph.
        reuse: True: `get_variable` only finds variables; AUTO_REUSE: it finds or makes them; None: as in the enclosing
            scope.
        auxiliary_name_scope: If False, do not enter a name scope.

    Raises:
        TypeError: There is neither a name nor a default name, or the name is not a string or scope.
        ValueError: `reuse` has another value, or is True without a name.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        self._reuse = None if reuse is False else reuse
        if not (self._reuse is True or self._reuse is None or self._reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._values, self._auxiliary = values or [], auxiliary_name_scope
        self._defaults = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
        }
        self._constraint = constraint
        self._entered: list[tuple[contextlib.ExitStack, _Scopes, VariableScope, VariableScope, Any]] = []

    def __enter__(self) -> VariableScope:
        stack = contextlib.ExitStack()
        with stack:
            stack.enter_context(graph_of(self._values).as_default())
            scope = self._enter(stack)
            stack = stack.pop_all()
        scopes, old, counts = self._last
        self._entered.append((stack, scopes, old, scope, counts))
        return scope

    def _enter(self, stack: contextlib.ExitStack) -> VariableScope:
        given = self._name_or_scope
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            inner = stack.enter_context(self._names(self._default_name or ""))
            return self._open(_scopes().unique(self._default_name or ""), inner)
        if not isinstance(given, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        names = given if isinstance(given, str) else given.name.split("/")[-1]
        outer: str | None = None
        if names or not self._auxiliary:
            outer = stack.enter_context(self._names(names))
        return self._open(given, outer)

    def _names(self, name: str) -> name_scope:
        if self._auxiliary:
            return name_scope(name)
        current = get_default_graph().get_name_scope()
        return name_scope(f"{current}/" if current else current)

    def _open(self, given: Any, outer: str | None) -> VariableScope:
        scopes = _scopes()
        old = scopes.current
        counts = None
        if isinstance(given, VariableScope):
            base, name, names = given, given.name, given.original_name_scope
            scopes.open(name)
            counts = dict(scopes.counts)
        else:
            base = old
            name = f"{old.name}/{given}" if old.name else given
            names = given if outer is None else outer
        options = {option: getattr(base, option) for option in _INHERITED}
        for option, value in self._defaults.items():
            if option == "custom_getter" and value is not None and base.custom_getter is not None:
                value = _nested_getter(value, base.custom_getter)
            if value is not None:
                options[option] = value
        scope = VariableScope(
            self._reuse or base.reuse, name=name, name_scope=names, constraint=self._constraint, **options
        )
        if counts is None:
            scopes.open(name)
        scopes.current = scope
        self._last = scopes, old, counts
        return scope

    def __exit__(self, *exc: Any) -> None:
        stack, scopes, old, scope, counts = self._entered.pop()
        with stack:
            if scopes.current is not scope:
                raise RuntimeError("Improper nesting of variable_scope.")
            if counts is not None:
                scopes.counts = counts
            else:
                scopes.close_within(scope.name)
            scopes.current = old


def _nested_getter(getter: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    def both(true_getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(lambda *inner, **more: outer(true_getter, *inner, **more), *args, **kwargs)

    # Callers pass `getter` by keyword.
    return lambda getter, *args, **kwargs: both(getter, *args, **kwargs)


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: Any = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Return the variable `name` in the current scope, found or made depending on the scope's `reuse`.

    Args:
        name: The name inside the scope.
        shape: The shape; omit it if `initializer` is a value.
        dtype: The dtype, float32 by default.
        initializer: A function of shape and dtype, or a value; by default glorot_uniform for floats, zeros otherwise.
        regularizer: A function; its result for the variable is added to REGULARIZATION_LOSSES.
        trainable: Add it to TRAINABLE_VARIABLES.
        collections: Collections to add it to; GLOBAL_VARIABLES by default.
        custom_getter: Called as `custom_getter(getter, name, ...)` instead of the getter.

    See `Variable` for the other arguments.

    Raises:
        ValueError: The variable exists but must not, or must exist but does not; or arguments contradict each other.
    """
    options = {**locals()}
    del options["name"]
    return get_variable_scope().get_variable(default_store(), name, **options)


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return a variable as `get_variable` does, but in LOCAL_VARIABLES and not trainable."""
    names = get_variable.__code__.co_varnames[1 : get_variable.__code__.co_argcount]
    options = {"trainable": False, **dict(zip(names, args, strict=False)), **kwargs}
    options["collections"] = [*(options.get("collections") or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, **options)
