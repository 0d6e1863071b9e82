"""Each thread's default session, set by `with sess:`, `sess.as_default()` or an InteractiveSession."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _SessionStack(threading.local):
    """The sessions entered by one thread. This file only uses a session's `.graph` and `.run`."""

    def __init__(self) -> None:
        self.entered: list[Any] = []


session_stack = _SessionStack()


@contextlib.contextmanager
def entered_session(session: Any) -> Iterator[Any]:
    """Make `session` this thread's default session within the context."""
    sessions = session_stack.entered
    sessions.append(session)
    try:
        yield session
    finally:
        if session in sessions:
            # The innermost entry: a session may be entered twice.
            del sessions[len(sessions) - 1 - sessions[::-1].index(session)]


def get_default_session() -> Any:
    """Return this thread's default session, or None."""
    return session_stack.entered[-1] if session_stack.entered else None


def session_for(session: Any, graph: object, what: str, method: str) -> Any:
    """Return the session for running an element of `graph`: `session` itself or, if None, the default session.

    Args:
        session: A session, or None.
        graph: The element's graph; it is only compared.
        what: The operation on the element for error messages, such as "evaluate tensor".
        method: The called method: "eval" or "run".

    Raises:
        ValueError: There is no default session, or the session runs another graph.
    """
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
