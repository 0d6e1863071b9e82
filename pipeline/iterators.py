"""Iterators that may be handed on: `iter` of the user's object is called once, as it may begin anew each time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import TypeVar

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
