"""The default graph, and functions on it: name scopes, control dependencies, devices, collections, the seed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

from pipeline.compat.graph.graph import Graph, graph_stack
from pipeline.compat.graph.tensor import Operation, Tensor


class name_scope(contextlib.AbstractContextManager[str]):
    """A context manager that puts new operations under a name scope.

    Args:
        name: Scope name; None means `default_name`. A name ending in "/" enters an existing scope again.
        default_name: The name if `name` is None.
        values: Tensors; their graph becomes the default graph and gets the scope.

    Raises:
        ValueError: There are values but no name; or the name is not valid.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` must be a string, not {default_name!r:.80}; perhaps it is `values`")
        if name is None and default_name is None and values is not None:
            raise ValueError("At least one of name (None) and default_name (None) must be provided.")
        self._name = default_name if name is None else name
        self._values = values

    @property
    def name(self) -> str | None:
        """The scope's given name, before it is made unique."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_of(self._values)
        self._stack = contextlib.ExitStack()
        try:
            if graph is not get_default_graph():
                self._stack.enter_context(graph.as_default())
            return self._stack.enter_context(graph.name_scope(self._name))
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *exc: Any) -> None:
        self._stack.__exit__(*exc)


def graph_of(values: Any) -> Graph:
    """Return the graph of the tensors in `values`, or else the default graph; ValueError if their graphs differ."""
    first: Tensor | Operation | None = None
    for each in _with_parts(values or ()):
        if not isinstance(each, (Tensor, Operation)) and hasattr(each, "_as_graph_element"):
            each = each._as_graph_element()
        if isinstance(each, (Tensor, Operation)):
            if first is None:
                first = each
            elif each.graph is not first.graph:
                raise ValueError(f"{each} must be from the same graph as {first}.")
    return get_default_graph() if first is None else first.graph


def _with_parts(values: Any) -> Iterator[Any]:
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from each
        elif isinstance(each, dict):
            yield from each.values()
        else:
            yield each


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Make operations added within the context run after the given ones; see Graph.control_dependencies."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> contextlib.AbstractContextManager[None]:
    """Give the operations made within the context a device; see Graph.device. They run on the CPU regardless."""
    return get_default_graph().device(device_name_or_function)


def container(container_name: str) -> contextlib.AbstractContextManager[str]:
    """Set the container for queues and variables made within the context."""
    return get_default_graph().container(container_name)


@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """Enter a name scope; older form of `name_scope`."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def add_to_collection(name: Any, value: Any) -> None:
    """Append a value to a collection in the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append a value to several collections in the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return a copy of a collection in the default graph; see Graph.get_collection."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return the default graph's collection itself."""
    return get_default_graph().get_collection_ref(key)


def set_random_seed(seed: int | None) -> None:
    """Set the default graph's seed, which makes operations without their own seed reproducible too."""
    get_default_graph().seed = seed


def get_default_graph() -> Graph:
    """Return the graph this thread adds operations to."""
    if graph_stack.entered:
        return graph_stack.entered[-1]
    if graph_stack.outermost is None:
        graph_stack.outermost = Graph()
    return graph_stack.outermost


def reset_default_graph() -> None:
    """Give this thread a new, empty default graph; AssertionError within a graph's `as_default`."""
    if graph_stack.entered:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    graph_stack.outermost = Graph()


_LARGEST = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321


def seeds_or_none(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the pair of seeds; (None, None) if neither the graph nor the operation has one.

    In a seeded graph, operations without their own seed get 0, 1, 2 ... in creation order.

    Raises:
        TypeError: `op_seed` is not an integer.
    """
    if isinstance(op_seed, (str, bytes)):
        raise TypeError(f"a seed is an integer, not {op_seed!r}")
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = graph.seed, graph._next_op_seed() if op_seed is None else op_seed
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, op_seed
    else:
        return None, None
    first, second = (int(each) % _LARGEST for each in seeds)
    return (0, _LARGEST) if (first, second) == (0, 0) else (first, second)


def get_seed(op_seed: int | None) -> tuple[int, int]:
    """Return the pair of seeds; without any, (0, 0) for an unpredictable generator."""
    first, second = seeds_or_none(op_seed)
    return first or 0, second or 0


def shared_seed(graph_seed: int, shared_name: str) -> int:
    """Return the seed for a shared queue without its own: equal names get equal seeds."""
    return int(hashlib.md5(f"{graph_seed}{shared_name}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
