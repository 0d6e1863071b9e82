"""Graph: uniquely named operations, control dependencies, scopes and collections."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any

from pipeline.compat.graph.devices import Controller, Placement
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.locks import Lock

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class _Local(threading.local):
    """A graph's name scope, separate for each thread."""

    def __init__(self) -> None:
        self.name_stack = ""


class Graph(Placement):
    """Operations to run in a session.

    Thread safety: several threads may add to a graph and run it at the same time. Each has its own name scope.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._ops: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._local = _Local()
        self._collections: dict[Any, list[Any]] = {}
        self._control_flow_context: Any = None
        self._container = ""
        self._finalized = False
        self.version = 0
        self._seed: int | None = None
        self._op_seeds = 0
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()

    # Operations

    def _add(self, op: Operation, name: str, inputs: list[Tensor], control_inputs: list[Operation]) -> None:
        """Add an operation under a unique name; for `node`."""
        for each in inputs:
            if each.op.graph is not self:
                raise ValueError(f"{each} must be from the same graph as the operation '{name}' of type {op.type}.")
        for dependency in self._control_inputs_for(inputs):
            if dependency not in control_inputs:
                control_inputs.append(dependency)
        op.inputs, op.control_inputs = inputs, control_inputs
        if name[-1] != "/" and not (_SCOPE_NAME if self._local.name_stack else _OP_NAME).match(name):
            raise ValueError(f"'{name}' is not a valid node name")
        with self._lock:
            self._check_not_finalized()
            op.name = name[:-1] if name[-1] == "/" else self.unique_name(name)
            self.version += 1
            op._id = self.version
            self._ops[op.name] = op

    def _added(self, op: Operation) -> None:
        self._place(op)
        if self._control_flow_context is not None:
            self._control_flow_context.add_op(op)
        for controller in self._contexts.controllers:
            controller.seen.add(op)

    def _control_inputs_for(self, inputs: list[Tensor]) -> list[Operation]:
        """Return the control inputs the contexts add to an operation.

        Omit the operation's inputs. Also omit a context's control inputs if one of the operation's inputs was made in
        it, because that input already waits for them.
        """
        result: list[Operation] = []
        if not self._contexts.controllers:
            return result
        before = [each.op for each in inputs]
        for controller in self._contexts.controllers:
            if not any(op in controller.seen for op in before):
                result += [op for op in controller.control_inputs if op not in result and op not in before]
        return result

    def _next_op_seed(self) -> int:
        """Return the seed for the next operation without its own: 0, 1, 2 ..."""
        with self._lock:
            self._op_seeds += 1
            return self._op_seeds - 1

    def get_operations(self) -> list[Operation]:
        """Return all operations in creation order."""
        return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation with this name; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)  # type: ignore[no-any-return]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor with a name such as "add:0"; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)  # type: ignore[no-any-return]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Return the tensor or operation for `obj`: itself, its name, or an object such as a variable.

        Raises:
            TypeError: `obj` is none of these.
            ValueError: It belongs to another graph, or its name is malformed.
            KeyError: The graph has no element with this name.
        """
        what = " or ".join(
            each for each, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation)) if allowed
        )
        convert = getattr(obj, "_as_graph_element", None)
        element = obj if convert is None else convert()
        if isinstance(element, (Tensor, Operation)):
            if not (allow_tensor if isinstance(element, Tensor) else allow_operation):
                raise TypeError(f"Can not convert a {type(element).__name__} into a {what}.")
            if element.graph is not self:
                raise ValueError(f"{type(element).__name__} {element!r} is not an element of this graph.")
            return element
        if isinstance(element, bytes):
            element = element.decode()
        if not isinstance(element, str):
            raise TypeError(f"Can not convert a {type(element).__name__} into a {what}.")
        return (
            self._tensor_named(element, allow_operation)
            if ":" in element and allow_tensor
            else self._op_named(element, allow_tensor, allow_operation)
        )

    def _tensor_named(self, name: str, allow_operation: bool) -> Tensor:
        op_name, _, number = name.partition(":")
        if not op_name or not number.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must be of the "
                'form "<op_name>:<output_index>".'
            )
        op = self._ops.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, does not "
                "exist in the graph."
            )
        if int(number) >= len(op.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, exists but "
                f"only has {len(op.outputs)} outputs."
            )
        return op.outputs[int(number)]

    def _op_named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Operation:
        if allow_operation:
            op = self._ops.get(name)
            if op is not None:
                return op
            if ":" in name:
                raise ValueError(f"The name {name!r} looks like a Tensor name, not an Operation name.")
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        if name in self._ops:
            raise ValueError(
                f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        raise ValueError(
            f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form "
            '"<op_name>:<output_index>".'
        )

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the operations added after `from_version` as a GraphDef, optionally with all output shapes."""
        from pipeline.compat.graph.definitions import graph_def  # few programs look at definitions

        return graph_def((op for op in self.get_operations() if op._id > (from_version or 0)), add_shapes)

    def is_feedable(self, tensor: Any) -> bool:
        """Return whether a run may be fed a value for the tensor."""
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor: Any) -> None:
        """Forbid feeding the tensor."""
        self._unfeedable.add(tensor)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Return whether a run may fetch it."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def prevent_fetching(self, op: Any) -> None:
        """Forbid fetching the operation."""
        self._unfetchable.add(op)

    # Names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` in the current scope, numbered if it is in use; upper and lower case count as equal."""
        if self._local.name_stack:
            name = f"{self._local.name_stack}/{name}"
        key = base = name.lower()
        with self._lock:
            number = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = number + 1
            if number:
                while key in self._names_in_use:
                    key = f"{base}_{number}"
                    number += 1
                if mark_as_used:
                    self._names_in_use[key] = 1
                name = f"{name}_{number - 1}"
        return name

    def get_name_scope(self) -> str:
        """Return the current name scope, without a final "/"."""
        return self._local.name_stack

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put operations made within the context under the scope `name`; yields the scope with a final "/"."""
        if name:
            if isinstance(name, (Tensor, Operation)):
                raise TypeError(f"A scope name is a string, not {name!r}")
            pattern = _SCOPE_NAME if self._local.name_stack else _OP_NAME
            if not pattern.match(name):
                kind = "scope name" if self._local.name_stack else "root scope name"
                raise ValueError(f"'{name}' is not a valid {kind}: it has to match {pattern.pattern}")
        old = self._local.name_stack
        new = "" if not name else name[:-1] if name[-1] == "/" else self.unique_name(name)
        self._local.name_stack = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self._local.name_stack = old

    # Contexts

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Make operations added within the context run after the given ones; None ignores the outer contexts."""
        old, context = self._contexts.controllers, self._control_flow_context
        if control_inputs is None:
            self._contexts.controllers, self._control_flow_context = [], None
        else:
            ops = []
            for each in control_inputs:
                if hasattr(each, "dense_shape") or (hasattr(each, "values") and hasattr(each, "indices")):
                    each = each.op
                element = self.as_graph_element(each)
                op = element.op if isinstance(element, Tensor) else element
                if op not in ops:
                    ops.append(op)
            self._contexts.controllers = [*old, Controller(ops)]
        try:
            yield
        finally:
            self._contexts.controllers, self._control_flow_context = old, context

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Set the container for queues and variables made within the context."""
        old, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = old

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Return a context that makes this graph the thread's default graph."""
        return _entered(self)

    # Collections

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append a value to a collection."""
        with self._lock:
            self._check_not_finalized()
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append a value to several collections."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the collection itself; create it if necessary."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of a collection; with `scope`, only items with a name matching this regular expression."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        match = re.compile(scope).match
        return [each for each in items if hasattr(each, "name") and match(each.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """Return collection names that are strings."""
        return [name for name in self._collections if isinstance(name, str)]

    def clear_collection(self, name: Any) -> None:
        """Remove a collection."""
        self._check_not_finalized()
        self._collections.pop(name, None)

    # State

    @property
    def collections(self) -> list[Any]:
        """The collection names."""
        return list(self._collections)

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        """True if operations can no longer be added."""
        return self._finalized

    def finalize(self) -> None:
        """Make the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def building_function(self) -> bool:
        """True if this graph is a function body; never."""
        return False


class _GraphStack(threading.local):
    """The graphs one thread has entered with `as_default`, and its outermost default graph."""

    def __init__(self) -> None:
        self.entered: list[Graph] = []
        self.outermost: Graph | None = None


graph_stack = _GraphStack()


@contextlib.contextmanager
def _entered(graph: Graph) -> Iterator[Graph]:
    """Make `graph` this thread's default graph within the context."""
    graphs = graph_stack.entered
    graphs.append(graph)
    try:
        yield graph
    finally:
        if graphs[-1] is not graph:
            raise AssertionError(f"Nesting violated for default stack of {type(graph)} objects")
        graphs.pop()
