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
    """Return an iterator over `source` that stays where it is when `zip`, `islice` or `for` call `iter` of it.

    The `__iter__` of a class may start over and return the object itself, as that of many loaders does. So `iter` is
    called here, and nowhere else; steps in C ask what it returned by `__next__` alone.
    """
    made = iter(source)
    if isinstance(made, GeneratorType) or type(made).__module__ in _PLAIN:
        return made
    return itertools.starmap(made.__next__, itertools.repeat(()))


def why_async(source: Any) -> str | None:
    """Say why a thread cannot read what is async; None for what is not."""
    for call in (source, type(source).__call__) if callable(source) else ():
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            return "an async function cannot run in a thread of a queue"
    if hasattr(type(source), "__aiter__") and not hasattr(type(source), "__iter__"):
        return "an async iterator gives nothing to a thread of a queue; make it a generator"
    if inspect.isawaitable(source):
        return "nobody awaits it in a thread of a queue"
    return None
