"""Which graph a thread adds to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.compat.graph.graph import Graph


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
