"""input_producer, string_input_producer, range_input_producer: queues that a thread fills, epoch after epoch."""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pipeline.errors import DeadlineExceededError, invalid
from pipeline.explain.ends import end_of_input
from pipeline.producers.epochs import EpochLimit, EpochShuffle
from pipeline.queues.kinds import FIFOQueue
from pipeline.queues.values import compatible
from pipeline.threads.current_loop import current_loop
from pipeline.threads.registry import add_queue_runner
from pipeline.threads.runner import QueueRunner

# An epoch is enqueued in blocks of about this many bytes, so that it is never in memory twice.
_BLOCK_BYTES = 2 << 20


class ProducerQueue(FIFOQueue):
    """The queue of a producer. The first dequeue by a loop over batches starts its thread, unless it already runs."""

    starts_itself = True
    runner: QueueRunner | None = None
    _starting = threading.Lock()

    def block(self, n: int) -> Any:
        """Dequeue the rows available now: at least 1, at most `n`. It waits only for the first.

        Returns:
            An array of rank 1 or more; its first dimension counts the rows.

        Raises:
            OutOfRangeError: All epochs are over.
            ValueError: `n` is less than 1.
        """
        available = min(self.size(), at_least_one(n))
        if available > 1:
            try:
                return self.dequeue_up_to(available, timeout=0)
            except DeadlineExceededError:  # another thread took some of them
                pass
        return self.dequeue_many(1)

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """As FIFOQueue; starts the producer's thread if a loop over batches asks."""
        self._start()
        return super().dequeue(name, timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue; starts the producer's thread if a loop over batches asks."""
        self._start()
        return super().dequeue_many(n, name, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue; starts the producer's thread if a loop over batches asks."""
        self._start()
        return super().dequeue_up_to(n, name, timeout=timeout, out=out)

    def _start(self) -> None:
        if self.runner is None:
            return
        coord = current_loop()
        if coord is not None:
            with self._starting:
                runner, self.runner = self.runner, None
            if runner is not None and not runner.begun:
                runner.create_threads(coord=coord, daemon=True, start=True)


def at_least_one(n: int) -> int:
    """Return `n` as an int, or raise ValueError if it is less than 1."""
    number = operator.index(n)
    if number < 1:
        raise ValueError(f"a block has at least 1 row, not {number}")
    return number


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
) -> ProducerQueue:
    """Create a queue that a thread fills with the rows of an array; `start_queue_runners` starts the thread.

    One epoch is each row once. Epochs do not mix, and after the last one the queue is closed.

    Args:
        input_tensor: The rows: an array of rank 1 or more and any dtype. It is not copied; do not change it.
        element_shape: The shape of one row; must agree with the array's. None in it: any size.
        num_epochs: The number of epochs; None means no limit.
        shuffle: Whether to shuffle the rows anew for each epoch; False keeps their order.
        seed: Seed of the shuffle; the same seed gives the same order as in TensorFlow.
        capacity: Capacity of the queue, in rows.
        shared_name: Ignored: every queue is private.
        summary_name: Ignored; part of TensorFlow's signature. `stats()` of the queue says how full it is.
        name: Name of the queue, `input_producer` by default.
        cancel_op: Called when the coordinator stops; None closes the queue.
        collection: The list to put the QueueRunner on; None means the process-wide one.

    Returns:
        The queue, thread safe as all queues are. Its method `block(n)` dequeues the rows available now, up to n.

    Raises:
        ValueError: The array has rank 0 or another row shape than `element_shape`; `num_epochs` is less than 1; or
            there are no rows and no limit of epochs, so that a dequeue would wait forever.
        TypeError: `cancel_op` is not callable; `num_epochs` is not an integer.
    """
    rows = np.asarray(input_tensor)
    if rows.ndim == 0:
        raise ValueError("input_producer: the input must have rank 1 or more, got a scalar")
    shape = rows.shape[1:]
    if element_shape is not None and not compatible(shape, tuple(element_shape)):
        raise ValueError(f"Shapes {shape} and {tuple(element_shape)} are incompatible")
    dtype: DTypeLike = "string" if rows.dtype.kind in "SU" or _holds_bytes(rows) else rows.dtype
    queue = ProducerQueue(capacity, [dtype], [shape], shared_name=shared_name, name=name or "input_producer")
    row_bytes = math.prod(shape) * rows.dtype.itemsize
    return _produce(queue, rows, len(rows), row_bytes, (num_epochs, shuffle, seed), cancel_op, collection)


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
) -> ProducerQueue:
    """Create a queue that a thread fills with strings, such as file names.

    Args:
        string_tensor: The strings: an iterable or an array of rank 1, of str, bytes or paths. They come out as bytes.
        num_epochs, shuffle, seed, capacity, shared_name, name, cancel_op, collection: As for `input_producer`.

    Returns:
        The queue, of variable-length bytes.

    Raises:
        ValueError: There are no strings, or their rank is not 1; or as `input_producer`.
        TypeError: One of them is not a string; or as `input_producer`.
    """
    if isinstance(string_tensor, (str, bytes, os.PathLike)):
        raise ValueError(f"string_input_producer requires a list of strings, not the single {string_tensor!r}")
    if isinstance(string_tensor, np.ndarray) and string_tensor.ndim != 1:
        raise ValueError(f"string_input_producer: the input must have rank 1, not {string_tensor.ndim}")
    if string_tensor is not None and not isinstance(string_tensor, Iterable):
        raise TypeError(f"string_input_producer requires a list of strings, not {string_tensor!r:.80}")
    listed = [] if string_tensor is None else list(string_tensor)
    if not listed:
        raise ValueError(f"string_input_producer requires a non-null input tensor: {_why_empty(string_tensor)}")
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


def range_input_producer(
    limit: int | np.integer[Any] | NDArray[np.integer[Any]],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    collection: list[QueueRunner] | None = None,
) -> ProducerQueue:
    """Create a queue that a thread fills with the integers from 0 up to a limit.

    Args:
        limit: The limit, exclusive: an integer, or an integer array of rank 0.
        num_epochs, shuffle, seed, capacity, shared_name, name, collection: As for `input_producer`.

    Returns:
        The queue, of int64 if the limit is a NumPy int64 or is 2**31 or more, else of int32.

    Raises:
        InvalidArgumentError: The limit is negative.
        TypeError: The limit or `num_epochs` is not an integer.
        ValueError: The limit is 0 and there is no limit of epochs, so that a dequeue would wait forever; `num_epochs`
            is less than 1; or the limit is an array of rank 1 or more.
    """
    if isinstance(limit, np.ndarray) and limit.ndim:
        raise ValueError(f"range_input_producer: limit must be a scalar, got an array of shape {limit.shape}")
    try:
        count = operator.index(limit)
    except TypeError:
        raise TypeError(f"range_input_producer: limit must be an integer, not {limit!r:.80}") from None
    if count < 0:
        raise invalid(f"Requires start <= limit when delta > 0: 0/{count}")
    wide = getattr(limit, "dtype", None) == np.int64 or count > np.iinfo(np.int32).max
    dtype = np.dtype(np.int64 if wide else np.int32)
    queue = ProducerQueue(capacity, [dtype], [()], shared_name=shared_name, name=name or "input_producer")
    return _produce(queue, _Range(dtype), count, 8, (num_epochs, shuffle, seed), None, collection)


class _Range:
    """The integers from 0 on, created when indexed."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def __getitem__(self, which: Any) -> NDArray[Any]:
        if isinstance(which, slice):
            return np.arange(which.start, which.stop, dtype=self._dtype)
        return which.astype(self._dtype, copy=False)  # type: ignore[no-any-return]


def _produce(
    queue: ProducerQueue,
    rows: Any,
    count: int,
    row_bytes: int,
    epochs: tuple[int | None, bool, int | None],
    cancel_op: Any,
    collection: list[QueueRunner] | None,
) -> ProducerQueue:
    """Give a queue a QueueRunner that fills it with `count` rows; slices and index arrays select them from `rows`."""
    num_epochs, shuffle, seed = epochs
    limit = EpochLimit(num_epochs)
    if cancel_op is not None and not callable(cancel_op):
        raise TypeError(f"cancel_op must be a callable without arguments, not {cancel_op!r:.80}")
    if num_epochs is None and count == 0:
        raise ValueError(f"{queue.name}: the input has no rows, and num_epochs=None would look for one forever")
    order = EpochShuffle(count, seed) if shuffle else None
    block = max(1, _BLOCK_BYTES // max(1, row_bytes))

    def enqueue_epoch() -> None:
        if count == 0:
            raise end_of_input(f"Reached limit of {num_epochs}", num_epochs, f"the input of '{queue.name}' has no rows")
        limit.begin()
        numbers = None if order is None else order.next()
        for begin in range(0, count, block):
            part = slice(begin, min(begin + block, count))
            queue.enqueue_many((rows[part if numbers is None else numbers[part]],))

    queue.runner = QueueRunner(queue, [enqueue_epoch], cancel_op=cancel_op)
    add_queue_runner(queue.runner, collection)
    return queue


def _why_empty(strings: Any) -> str:
    """Say why there are no strings: they may be the names of files that match patterns."""
    patterns = getattr(strings, "patterns", None)
    if not patterns:
        return "the list of strings is empty"
    return f"{', '.join(map(repr, patterns))} matched no file"


def _holds_bytes(rows: NDArray[Any]) -> bool:
    return rows.dtype == object and rows.size > 0 and all(isinstance(value, (bytes, str)) for value in rows.flat)
