"""Which graph a thread adds to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.compat.core.graph_type import Graph


def _new() -> Graph:
    from pipeline.compat.core.graph_type import Graph

    return Graph()


class _Default(threading.local):
    """The graphs that a thread has entered, and the one that it adds to when there is none."""

    def __init__(self) -> None:
        self.stack: list[Graph] = []
        self.outermost: Graph | None = None


_default = _Default()


@contextlib.contextmanager
def entered(graph: Graph) -> Iterator[Graph]:
    """Let this thread add to `graph` within."""
    stack = _default.stack
    stack.append(graph)
    try:
        yield graph
    finally:
        if stack[-1] is not graph:
            raise AssertionError(f"Nesting violated for default stack of {type(graph)} objects")
        stack.pop()


def get_default_graph() -> Graph:
    """The graph that this thread adds to."""
    if _default.stack:
        return _default.stack[-1]
    if _default.outermost is None:
        _default.outermost = _new()
    return _default.outermost


def reset_default_graph() -> None:
    """Let this thread begin with an empty graph; AssertionError within a graph that was entered."""
    if _default.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    _default.outermost = _new()
