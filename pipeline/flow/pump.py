"""Pump: examples of an iterator, each kept as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline._flow import Kept, Results, pump
from pipeline.errors import OutOfRangeError
from pipeline.flow.block import Columns, Examples, tuple_of
from pipeline.flow.run import Run
from pipeline.nest import kept


class Pump:
    """Takes examples out of an iterator. An error comes after the examples before it.

    Args:
        iterator: The examples, or the function that returns them; OutOfRangeError ends them too.
        run: Says until when `next` waits. When the time is up, what came goes out.

    Attributes:
        ended: Whether there are no more.
    """

    def __init__(self, iterator: Iterator[Any] | Results, run: Run) -> None:
        self.iterator: Any = iterator
        self._run = run
        self._error: Exception | None = None
        self._lends = False
        self.ended = False

    def lend(self, iterator: Iterator[Any]) -> None:
        """From now on, give each example of an iterator alone, and its arrays themselves: no copies."""
        self.iterator, self._lends = iterator, True

    def take(self, n: int) -> Columns | Examples | None:
        """Return up to n examples; None at the end."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self.ended:
            return None
        run = self._run
        if hurried := run.hurried:
            run.check()
        if self._lends:
            return self._lent()
        found = Kept(n, kept, np.empty)
        try:
            if hurried:
                self._one_by_one(n, found)
            else:
                self.ended = pump(self.iterator, n, found)
        except OutOfRangeError:
            self.ended = True
        except Exception as error:
            if not found.count:
                raise
            self._error = error
        return values_of(found) if found.count else None

    def _lent(self) -> Examples | None:
        try:
            example = next(self.iterator)
        except (StopIteration, OutOfRangeError):
            self.ended = True
            return None
        return Examples([example if _only_arrays(example) else kept(example)])

    def _one_by_one(self, n: int, found: Kept) -> None:
        """Take examples until n are there, or the time is up."""
        while not self.ended and found.count < n:
            self.ended = pump(self.iterator, found.count + 1, found)
            if self._run.late:
                return


def _only_arrays(example: Any) -> bool:
    """Whether an example is an array, or arrays in a dict, tuple or list."""
    kind = type(example)
    if kind is dict:
        return all(type(each) is np.ndarray for each in example.values())
    return kind is np.ndarray or (kind in (tuple, list) and all(type(each) is np.ndarray for each in example))


def values_of(found: Kept) -> Columns | Examples:
    """Return examples that were kept."""
    structure, values = found.values()
    if structure is None:
        return Examples(values)
    (kind,) = structure
    if kind is None:
        return Examples(values[0]) if isinstance(values[0], list) else Columns(values[0], found.count)
    return Columns(tuple_of(values) if kind is tuple else dict(zip(kind, values, strict=True)), found.count)
