"""The kinds of queue: FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PaddingShuffleQueue, PriorityQueue."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.dtypes import whole
from pipeline.errors import invalid
from pipeline.queues.base import QueueBase
from pipeline.queues.components import (
    Component,
    component,
    parse_capacity,
    parse_dtypes,
    parse_names,
    parse_partial_shapes,
    parse_shapes,
)
from pipeline.queues.seeds import generator_seeds
from pipeline.queues.typed import TypedQueue
from pipeline.stats import QueueStats

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PaddingShuffleQueue",
    "PriorityQueue",
    "QueueBase",
    "QueueStats",
    "RandomShuffleQueue",
]


class FIFOQueue(TypedQueue):
    """A queue whose elements leave in the order in which they came.

    Args:
        capacity: How many elements fit; negative or None for no limit. Memory follows what is held.
        dtypes: The dtype of the components, or a list of them: anything `np.dtype` takes (byte order becomes the
            machine's); `bytes`, `str` or "string" for strings of any length, which come out as bytes; `object` for any
            object, held by reference. None: the first element fixes dtypes and shapes.
        shapes: None (elements of any shape; `dequeue_many` is then not available), one shape, or a list with one each.
        names: None, or a name for each component: elements are then dicts.
        shared_name: Ignored: every queue is private.
        name: The name that messages show.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: all methods may be called from any thread. Calls on one side are served strictly in the order in
    which they came, each element is delivered once, and none is lost to a timeout, an interrupt or an error.
    """

    kind = "FIFOQueue"
    _default_name = "fifo_queue"

    def __init__(
        self,
        capacity: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        components, names = _described(dtypes, shapes, names)
        self._setup("fifo", parse_capacity(capacity), name, components, names)


class RandomShuffleQueue(TypedQueue):
    """A queue whose elements leave in random order.

    Args:
        capacity: As for FIFOQueue.
        min_after_dequeue: While the queue is open, dequeues leave at least that many elements in it to draw from. At
            least 0 and less than the capacity.
        dtypes, shapes, names, shared_name, name: As for FIFOQueue.
        seed: Fixes the draws: the same calls in the same order then give the elements that TensorFlow would give. None:
            unpredictable, unless `set_random_seed` was called.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: as FIFOQueue. With several threads the order depends on their timing too.
    """

    kind = "RandomShuffleQueue"
    _default_name = "random_shuffle_queue"

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:
        components, names = _described(dtypes, shapes, names)
        limit, minimum = shuffle_limits(capacity, min_after_dequeue)
        self._setup("shuffle", limit, name, components, names, minimum, generator_seeds(seed))


class PaddingFIFOQueue(TypedQueue):
    """A FIFOQueue for elements that vary in shape, padded to the largest of each batch.

    Args:
        capacity: As for FIFOQueue.
        dtypes: As for FIFOQueue, but not None.
        shapes: A list with a shape for each component, in which None is a dimension of any size. `dequeue_many` and
            `dequeue_up_to` fill up with 0, False or b"" to the largest size in the batch.
        names, shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: as FIFOQueue.
    """

    kind = "PaddingFIFOQueue"
    _default_name = "padding_fifo_queue"

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:
        parsed = parse_dtypes(dtypes)
        components = [component(*each) for each in zip(parsed, parse_partial_shapes(shapes, len(parsed)), strict=True)]
        self._setup("fifo", parse_capacity(capacity), name, components, parse_names(names, len(parsed)))


class PaddingShuffleQueue(TypedQueue):
    """A RandomShuffleQueue for elements that vary in shape, padded to the largest of each batch.

    TensorFlow has none; the draws are those of RandomShuffleQueue, the padding is that of PaddingFIFOQueue.

    Args:
        capacity, min_after_dequeue, seed: As for RandomShuffleQueue.
        dtypes, shapes: As for PaddingFIFOQueue.
        names, shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: as RandomShuffleQueue.
    """

    kind = "PaddingShuffleQueue"
    _default_name = "padding_shuffle_queue"

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "padding_shuffle_queue",
    ) -> None:
        parsed = parse_dtypes(dtypes)
        components = [component(*each) for each in zip(parsed, parse_partial_shapes(shapes, len(parsed)), strict=True)]
        limit, minimum = shuffle_limits(capacity, min_after_dequeue)
        seeds = generator_seeds(seed)
        self._setup("shuffle", limit, name, components, parse_names(names, len(parsed)), minimum, seeds)


class PriorityQueue(TypedQueue):
    """A queue whose elements leave in the order of their priority, the smallest number first.

    Each element's first component is its priority, an int64 scalar, which comes out with it. Elements of equal priority
    leave in no particular order. `dequeue_many` waits until n elements are there and then takes the n smallest.

    Args:
        capacity: As for FIFOQueue.
        types: The dtypes of the components after the priority. None: the first element fixes dtypes and shapes.
        shapes: Their shapes, as for FIFOQueue.
        names: None, or a name for each component, the priority first.
        shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: as FIFOQueue.
    """

    kind = "PriorityQueue"
    _default_name = "priority_queue"
    _priority = component(np.dtype(np.int64), ())

    def __init__(
        self,
        capacity: int,
        types: Any = None,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "priority_queue",
    ) -> None:
        components = None
        if types is not None:
            components = [self._priority, *(_described(types, shapes, None)[0] or ())]
            if names is not None and len(names) != len(components):
                raise ValueError(
                    f"Queue names must have the same length as dtypes, the priority's included, got {names!r}"
                )
        self._setup("priority", parse_capacity(capacity), name, components, None if names is None else list(names))

    def _describe(self, values: tuple[Any, ...], many: bool) -> list[Component]:
        return [self._priority, *super()._describe(values, many)[1:]]


def shuffle_limits(capacity: int, min_after_dequeue: int) -> tuple[int, int]:
    """The capacity and the minimum of a shuffle queue."""
    limit, minimum = parse_capacity(capacity), whole(min_after_dequeue, "min_after_dequeue")
    if minimum < 0:
        raise invalid(f"min_after_dequeue {minimum} must be >= 0")
    if minimum >= limit:
        raise invalid(f"min_after_dequeue {minimum} must be < capacity {limit}")
    return limit, minimum


def _described(dtypes: Any, shapes: Any, names: Any) -> tuple[list[Component] | None, list[str] | None]:
    """The components and names that the arguments of a constructor describe."""
    if dtypes is None:
        if shapes is not None:
            raise ValueError("shapes without dtypes: give both, or neither and let the first element fix them")
        return None, None if names is None else [names] if isinstance(names, str) else list(names)
    parsed = parse_dtypes(dtypes)
    pairs = zip(parsed, parse_shapes(shapes, len(parsed)), strict=True)
    return [component(dtype, shape) for dtype, shape in pairs], parse_names(names, len(parsed))
