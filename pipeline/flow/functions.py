"""Functions of the user's: refused where the chain is written if calling them cannot give what is wanted."""

from __future__ import annotations

import inspect
from typing import Any


def check_function(what: str, function: Any, makes: str = "an example", many: bool = False) -> None:
    """Raise TypeError for what cannot be called for a result.

    Args:
        what: What it is, for errors.
        function: The function.
        makes: What it has to return.
        many: Whether it may be a generator function.
    """
    if not callable(function):
        raise TypeError(f"{what} must be callable, not {function!r:.80}")
    for call in (function, type(function).__call__):
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError(f"{what} must return {makes}, and {function!r:.80} is async: nobody awaits it here")
        if not many and inspect.isgeneratorfunction(call):
            raise TypeError(f"{what} must return {makes}, and {function!r:.80} yields: it would give a generator")
