"""A chunk of items, as a worker of an executor handles it: the function for each, and what it gives stacked."""

from __future__ import annotations

import itertools
import operator
import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline._batch import stack
from pipeline.errors import OutOfRangeError, UnknownError
from pipeline.queues.values import copied_lists


class Run(NamedTuple):
    """Examples of neighbouring items of a chunk that are alike in containers, dtypes and shapes.

    Attributes:
        size: How many.
        container: The tuple of their keys if they are dicts; else tuple or list; None for single components.
        columns: The values of each component: an array, or a list of what is not made of NumPy's.
    """

    size: int
    container: Any
    columns: Sequence[Any]


class Failed:
    """An item of a chunk for which there is no example, and why.

    An exception that does not survive the way from a process would break the whole executor, so that an UnknownError
    takes its place. The `__cause__` of one that came that way is a WorkerTraceback.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        error = self.error
        try:
            data = pickle.dumps(error)
        except Exception:
            data = b""
        only = "".join(traceback.format_exception_only(type(error), error)).strip()
        return _arrived, (data, only, "".join(traceback.format_exception(type(error), error, error.__traceback__)))


class WorkerTraceback(Exception):
    """Where an exception was raised in a process, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _arrived(data: bytes, only: str, text: str) -> Failed:
    try:
        error: Exception = pickle.loads(data)
    except Exception:
        error = UnknownError(None, None, only)
    error.__cause__ = WorkerTraceback(text)
    return Failed(error)


def handle(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Run | Failed]:
    """Call a function with each item, also after it failed for one; what it gives, in the order of the items."""
    runs: list[Run | Failed] = []
    made = [_made(function, item) for item in items]
    for form, group in itertools.groupby(made, operator.itemgetter(0)):
        parts = [part for _, part in group]
        if form is None:
            runs += map(Failed, parts)
        else:
            runs.append(Run(len(parts), form[0], [_column(list(column)) for column in zip(*parts, strict=True)]))
    return runs


def _made(function: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    """What is common to the examples of a run, and the components; or None, and the error."""
    try:
        example = function(item)
        if example is None:
            raise ValueError("the function returned None, which is no example")
        container, parts = _opened(example)
        if not parts:
            raise ValueError(f"the function returned {example!r}, an example without components")
        parts = [_kept(part) for part in parts]
        return (container, [_form(part) for part in parts]), parts
    except (StopIteration, OutOfRangeError) as error:  # would look like the end of the input
        other = RuntimeError(f"the function raised {type(error).__name__}")
        other.__cause__ = error
        return None, other
    except Exception as error:
        return None, error


def _opened(example: Any) -> tuple[Any, list[Any]]:
    if isinstance(example, dict):
        return tuple(example), list(example.values())
    if isinstance(example, (list, tuple)):
        return list if isinstance(example, list) else tuple, list(example)
    return None, [example]


def _kept(part: Any) -> Any:
    """A component that the function cannot change any more, as one that returns the same buffer each time would; a
    queue, too, copies what goes in. Tensors and the like become arrays; numbers, strings and lists stay what they are.
    """
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, np.generic):
        return part
    if hasattr(part, "__array__"):
        return np.array(part)
    return bytes(part) if isinstance(part, bytearray) else copied_lists(part)


def _form(part: Any) -> Any:
    """What the values of a column must have in common."""
    if isinstance(part, np.ndarray):
        return part.dtype, part.shape
    return (type(part), np.shape(part)) if isinstance(part, (list, tuple)) else type(part)


def _column(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, np.ndarray):
        return np.stack(values) if first.dtype.hasobject else stack(values)
    return np.array(values) if isinstance(first, np.generic) else values


def row(run: Run, index: int) -> Any:
    """One example of a run."""
    parts = [column[index] for column in run.columns]
    if isinstance(run.container, tuple):
        return dict(zip(run.container, parts, strict=True))
    return parts[0] if run.container is None else run.container(parts)


def split(run: Run, count: int) -> tuple[Any, Run | None]:
    """The first examples of a run as a block: a list of columns, or a dict of them; and the run of the others."""
    columns, rest = run.columns, None
    if count < run.size:
        columns = [column[:count] for column in run.columns]
        rest = run._replace(size=run.size - count, columns=[column[count:] for column in run.columns])
    if isinstance(run.container, tuple):
        return dict(zip(run.container, columns, strict=True)), rest
    return list(columns), rest
