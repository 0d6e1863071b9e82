"""User functions: their names, checks and errors.

Unsuitable functions are rejected at the user's line with the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pipeline.errors import OutOfRangeError
from pipeline.on_error import add_note
from pipeline.tracebacks import from_handler


def check_function(what: str, function: Any, makes: str = "an example", many: bool = False) -> None:
    """Raise TypeError unless a function can be called and returns a result.

    Args:
        what: The function's name in errors.
        function: The function.
        makes: Its required result.
        many: True if it may be a generator function.
    """
    if type(function) is FunctionType and _is_usual(function):
        return
    if not callable(function):
        raise TypeError(f"{what} must be callable, not {function!r:.80}")
    for call in (function, type(function).__call__):
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError(f"{what} must return {makes}, but {function!r:.80} is async and would never be awaited")
        if not many and inspect.isgeneratorfunction(call):
            raise TypeError(f"{what} must return {makes}, but {function!r:.80} uses yield and would return a generator")
    _check_takes_one(what, function)


def _is_usual(function: FunctionType) -> bool:
    """Return whether a function returns a result and takes one argument. `inspect` would need 20 us for this."""
    code, defaults = function.__code__, function.__defaults__ or ()
    if code.co_flags & _OTHERS or code.co_kwonlyargcount or "__signature__" in vars(function):
        return False
    return code.co_argcount - len(defaults) <= 1 <= code.co_argcount


# Flags for functions that return no result, or take any number of arguments.
_OTHERS = (
    inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_VARARGS
)


def _check_takes_one(what: str, function: Any) -> None:
    """Raise TypeError if a function certainly cannot be called with one argument."""
    try:
        takes = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # many built-in functions have no signature
        return
    try:
        takes.bind(None)
    except TypeError:
        needed = [each for each in takes.parameters.values() if each.default is each.empty]
        hint = "" if len(needed) < 2 else ": an example is one argument, such as a tuple"
        raise TypeError(f"{what} must take one argument, but {function!r:.80} takes {takes}{hint}") from None


def name_of(function: Any) -> str:
    """Return a user function's name for errors and reports."""
    inner = getattr(function, "func", function)  # for a partial
    return str(getattr(inner, "__qualname__", type(inner).__qualname__)).replace("<locals>.", "").split(".")[-1]


def called(function: Callable[..., Any], argument: Any, about: Callable[[], str]) -> Any:
    """Call a user function and return its result.

    Args:
        function: The function.
        argument: Its argument.
        about: Returns the argument's name for errors.

    Raises:
        RuntimeError: It raised an exception that would look like the input's end.
        Exception: Its own error, with a note about both.
    """
    try:
        return function(argument)
    except Exception as error:
        if from_handler(error):
            raise
        told, name = error, name_of(function)
        if isinstance(error, (StopIteration, OutOfRangeError)):
            told = RuntimeError(f"{name} raised {type(error).__name__}")
            told.__cause__ = error
        add_note(told, f"{name}: {about()}")
        raise told from told.__cause__
