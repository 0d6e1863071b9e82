"""What QueueRunners run: a queue's fill and close operations, called directly or by a session."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol


class Fillable(Protocol):
    """What a QueueRunner asks of its queue."""

    @property
    def name(self) -> str: ...

    def close(self, cancel_pending_enqueues: bool = ...) -> Any: ...


def make_callable(sess: Any, op: Any) -> Callable[[], object]:
    """Return what runs `op`: the op itself, or, when there is a session, that session's callable for it."""
    if sess is not None:
        run: Callable[[], object] = sess.make_callable(op)
        return run
    if not callable(op):
        raise TypeError(f"An enqueue op must be a callable without arguments, not {op!r}")
    return op  # type: ignore[no-any-return]


def op_name(op: Any) -> str:
    """Return the name of an op for people: a graph op's name, else the `__qualname__` of a callable."""
    while isinstance(op, functools.partial):
        op = op.func
    for attribute in ("__qualname__", "name"):
        name = getattr(op, attribute, None)
        if isinstance(name, str):
            return name
    return type(op).__qualname__
