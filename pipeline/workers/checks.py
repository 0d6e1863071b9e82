"""What users give to workers, checked: the function, and the executor."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor


def check_function(what: str, function: Any) -> None:
    """Raise TypeError for what cannot make one example of an item."""
    if not callable(function):
        raise TypeError(f"{what} must be callable, not {function!r:.80}")
    for call in (function, type(function).__call__):
        if inspect.iscoroutinefunction(call):
            raise TypeError(f"{what} must return an example, and {function!r:.80} is async: nobody awaits it here")
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError(f"{what} must return an example, and {function!r:.80} yields: it would give a generator")


def check_executor(what: str, executor: Any) -> Executor:
    """Return the executor; TypeError if it is none."""
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"{what} must be a concurrent.futures.Executor, not {executor!r:.80}: such as pipeline.processes(4), "
            "pipeline.threads(4), or your own"
        )
    return executor  # type: ignore[no-any-return]
