"""The graphs that each thread has entered with `as_default`; the innermost is the one it adds operations to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.compat.graph.graph import Graph


class _GraphStack(threading.local):
    """One thread's graphs: those it has entered, and the default one outside of all of them."""

    def __init__(self) -> None:
        self.entered: list[Graph] = []
        self.outermost: Graph | None = None


graph_stack = _GraphStack()


@contextlib.contextmanager
def entered(graph: Graph) -> Iterator[Graph]:
    """Make `graph` this thread's default graph within the context."""
    graphs = graph_stack.entered
    graphs.append(graph)
    try:
        yield graph
    finally:
        if graphs[-1] is not graph:
            raise AssertionError(f"Nesting violated for default stack of {type(graph)} objects")
        graphs.pop()
