"""QueueBase: the interface of all queues, and a queue that forwards its calls to one of several by index."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from pipeline.errors import CancelledError, OutOfRangeError, invalid
from pipeline.queues.causes import LeftBlock, because
from pipeline.queues.components import Shape
from pipeline.queues.waits import Watchdog
from pipeline.stats import QueueStats

Q = TypeVar("Q", bound="QueueBase")


class QueueBase:
    """The interface of all queues. An instance of this class itself forwards every call to another queue.

    Args:
        dtypes, shapes, names: As the properties with these names.
        queue_ref: The queue to receive the calls.

    Thread safety: all methods of all queues may be called from any thread; each element is delivered once.

    Examples:
        >>> def drain(queue: pipeline.types.QueueBase) -> list:
        ...     return list(queue)
        >>> queue = pipeline.FIFOQueue(3, "int32", [()])
        >>> queue.enqueue_many(np.arange(3))
        >>> queue.close()
        >>> [int(number) for number in drain(queue)]
        [0, 1, 2]
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes, self._shapes, self._names, self._queue_ref = list(dtypes), shapes, names, queue_ref

    @property
    def queue_ref(self) -> Any:
        """The queue for the calls."""
        return self._queue_ref

    _names: list[str] | None

    @property
    def name(self) -> str:
        """The name in error messages and thread names."""
        return str(self.queue_ref.name)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """Each component's dtype; variable-length strings are `np.dtype("S")`."""
        return self._dtypes

    @property
    def shapes(self) -> list[Shape]:
        """Each component's shape: a tuple (a None entry means any size), or None for any shape."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The component names, or None."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None, *, timeout: float | None = None) -> None:
        """Enqueue one element; see FIFOQueue.enqueue."""
        self.queue_ref.enqueue(vals, timeout=timeout)

    def enqueue_many(self, vals: Any, name: str | None = None, *, timeout: float | None = None) -> None:
        """Enqueue many elements; see FIFOQueue.enqueue_many."""
        self.queue_ref.enqueue_many(vals, timeout=timeout)

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """Dequeue one element; see FIFOQueue.dequeue."""
        return self.queue_ref.dequeue(timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Dequeue n elements, stacked; see FIFOQueue.dequeue_many."""
        return self.queue_ref.dequeue_many(n, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Dequeue n elements, or what is left in a closed queue; see FIFOQueue.dequeue_up_to."""
        return self.queue_ref.dequeue_up_to(n, timeout=timeout, out=out)

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None, *, timeout: float | None = None
    ) -> None:
        """Close the queue; see FIFOQueue.close."""
        self.queue_ref.close(cancel_pending_enqueues, timeout=timeout)

    def __enter__(self: Q) -> Q:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the queue, unless it is closed: its elements stay, and waiting enqueues are cancelled.

        If the block raises, the queue's consumer gets the remaining elements and then an OutOfRangeError with that
        exception as its `__cause__`.
        """
        with because(None if error is None else LeftBlock(error)), contextlib.suppress(CancelledError):
            self.close(cancel_pending_enqueues=True)

    def size(self, name: str | None = None) -> int:
        """Return how many elements the queue holds."""
        return int(self.queue_ref.size())

    def is_closed(self, name: str | None = None) -> bool:
        """Return True if the queue is closed."""
        return bool(self.queue_ref.is_closed())

    def stats(self) -> QueueStats:
        """Return the queue's statistics since its creation."""
        return self.queue_ref.stats()  # type: ignore[no-any-return]

    @property
    def _watched_by(self) -> Watchdog | None:
        """Facts about the filling threads; None if the calls go to one of several queues."""
        return self.queue_ref._watched_by  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        """Dequeue elements until the queue is closed and empty.

        Raises:
            OutOfRangeError: The queue was closed after a failure; the failure is the error's `__cause__`.
        """
        while True:
            try:
                value = self.dequeue()
            except OutOfRangeError as error:
                if error.__cause__ is not None:
                    raise
                return
            yield value

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """Return a queue for forwarding calls to `queues[index]`.

        Args:
            index: An int or an integer array with one entry. An array is read at each call, so you can redirect later
                calls by changing it in place.
            queues: A non-empty list with queues whose dtypes and names are equal; kinds and capacities may differ.

        Raises:
            TypeError: `queues` is not such a list.
            InvalidArgumentError: At a call, if the index is out of range.
        """
        return _Selected(index, queues)


class _Selected(QueueBase):
    """Forwards each call to the queue selected by an index."""

    def __init__(self, index: Any, queues: list[QueueBase]) -> None:
        if isinstance(index, (str, bytes)) or not (
            hasattr(type(index), "__index__") or hasattr(type(index), "__array__")
        ):
            raise TypeError(f"from_list: index must be an integer or an array of one, got {index!r:.80}")
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

    @property
    def _watched_by(self) -> None:
        return None


def _common_shape(shapes: list[Shape]) -> Shape:
    """Return the sizes common to all shapes, None for the others; None altogether if the ranks differ."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True))
