"""Keyword arguments that a function does not have: a TypeError that says which one may have been meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def tells_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that a wrong keyword argument is told as by `refusing_others`."""
    return refusing_others(function, list(inspect.signature(function).parameters))


def refusing_others(function: Callable[P, R], known: Sequence[str]) -> Callable[P, R]:
    """Wrap a function so that a keyword argument of another name than these is a TypeError with a hint."""
    names = frozenset(known)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in names:
                raise _unknown(function.__name__, name, known)
        return function(*args, **kwargs)

    return checked


def _unknown(function: str, name: str, known: Sequence[str]) -> TypeError:
    import difflib  # 1 ms, which a program without the mistake need not wait for

    near = [each for each in known if each.startswith(name)] or difflib.get_close_matches(name, known, 1, 0.6)
    hint = f"Did you mean '{near[0]}'?" if near else f"It takes {', '.join(known)}."
    return TypeError(f"{function}() got an unexpected keyword argument '{name}'. {hint}")
