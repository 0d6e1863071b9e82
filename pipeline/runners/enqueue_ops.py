"""A QueueRunner's enqueue and close operations, called directly or by a session."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol


class Fillable(Protocol):
    """The interface for a QueueRunner's queue."""

    @property
    def name(self) -> str: ...

    def close(self, cancel_pending_enqueues: bool = ...) -> Any: ...


def make_callable(sess: Any, op: Any) -> Callable[[], object]:
    """Return a function to run `op`: the op itself, or the session's callable for it.

    Raises:
        TypeError: There is no session, and `op` is not callable.
    """
    if sess is not None:
        run: Callable[[], object] = sess.make_callable(op)
        return run
    if not callable(op):
        raise TypeError(f"An enqueue op must be a callable without arguments, not {op!r}")
    return op  # type: ignore[no-any-return]


def op_name(op: Any) -> str:
    """Return an op's name for thread names and messages: a callable's `__qualname__`, else its `name`."""
    while isinstance(op, functools.partial) and "__qualname__" not in vars(op):
        op = op.func
    for attribute in ("__qualname__", "name"):
        name = getattr(op, attribute, None)
        if isinstance(name, str):
            return name
    return type(op).__qualname__
