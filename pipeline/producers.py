"""Producers: queues that a thread fills with the rows of an array, epoch after epoch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.epochs import EpochLimit, EpochShuffle
from pipeline.queues import FIFOQueue
from pipeline.runner import QueueRunner, add_queue_runner, current_loop


class ProducerQueue(FIFOQueue):
    """The queue of a producer. A batch loop that asks it for rows starts its thread, unless it was started before."""

    starts_itself = True
    runner: QueueRunner | None = None

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """As FIFOQueue."""
        self._start()
        return super().dequeue(name, timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue."""
        self._start()
        return super().dequeue_many(n, name, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue."""
        self._start()
        return super().dequeue_up_to(n, name, timeout=timeout, out=out)

    def _start(self) -> None:
        coord = current_loop()
        if coord is not None and self.runner is not None:
            runner, self.runner = self.runner, None
            if not runner.begun:
                runner.create_threads(coord=coord, daemon=True, start=True)


def input_producer(
    input_tensor: ArrayLike,
    element_shape: Sequence[int | None] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
    *,
    collection: list[QueueRunner] | None = None,
) -> FIFOQueue:
    """Make a queue that a thread fills with the rows of an array; `start_queue_runners` starts the thread.

    One epoch is all rows once. Epochs do not mix, and after the last one the queue is closed.

    Args:
        input_tensor: The rows: an array of rank 1 or more. It is not copied; do not change it.
        element_shape: The shape of one row; must agree with the array's.
        num_epochs: Number of epochs; None is without end.
        shuffle: Shuffle the rows anew for each epoch, else keep their order.
        seed: Seed of the shuffle: the same one gives the order that TensorFlow gives.
        capacity: Capacity of the queue, in rows.
        shared_name: Shared name of the queue.
        summary_name: Taken for the sake of TensorFlow's signature; `stats()` of the queue says how full it is.
        name: Name of the queue, `input_producer` by default.
        cancel_op: Called when the coordinator stops; None closes the queue.
        collection: The list that the QueueRunner is put on; None is the process-wide one.

    Returns:
        The queue. Thread safe, as all queues are.

    Raises:
        ValueError: The array has rank 0, or another row shape than `element_shape`; `num_epochs` is not above 0; there
            are no rows and no last epoch, so that a dequeue would wait for ever.
    """
    rows = np.asarray(input_tensor)
    if rows.ndim == 0:
        raise ValueError("input_producer: the input must have rank 1 or more, got a scalar")
    shape = rows.shape[1:]
    if element_shape is not None and not _compatible(shape, tuple(element_shape)):
        raise ValueError(f"Shapes {shape} and {tuple(element_shape)} are incompatible")
    if num_epochs is None and len(rows) == 0:
        raise ValueError("input_producer: the input has no rows, and num_epochs=None would look for one for ever")
    limit = EpochLimit(num_epochs)
    order = EpochShuffle(len(rows), seed) if shuffle else None
    dtype: Any = "string" if rows.dtype.kind in "SU" or _holds_bytes(rows) else rows.dtype
    queue = ProducerQueue(capacity, [dtype], [shape], shared_name=shared_name, name=name or "input_producer")

    def enqueue_epoch() -> None:
        limit.begin()
        queue.enqueue_many((rows if order is None else rows[order.next()],))

    queue.runner = QueueRunner(queue, [enqueue_epoch], cancel_op=cancel_op)
    add_queue_runner(queue.runner, collection)
    return queue


def string_input_producer(
    string_tensor: Iterable[str | bytes | os.PathLike[Any]],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
    *,
    collection: list[QueueRunner] | None = None,
) -> FIFOQueue:
    """Make a queue that a thread fills with strings, such as file names; see `input_producer` for the arguments.

    Args:
        string_tensor: The strings: a sequence or array of rank 1, of str, bytes or paths. They come out as bytes.

    Returns:
        The queue, of variable-length bytes.

    Raises:
        ValueError: There are no strings, or they have another rank than 1.
        TypeError: Something among them is not a string.
    """
    if isinstance(string_tensor, (str, bytes, os.PathLike)):
        raise ValueError(f"string_input_producer requires a list of strings, not the single {string_tensor!r}")
    listed = [] if string_tensor is None else list(string_tensor)
    if not listed:
        raise ValueError("string_input_producer requires a non-null input tensor: the list of strings is empty")
    strings = np.empty(len(listed), object)
    for i, value in enumerate(listed):
        if isinstance(value, (list, tuple, np.ndarray)):
            raise ValueError(f"string_input_producer: the input must have rank 1, but item {i} is {value!r}")
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"string_input_producer: item {i} is not a string: {value!r}")
        strings[i] = os.fsencode(value)
    return input_producer(
        strings, None, num_epochs, shuffle, seed, capacity, shared_name, None, name, cancel_op, collection=collection
    )


def _compatible(shape: tuple[int, ...], declared: tuple[int | None, ...]) -> bool:
    return len(shape) == len(declared) and all(d is None or d == s for s, d in zip(shape, declared, strict=True))


def _holds_bytes(rows: NDArray[Any]) -> bool:
    return rows.dtype == object and rows.size > 0 and all(isinstance(value, (bytes, str)) for value in rows.flat)
