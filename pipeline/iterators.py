"""Iterators to pass on, made by a single call of `iter` on the user's object; async iterables raise an error."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any, TypeVar

T = TypeVar("T")

# Modules whose iterators return themselves from `iter`, and change nothing.
_PLAIN = ("builtins", "itertools")


def iterator_of(source: Iterable[T]) -> Iterator[T]:
    """Return an iterator over `source` that keeps its position when `zip`, `islice` or `for` call `iter` on it.

    A class's `__iter__` may start over and return the object itself, as many loaders do. So only this function calls
    `iter`; steps in C only call `__next__` on the result.
    """
    made = iter(source)
    if isinstance(made, GeneratorType) or type(made).__module__ in _PLAIN:
        return made
    return itertools.starmap(made.__next__, itertools.repeat(()))


def why_async(source: Any) -> str | None:
    """Explain why a thread cannot read an async object; None for other objects."""
    for call in (source, type(source).__call__) if callable(source) else ():
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            return "an async function cannot run in a queue's thread"
    if hasattr(type(source), "__aiter__") and not hasattr(type(source), "__iter__"):
        return "a queue's thread cannot read an async iterator; make it a generator"
    if inspect.isawaitable(source):
        return "it would never be awaited in a queue's thread"
    return None
