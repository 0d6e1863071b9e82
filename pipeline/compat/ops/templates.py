"""tf.make_template: a function whose variables are made by its first call and shared by all."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.ops.variables.scope import VariableScope, variable_scope


class Template:
    """What `make_template` returns; to be called as the function."""

    def __init__(self, name: str, func: Callable[..., Any], unique_name: str | None, custom_getter: Any) -> None:
        self._name, self._func, self._unique_name, self._getter = name, func, unique_name, custom_getter
        self._scope: VariableScope | None = None
        self._made = False
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, in the template's variable scope."""
        with self._lock:
            if self._scope is None:
                with variable_scope(self._unique_name, self._name, custom_getter=self._getter) as scope:
                    self._scope = scope
                    return self._call(args, kwargs)
            with variable_scope(self._scope, reuse=True if self._made else None):
                return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        result = self._func(*args, **kwargs)
        self._made = True
        return result

    def _open(self) -> None:
        with variable_scope(self._unique_name, self._name, custom_getter=self._getter) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name that the template was given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; None before the first call."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a slash at its end; None before the first call."""
        if self._scope is None:
            return None
        name = self._scope.name
        return name if not name or name.endswith("/") else name + "/"

    def _variables(self, key: str) -> list[Any]:
        return [] if self._scope is None else get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def global_variables(self) -> list[Any]:
        """The global variables of the template."""
        return self._variables(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The local variables of the template."""
        return self._variables(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables of the template."""
        return self._variables(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        """The global and the local variables of the template."""
        return self.global_variables + self.local_variables


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Return a function that shares the variables which `func_` gets by `get_variable` between its calls.

    Args:
        name_: The scope of the variables; made unique.
        func_: The function.
        create_scope_now_: Choose the scope now, not at the first call.
        unique_name_: The scope's name as it is.
        custom_getter_: As for `variable_scope`.
        kwargs: Arguments for the function.
    """
    template = Template(name_, functools.partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        template._open()
    return template
