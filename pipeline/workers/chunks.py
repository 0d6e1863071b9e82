"""What a worker of an executor does with a chunk of items: it calls the function for each and stacks the results."""

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
from pipeline.nest import Nest, has_nested, make_like
from pipeline.pulls import this_thread
from pipeline.queues.values import copied_lists


class Block(NamedTuple):
    """Examples of neighbouring items of a chunk that have the same structure, dtypes and shapes, stacked.

    Attributes:
        size: The number of examples.
        container: For dicts the tuple of their keys; for tuples and lists that class; None for single components; for
            nested examples a Nest.
        components: The values of each component: an array, or a list of values that are not NumPy's.
    """

    size: int
    container: Any
    components: Sequence[Any]


class FailedItem:
    """The error of an item for which the function failed.

    An exception that cannot be pickled and unpickled would break the whole executor, so an UnknownError replaces it.
    The `__cause__` of an error that comes from another process is a WorkerTraceback.
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
        return _unpickled, (data, only, "".join(traceback.format_exception(type(error), error, error.__traceback__)))


class WorkerTraceback(Exception):
    """The traceback of an exception in another process, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _unpickled(data: bytes, only: str, text: str) -> FailedItem:
    try:
        error: Exception = pickle.loads(data)
    except Exception:
        error = UnknownError(None, None, only)
    error.__cause__ = WorkerTraceback(text)
    return FailedItem(error)


class Draw(NamedTuple):
    """What `example_rng` needs to know in a worker: the two seeds, and the number of each item of the chunk."""

    seed: int
    seed2: int
    numbers: Sequence[int]


def map_chunk(
    function: Callable[[Any], Any], items: Sequence[Any], draw: Draw | None = None
) -> list[Block | FailedItem]:
    """Call a function with each item, even after it failed for one; return the results in the order of the items."""
    results: list[Block | FailedItem] = []
    outcomes = [_call(function, item) for item in items] if draw is None else _drawn(function, items, draw)
    for form, group in itertools.groupby(outcomes, operator.itemgetter(0)):
        parts = [part for _, part in group]
        if form is None:
            results += map(FailedItem, parts)
        else:
            results.append(Block(len(parts), form[0], [_stacked(list(values)) for values in zip(*parts, strict=True)]))
    return results


def _drawn(function: Callable[[Any], Any], items: Sequence[Any], draw: Draw) -> list[tuple[Any, Any]]:
    """As `_call` for each item, with `example_rng` by the number of the item."""
    before, outcomes = this_thread.draw, []
    try:
        for number, item in zip(draw.numbers, items, strict=True):
            this_thread.draw = (draw.seed, draw.seed2, number)
            outcomes.append(_call(function, item))
    finally:
        this_thread.draw = before
    return outcomes


def _call(function: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    """Return what the examples of a block share, and the components; or None and the error of the function."""
    try:
        example = function(item)
        if example is None:
            raise ValueError("the function returned None, which is not an example")
        container, parts = _taken_apart(example)
        if not parts:
            raise ValueError(f"the function returned {example!r}, an example without components")
        parts = [_private(part) for part in parts]
        return (container, [_form(part) for part in parts]), parts
    except (StopIteration, OutOfRangeError) as error:  # these would look like the end of the input
        other = RuntimeError(f"the function raised {type(error).__name__}")
        other.__cause__ = error
        return None, other
    except Exception as error:
        return None, error


def _taken_apart(example: Any) -> tuple[Any, list[Any]]:
    if has_nested(example, False):
        nest = Nest(example, False)
        return nest, nest.flatten(example)
    if isinstance(example, dict):
        return tuple(example), list(example.values())
    if isinstance(example, (list, tuple)):
        return type(example), list(example)
    return None, [example]


def _private(part: Any) -> Any:
    """Return a component that the function cannot change any more, even if it returns the same buffer each time.

    Tensors and the like become arrays; numbers, strings and lists stay what they are.
    """
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, np.generic):
        return part
    if hasattr(part, "__array__"):
        return np.array(part)
    return bytes(part) if isinstance(part, bytearray) else copied_lists(part)


def _form(part: Any) -> Any:
    """Return what the values of one component in a block must have in common."""
    if isinstance(part, np.ndarray):
        return part.dtype, part.shape
    return (type(part), np.shape(part)) if isinstance(part, (list, tuple)) else type(part)


def _stacked(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, np.ndarray):
        return np.stack(values) if first.dtype.hasobject else stack(values)
    return np.array(values) if isinstance(first, np.generic) else values


def example_at(block: Block, index: int) -> Any:
    """Return one example of a block."""
    return _put_together(block.container, [each[index] for each in block.components], False)


def split(block: Block, count: int) -> tuple[Any, Block | None]:
    """Return the first examples as a block, and the block of the others or None. A single component is in a list."""
    components, rest = block.components, None
    if count < block.size:
        components = [each[:count] for each in block.components]
        rest = block._replace(size=block.size - count, components=[each[count:] for each in block.components])
    return _put_together(block.container or list, components, True), rest


def _put_together(container: Any, parts: Sequence[Any], many: bool) -> Any:
    if isinstance(container, Nest):
        return container.pack(parts, many)
    if isinstance(container, tuple):
        return dict(zip(container, parts, strict=True))
    return parts[0] if container is None else make_like(container, parts)
