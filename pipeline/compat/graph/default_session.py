"""The session that a thread has entered: `with sess:` and `sess.as_default()`."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat.graph.graph import Graph
    from pipeline.compat.session.session import BaseSession


class _Default(threading.local):
    def __init__(self) -> None:
        self.stack: list[BaseSession] = []


_default = _Default()


@contextlib.contextmanager
def _pushed(session: BaseSession) -> Any:
    _default.stack.append(session)
    try:
        yield session
    finally:
        if session in _default.stack:
            # The last one: sessions may be entered several times.
            at = len(_default.stack) - 1 - _default.stack[::-1].index(session)
            del _default.stack[at]


def get_default_session() -> BaseSession | None:
    """This thread's default session; None if there is none."""
    return _default.stack[-1] if _default.stack else None


def session_for(session: Any, graph: Graph, what: str, method: str) -> Any:
    """Return `session`, or the default one, for an element of `graph`; ValueError if it is not its session."""
    other = f"the {what.split()[-1]}'s graph is different from the session's graph."
    if session is not None:
        if getattr(session, "graph", graph) is not graph:
            raise ValueError(f"Cannot use the given session to {what}: {other}")
        return session
    session = get_default_session()
    if session is None:
        colon = ":" if method == "run" else ""
        raise ValueError(
            f"Cannot {what} using `{method}()`: No default session is registered. Use `with sess.as_default(){colon}` "
            f"or pass an explicit session to `{method}(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            f"Cannot use the default session to {what}: {other} Pass an explicit session to `{method}(session=sess)`."
        )
    return session
