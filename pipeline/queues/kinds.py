"""The queue kinds: FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PaddingShuffleQueue, PriorityQueue.

Each kind parses its own arguments. `pyx/serving.pxd` decides when a call waits, and that a shuffle queue retains
`min_after_dequeue` elements; `pyx/orders.pxd` chooses the next element to leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.dtypes import truth, whole
from pipeline.errors import invalid
from pipeline.orders.seeds import generator_seeds
from pipeline.queues.components import (
    Component,
    component,
    parse_capacity,
    parse_dtypes,
    parse_names,
    parse_partial_shapes,
    parse_shapes,
)
from pipeline.queues.typed import TypedQueue


class FIFOQueue(TypedQueue):
    """A queue whose elements leave in the order they entered.

    Args:
        capacity: Maximum number of elements; negative or None for no limit. Memory grows with the elements.
        dtypes: One dtype per component, or one dtype: anything that `np.dtype` takes, "string" for bytes with any
            length, or `object` for your objects, held by reference. None: your first element fixes dtypes and shapes.
        shapes: One shape per component, or one shape. None takes any shape, but without `dequeue_many`.
        names: One name per component; elements are then dicts.
        shared_name: Ignored: every queue is private.
        name: Name in errors and for threads.

    Raises:
        InvalidArgumentError, ValueError, TypeError: The arguments do not describe a queue.

    Thread safety: you may call all methods from any thread. Calls on one side are served in order. Each element is
        delivered once; no timeout, interrupt or error loses one.

    Examples:
        >>> queue = pipeline.FIFOQueue(10, ["float32", "int32"], shapes=[(2,), ()])
        >>> queue.enqueue_many(([[1, 2], [3, 4], [5, 6]], [0, 1, 2]))
        >>> features, labels = queue.dequeue_many(2)
        >>> features.tolist(), labels.tolist()
        ([[1.0, 2.0], [3.0, 4.0]], [0, 1])
        >>> queue.close()
        >>> len(queue.dequeue_up_to(2)[1])
        1
        >>> queue.dequeue()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        pipeline.errors.OutOfRangeError: ...
    """

    _kind_name = "FIFOQueue"
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
        min_after_dequeue: Elements that stay in an open queue, to draw from: a larger number mixes better.
        dtypes, shapes, names, shared_name, name: As for FIFOQueue.
        seed: Fixes the draws: the same calls give the same elements as TensorFlow. None is random, unless you called
            `set_random_seed`.
        deterministic: Draw each element from exactly the `min_after_dequeue + 1` oldest ones. With a seed the order
            then depends only on the order of arrival, not on timing, threads or capacity.

    Raises:
        InvalidArgumentError, ValueError, TypeError: The arguments do not describe a queue.

    Thread safety: as FIFOQueue.

    Examples:
        >>> queue = pipeline.RandomShuffleQueue(100, min_after_dequeue=5, dtypes="int64", shapes=[()], seed=1)
        >>> queue.enqueue_many(range(10))
        >>> queue.dequeue_many(5).tolist()
        [7, 8, 1, 3, 9]
        >>> queue.size()  # what is left to draw from
        5
    """

    _kind_name = "RandomShuffleQueue"
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
        *,
        deterministic: bool = False,
    ) -> None:
        components, names = _described(dtypes, shapes, names)
        capacity, min_after_dequeue = shuffle_limits(capacity, min_after_dequeue)
        order = "lockstep" if truth(deterministic, "deterministic") else "shuffle"
        self._setup(order, capacity, name, components, names, min_after_dequeue, generator_seeds(seed))


class PaddingFIFOQueue(TypedQueue):
    """A FIFOQueue for elements with different shapes; a batch is padded to its largest element.

    Args:
        capacity: As for FIFOQueue.
        dtypes: As for FIFOQueue, but not None.
        shapes: A list with one shape per component; a None dimension may have any size. `dequeue_many` and
            `dequeue_up_to` pad it with 0, False or b"" to the largest size in the batch.
        names, shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: The arguments do not describe a queue.

    Thread safety: as FIFOQueue.

    Examples:
        >>> queue = pipeline.PaddingFIFOQueue(10, "int32", shapes=[(None,)])
        >>> for words in ([1], [2, 3, 4], [5, 6]):
        ...     queue.enqueue([words])
        >>> queue.dequeue_many(3).tolist()
        [[1, 0, 0], [2, 3, 4], [5, 6, 0]]
    """

    _kind_name = "PaddingFIFOQueue"
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
        components = _partly_described(dtypes, shapes)
        self._setup("fifo", parse_capacity(capacity), name, components, parse_names(names, len(components)))


class PaddingShuffleQueue(TypedQueue):
    """A RandomShuffleQueue for elements with different shapes; a batch is padded to its largest element.

    TensorFlow lacks this queue. It draws as RandomShuffleQueue and pads as PaddingFIFOQueue.

    Args:
        capacity, min_after_dequeue, seed, deterministic: As for RandomShuffleQueue.
        dtypes, shapes: As for PaddingFIFOQueue.
        names, shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: The arguments do not describe a queue.

    Thread safety: as RandomShuffleQueue.

    Examples:
        >>> queue = pipeline.PaddingShuffleQueue(10, 0, "int64", shapes=[(None,)], seed=1)
        >>> for length in 1, 2, 3:
        ...     queue.enqueue([np.ones(length)])
        >>> queue.dequeue_many(3).shape
        (3, 3)
    """

    _kind_name = "PaddingShuffleQueue"
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
        *,
        deterministic: bool = False,
    ) -> None:
        components = _partly_described(dtypes, shapes)
        capacity, min_after_dequeue = shuffle_limits(capacity, min_after_dequeue)
        order = "lockstep" if truth(deterministic, "deterministic") else "shuffle"
        seeds = generator_seeds(seed)
        parsed_names = parse_names(names, len(components))
        self._setup(order, capacity, name, components, parsed_names, min_after_dequeue, seeds)


class PriorityQueue(TypedQueue):
    """A queue whose elements leave by priority, the smallest number first.

    An element's first component is its priority, an int64 scalar, and is dequeued with the element. Equal priorities
    leave in no particular order. `dequeue_many` waits for n elements and then takes the n smallest.

    Args:
        capacity: As for FIFOQueue.
        types: Dtypes for the components after the priority. None: the first element fixes dtypes and shapes.
        shapes: Their shapes, as for FIFOQueue.
        names: None, or one name per component, the priority first.
        shared_name, name: As for FIFOQueue.

    Raises:
        InvalidArgumentError, ValueError, TypeError: The arguments do not describe a queue.

    Thread safety: as FIFOQueue.

    Examples:
        >>> queue = pipeline.PriorityQueue(10, "string", shapes=[()])
        >>> for priority, name in ((3, "low"), (1, "high"), (2, "middle")):
        ...     queue.enqueue((priority, name))
        >>> [bytes(queue.dequeue()[1]) for _ in range(3)]
        [b'high', b'middle', b'low']
    """

    _kind_name = "PriorityQueue"
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
        parsed_names = parse_names(names, None if components is None else len(components))
        self._setup("priority", parse_capacity(capacity), name, components, parsed_names)

    def _describe(self, values: tuple[Any, ...], many: bool) -> list[Component]:
        return [self._priority, *super()._describe(values, many)[1:]]


def shuffle_limits(capacity: int, min_after_dequeue: int) -> tuple[int, int]:
    """Return a shuffle queue's capacity and min_after_dequeue as ints.

    Raises:
        InvalidArgumentError: `min_after_dequeue` is negative or not below the capacity.
        TypeError, ValueError: Either is not a number.
    """
    limit, least = parse_capacity(capacity), whole(min_after_dequeue, "min_after_dequeue")
    if least < 0:
        raise invalid(f"min_after_dequeue {least} must be >= 0")
    if least >= limit:
        raise invalid(f"min_after_dequeue {least} must be < capacity {limit}")
    return limit, least


def _partly_described(dtypes: Any, shapes: Any) -> list[Component]:
    """Return the components from a padding queue's arguments."""
    parsed = parse_dtypes(dtypes)
    pairs = zip(parsed, parse_partial_shapes(shapes, len(parsed)), strict=True)
    return [component(dtype, shape) for dtype, shape in pairs]


def _described(dtypes: Any, shapes: Any, names: Any) -> tuple[list[Component] | None, list[str] | None]:
    """Return components and names from a constructor's arguments."""
    if dtypes is None:
        if shapes is not None:
            raise ValueError("shapes without dtypes: give both, or neither and let the first element fix them")
        return None, parse_names(names, None)
    parsed = parse_dtypes(dtypes)
    pairs = zip(parsed, parse_shapes(shapes, len(parsed)), strict=True)
    return [component(dtype, shape) for dtype, shape in pairs], parse_names(names, len(parsed))
