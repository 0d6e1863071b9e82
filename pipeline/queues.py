"""The queues: FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PriorityQueue, and QueueBase, which they share.

The compiled engine moves slots and bytes; here are the rules for dtypes, shapes, names and values.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pipeline import messages
from pipeline._batch import pad, stack
from pipeline._queue import FORMS, ORDERS, Engine
from pipeline.components import (
    STRING,
    Component,
    Shape,
    component,
    parse_capacity,
    parse_dtypes,
    parse_names,
    parse_partial_shapes,
    parse_shapes,
)
from pipeline.errors import OutOfRangeError
from pipeline.seeds import generator_seeds
from pipeline.values import element, elements, infer, invalid


class QueueStats(NamedTuple):
    """What a queue has seen since it was made; one moment's consistent picture.

    Attributes:
        capacity: Elements that fit; 2147483647 if unbounded.
        size: Elements in the queue.
        closed: Whether it is closed.
        enqueued, dequeued: Elements that went in and came out.
        high_water: The largest size so far.
        enqueue_waits, dequeue_waits: Calls that could not be served at once.
        enqueue_wait_s, dequeue_wait_s: Seconds that calls spent blocked, summed over calls.
        empty_s: Seconds in which no element was available (a shuffle queue keeps its minimum back while it is open).
        full_s: Seconds in which the queue was full.
        age_s: Seconds since the queue was made.
        waiting_enqueues, waiting_dequeues: Calls that are blocked at this moment.
    """

    capacity: int
    size: int
    closed: bool
    enqueued: int
    dequeued: int
    high_water: int
    enqueue_waits: int
    dequeue_waits: int
    enqueue_wait_s: float
    dequeue_wait_s: float
    empty_s: float
    full_s: float
    age_s: float
    waiting_enqueues: int
    waiting_dequeues: int


class QueueBase:
    """What all queues offer. Made from another queue, it forwards every call to that one.

    Args:
        dtypes, shapes, names: What the properties of the same names say.
        queue_ref: The queue that the calls reach.

    Thread safety: all methods of all queues may be called from any thread; each element is delivered once.
    """

    _components: list[Component] | None
    _names: list[str] | None
    _name: str

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes, self._shapes, self._names, self._queue_ref = list(dtypes), shapes, names, queue_ref

    @property
    def queue_ref(self) -> Any:
        """The queue that the calls reach."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name, as error messages and thread names show it."""
        return str(self.queue_ref.name)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The dtype of each component; variable-length strings are `np.dtype("S")`."""
        return self._dtypes

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each component: a tuple (a None in it: any size), or None where any shape goes."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The component names, or None."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None, *, timeout: float | None = None) -> None:
        """Put one element in; see FIFOQueue.enqueue."""
        self.queue_ref.enqueue(vals, timeout=timeout)

    def enqueue_many(self, vals: Any, name: str | None = None, *, timeout: float | None = None) -> None:
        """Put many elements in; see FIFOQueue.enqueue_many."""
        self.queue_ref.enqueue_many(vals, timeout=timeout)

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """Take one element; see FIFOQueue.dequeue."""
        return self.queue_ref.dequeue(timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Take n elements, stacked; see FIFOQueue.dequeue_many."""
        return self.queue_ref.dequeue_many(n, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Take n elements, or what is left of a closed queue; see FIFOQueue.dequeue_up_to."""
        return self.queue_ref.dequeue_up_to(n, timeout=timeout, out=out)

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None, *, timeout: float | None = None
    ) -> None:
        """Close the queue; see FIFOQueue.close."""
        self.queue_ref.close(cancel_pending_enqueues, timeout=timeout)

    def size(self, name: str | None = None) -> int:
        """The number of elements in the queue at this moment."""
        return int(self.queue_ref.size())

    def is_closed(self, name: str | None = None) -> bool:
        """Whether the queue is closed."""
        return bool(self.queue_ref.is_closed())

    def stats(self) -> QueueStats:
        """What the queue has seen since it was made."""
        return self.queue_ref.stats()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        """Take elements until the queue is closed and empty."""
        while True:
            try:
                value = self.dequeue()
            except OutOfRangeError:
                return
            yield value

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """A queue whose calls go to `queues[index]`.

        Args:
            index: An int or an integer array of one element; an array is read at each call, so that changing it in place
                redirects the calls that follow.
            queues: A non-empty list of queues with equal dtypes and names; kinds and capacities may differ.

        Raises:
            TypeError: `queues` is not such a list.
            InvalidArgumentError: at a call, if the index is out of range.
        """
        return _Selected(index, queues)


class _Selected(QueueBase):
    """The queue that an index selects at each call."""

    def __init__(self, index: Any, queues: list[QueueBase]) -> None:
        if not isinstance(queues, list) or not queues or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError(f"A list of queues expected, got {queues!r:.80}")
        first = queues[0]
        if any(queue.dtypes != first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        self._index, self._queues = index, list(queues)
        shapes = [_common_shape(list(each)) for each in zip(*(queue.shapes for queue in queues), strict=True)]
        super().__init__(first.dtypes, shapes, first.names, None)

    @property
    def queue_ref(self) -> Any:
        index = int(np.asarray(self._index).reshape(()))
        if not 0 <= index < len(self._queues):
            raise invalid(f"indices = {index} is not in [0, {len(self._queues)})")
        return self._queues[index]


def _common_shape(shapes: list[Shape]) -> Shape:
    """Where all agree, the size; elsewhere None; None altogether if the ranks differ."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True))


class _Queue(Engine, QueueBase):
    """A queue of its own: the engine's calls, with the rules for values that it asks for."""

    _kind: str
    _counters: dict[str, Iterator[int]] = {}

    def _setup(
        self,
        order: str,
        capacity: int,
        name: str | None,
        components: list[Component] | None,
        names: list[str] | None,
        reserve: int = 0,
        seed: int | None = None,
    ) -> None:
        self._name = self._unique(name)
        self._components = None
        self._names = names
        self._deciding = threading.Lock()
        seeds = generator_seeds(seed) if order == "shuffle" else (0, 0)
        self._open(ORDERS[order], capacity, reserve, *seeds, names is None)
        if components is not None:
            self._decide(components)

    def _unique(self, name: str | None) -> str:
        """A name that was given stays; the default gets a number from the second queue on."""
        default = type(self)._default_name
        if name is not None and name != default:
            return name
        number = next(self._counters.setdefault(default, itertools.count()))
        return f"{default}_{number}" if number else default

    _default_name: str

    def _decide(self, components: list[Component]) -> None:
        self._configure([(each.dtype, FORMS[each.form], each.shape) for each in components])
        self._components = components

    @property
    def queue_ref(self) -> Any:
        return self

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        return [STRING if each.form == "bytes" else each.dtype for each in self._components or ()]

    @property
    def shapes(self) -> list[Shape]:
        return [each.shape for each in self._components or ()]

    def __repr__(self) -> str:
        stats = self.stats()
        state = "closed" if stats.closed else "open"
        return f"<{self._kind} '{self._name}': {stats.size} of {stats.capacity} elements, {state}>"

    def stats(self) -> QueueStats:
        return QueueStats(*self._numbers())

    # What the engine asks for.

    def _where(self, index: int) -> str:
        name = f" ('{self._names[index]}')" if self._names else ""
        return f"{self._kind} '{self._name}': component {index}{name}"

    def _in_order(self, vals: Any) -> tuple[Any, ...]:
        """The values of a call in the order of the components."""
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError(f"Queue must have names to enqueue a dictionary; {self._kind} '{self._name}' has none")
            if sorted(map(str, vals)) != sorted(map(str, self._names)):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue. "
                    f"Dictionary: ({', '.join(sorted(map(str, vals)))}), Queue: ({', '.join(sorted(self._names))})"
                )
            return tuple(vals[name] for name in self._names)
        if self._names is not None:
            raise ValueError(f"You must enqueue a dictionary in a Queue with names; the names are {self._names}")
        return tuple(vals) if isinstance(vals, (list, tuple)) else (vals,)

    def _convert(self, vals: Any, many: bool) -> tuple[Any, ...]:
        """The values of a call in the form in which slots take them; errors say which component and why."""
        if self._components is None:
            with self._deciding:
                if self._components is None:
                    self._infer(vals, many)
        assert self._components is not None
        values = self._in_order(vals)
        if not values:
            raise (IndexError if many else ValueError)(f"{self._kind} '{self._name}': no value to enqueue")
        if len(values) < len(self._components):
            raise messages.signature_mismatch(values, self._components)
        if not many:
            return tuple(
                element(value, each, i, self._where(i))
                for i, (value, each) in enumerate(zip(values, self._components, strict=False))
            )
        converted, count = [], None
        for i, (value, each) in enumerate(zip(values, self._components, strict=False)):
            rows, length = elements(value, each, i, count, self._where(i))
            count = length if count is None else count
            converted.append(rows)
        return tuple(converted)

    def _infer(self, vals: Any, many: bool) -> None:
        """Let the first element fix dtypes, shapes and, where it is a dict, names."""
        if isinstance(vals, dict) and self._names is None:
            self._rename(list(vals))
        values = self._in_order(vals)
        if not values:
            raise (IndexError if many else ValueError)(f"{self._kind} '{self._name}': no value to enqueue")
        components = [component(*infer(value, many)) for value in values]
        for i, (value, each) in enumerate(zip(values, components, strict=True)):  # a bad value fixes nothing
            if many:
                elements(value, each, i, None, self._where(i))
            else:
                element(value, each, i, self._where(i))
        self._decide(components)

    def _rename(self, names: list[str]) -> None:
        self._names = names
        self._direct(False)

    def _named(self, values: list[Any]) -> dict[str, Any]:
        assert self._names is not None
        return dict(zip(self._names, values, strict=True))

    def _count(self, n: Any, call: int) -> int:
        return messages.count(n, call)

    def _no_shapes(self) -> Exception:
        return messages.no_shapes(self._kind)

    def _failure(self, status: int, call: int, requested: int, current: int) -> Exception:
        return messages.failure(self, status, call, requested, current)

    def _outputs(self, out: Any) -> tuple[Any, ...]:
        """The arrays of `out` in the order of the components."""
        if self._components is None:
            raise ValueError(f"{self._kind} '{self._name}': out= needs dtypes that are known; no element has come yet")
        if self._names is not None:
            if not isinstance(out, dict) or sorted(map(str, out)) != sorted(map(str, self._names)):
                raise ValueError(f"out: expected a dict with the keys {self._names}, got {type(out).__name__}")
            return tuple(out[name] for name in self._names)
        if len(self._components) == 1:
            return (out,)
        if not isinstance(out, (list, tuple)) or len(out) != len(self._components):
            raise ValueError(f"out: expected a tuple or list of {len(self._components)} arrays, got {type(out).__name__}")
        return tuple(out)

    def _wrong_out(self, index: int, out: Any, n: int) -> Exception:
        assert self._components is not None
        return messages.wrong_out(self._where(index), out, (n, *(self._components[index].shape or ())), self._components[index])

    def _nothing(self, outs: tuple[Any, ...] | None) -> Any:
        """The result for n = 0."""
        if self._components is None:
            raise messages.no_shapes(self._kind)
        values = [
            np.empty((0, *(size or 0 for size in each.shape or ())), dtype=each.dtype) for each in self._components
        ]
        values = values if outs is None else list(outs)
        if self._names is not None:
            return self._named(values)
        return values[0] if len(values) == 1 else values

    def _pack(self, index: int, values: list[Any], out: Any) -> Any:
        """A batch of a component that slots hold by reference."""
        assert self._components is not None
        each = self._components[index]
        if each.shape == ():
            result = np.empty(len(values), dtype=each.dtype)
            result[:] = values
        elif each.shape is not None and None not in each.shape:
            result = stack(values)
        else:
            result = pad(values, value=b"" if each.form == "bytes" else 0)
        if out is None:
            return result
        if out.shape[1:] != result.shape[1:]:
            raise messages.wrong_out(self._where(index), out, result.shape, each)
        out[: len(values)] = result
        return out[: len(values)] if len(out) > len(values) else out


class FIFOQueue(_Queue):
    """A queue whose elements leave in the order in which they came.

    Args:
        capacity: How many elements fit; negative or None for no limit. Memory follows what is held.
        dtypes: The dtype of the components, or a list of them: anything `np.dtype` takes; `bytes`, `str` or "string" for
            strings of any length, which come out as bytes; `object` for any object, held by reference. None: the first
            element fixes dtypes and shapes.
        shapes: None (elements of any shape; `dequeue_many` is then not available), one shape, or a list with one each.
        names: None, or a name for each component: elements are then dicts.
        shared_name: Ignored: every queue is private.
        name: The name that messages show.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: all methods may be called from any thread. Calls on one side are served strictly in the order in which
    they came, each element is delivered once, and no element is lost to a timeout, an interrupt or an error.
    """

    _kind = "FIFOQueue"
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


class RandomShuffleQueue(_Queue):
    """A queue whose elements leave in random order.

    Args:
        capacity: As for FIFOQueue.
        min_after_dequeue: While the queue is open, dequeues leave at least that many elements in it to draw from. At least
            0 and less than the capacity.
        dtypes, shapes, names, shared_name, name: As for FIFOQueue.
        seed: Fixes the draws: the same calls in the same order then give the elements that TensorFlow would give. None:
            unpredictable, unless `set_random_seed` was called.

    Raises:
        InvalidArgumentError, ValueError, TypeError: arguments that do not describe a queue.

    Thread safety: as FIFOQueue. With several threads the order depends on their timing too.
    """

    _kind = "RandomShuffleQueue"
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
        limit = parse_capacity(capacity)
        minimum = int(min_after_dequeue)
        if minimum < 0:
            raise invalid(f"min_after_dequeue {minimum} must be >= 0")
        if minimum >= limit:
            raise invalid(f"min_after_dequeue {minimum} must be < capacity {limit}")
        self._setup("shuffle", limit, name, components, names, minimum, seed)


class PaddingFIFOQueue(_Queue):
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

    _kind = "PaddingFIFOQueue"
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


class PriorityQueue(_Queue):
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

    _kind = "PriorityQueue"
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
                raise ValueError(f"Queue names must have the same length as dtypes, the priority's included, got {names!r}")
        self._setup("priority", parse_capacity(capacity), name, components, None if names is None else list(names))

    def _decide(self, components: list[Component]) -> None:
        super()._decide([self._priority, *components[1:]])


def _described(dtypes: Any, shapes: Any, names: Any) -> tuple[list[Component] | None, list[str] | None]:
    """The components and names that the arguments of a constructor describe."""
    if dtypes is None:
        if shapes is not None:
            raise ValueError("shapes without dtypes: give both, or neither and let the first element fix them")
        return None, None if names is None else [names] if isinstance(names, str) else list(names)
    parsed = parse_dtypes(dtypes)
    pairs = zip(parsed, parse_shapes(shapes, len(parsed)), strict=True)
    return [component(dtype, shape) for dtype, shape in pairs], parse_names(names, len(parsed))
