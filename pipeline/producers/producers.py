"""input_producer, string_input_producer, range_input_producer: queues filled by a thread, for several epochs."""

from __future__ import annotations

import functools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pipeline.diagnostics.ends import end_of_input
from pipeline.dtypes import as_bytes, items, refuse_missing, strings_as_bytes, truth
from pipeline.errors import invalid
from pipeline.foreign import numpy_of
from pipeline.keywords import tells_keywords
from pipeline.orders.epochs import EpochLimit, EpochShuffle
from pipeline.orders.numbered import Numbered, digest, parse_shard
from pipeline.producers.queue import ProducerQueue
from pipeline.queues.values import compatible
from pipeline.runners.registry import add_queue_runner
from pipeline.runners.runner import QueueRunner

# An epoch is enqueued in blocks with about this many bytes, so it is never in memory twice.
_BLOCK_BYTES = 2 << 20


@tells_keywords
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
    """Create a queue of your array's rows, filled by a thread; `start_queue_runners` starts it.

    An epoch contains each row once. Epochs do not mix, and the queue is closed after the last one.

    Args:
        input_tensor: The rows: an array with rank 1 or more. Do not change it.
        element_shape: Row shape, compatible with your array.
        num_epochs: Number of epochs; None for no limit.
        shuffle: Shuffle the rows in each epoch.
        seed: Seed for the shuffle; reproduces TensorFlow's order.
        capacity: The queue's capacity, in rows.
        shared_name: Ignored: every queue is private.
        summary_name: Ignored; the queue's `stats()` reports how full it is.
        name: The queue's name, `input_producer` by default.
        cancel_op: Called when the coordinator stops; None closes the queue.
        collection: List to put the QueueRunner on; None for the process-wide one.

    Raises:
        ValueError: The array has rank 0, no rows or another row shape, or `num_epochs` is less than 1.
        TypeError: `cancel_op` is not callable, or `num_epochs` is not an integer.

    Examples:
        >>> rows = pipeline.input_producer(np.arange(3), num_epochs=1, shuffle=False)
        >>> with pipeline.Coordinator() as coord:
        ...     threads = pipeline.start_queue_runners(coord=coord)
        ...     [int(row) for row in rows]
        [0, 1, 2]
    """
    refuse_missing(input_tensor, "input_producer: the input")
    rows = numpy_of(input_tensor)
    strings_as_bytes(rows, "input_producer: the input")  # raises here, not in the enqueuing thread
    if rows.ndim == 0:
        raise ValueError("input_producer: the input must have rank 1 or more, got a scalar")
    if element_shape is not None:
        shape = tuple(items(element_shape, "input_producer: element_shape", "sizes"))
        if not compatible(rows.shape[1:], shape):
            raise ValueError(f"input_producer: Shapes {rows.shape[1:]} and {shape} are incompatible")
    dtype: DTypeLike = "string" if rows.dtype.kind in "SU" or _holds_bytes(rows) else rows.dtype
    queue = ProducerQueue(capacity, [dtype], [rows.shape[1:]], shared_name=shared_name, name=name or "input_producer")
    epochs = _Epochs(num_epochs, shuffle, seed)
    return _produce(queue, _of_array("input_producer", rows), epochs, cancel_op, collection)


@tells_keywords
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
    shard: tuple[int, int] | None = None,
) -> ProducerQueue:
    """Create a queue with strings, such as file names, filled by a thread for several epochs.

    Args:
        string_tensor: Strings: str, bytes or paths. They are dequeued as bytes.
        num_epochs, shuffle, seed, capacity, shared_name, name, cancel_op, collection: As for `input_producer`.
        shard: (index, count): give your host every count-th string in each epoch. All hosts pass the same seed.

    Raises:
        ValueError: There are no strings, fewer strings than hosts, or an option is wrong.
        TypeError: An item is not a string, or an option has the wrong type.

    Examples:
        >>> files = pipeline.string_input_producer(["a.csv", "b.csv"], num_epochs=1, shuffle=False)
        >>> threads = pipeline.start_queue_runners()
        >>> files.dequeue(), files.dequeue()
        (b'a.csv', b'b.csv')
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
        strings[i] = as_bytes(os.fspath(value), f"string_input_producer: item {i}")
    hosts = parse_shard(shard, len(strings), "strings")
    queue = ProducerQueue(capacity, ["string"], [()], shared_name=shared_name, name=name or "input_producer")
    epochs = _Epochs(num_epochs, shuffle, seed, hosts)
    return _produce(queue, _of_array("string_input_producer", strings), epochs, cancel_op, collection)


@tells_keywords
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
    """Create a queue with the integers from 0 up to a limit, filled by a thread.

    Args:
        limit: The limit, exclusive: an integer, or an integer array with rank 0.
        num_epochs, shuffle, seed, capacity, shared_name, name, collection: As for `input_producer`.

    Returns:
        The queue, with int64 if the limit is a NumPy int64 or is 2**31 or more, else with int32.

    Raises:
        InvalidArgumentError: The limit is negative, or 2**63 or more.
        TypeError: The limit or `num_epochs` is not an integer.
        ValueError: The limit is 0 and the number of epochs is unlimited, so a dequeue would wait forever; `num_epochs`
            is less than 1; or the limit is an array with rank 1 or more.

    Examples:
        >>> rows = pipeline.range_input_producer(3, num_epochs=2, shuffle=False)
        >>> with pipeline.batch(rows, 6) as batches:
        ...     print(next(batches))
        [0 1 2 0 1 2]
    """
    if isinstance(limit, np.ndarray) and limit.ndim:
        raise ValueError(f"range_input_producer: limit must be a scalar, got an array of shape {limit.shape}")
    try:
        count = operator.index(limit)
    except TypeError:
        raise TypeError(f"range_input_producer: limit must be an integer, not {limit!r:.80}") from None
    if count < 0:
        raise invalid(f"range_input_producer: limit must be at least 0, got {count}")
    if count > sys.maxsize:
        raise invalid(f"range_input_producer: limit must be at most {sys.maxsize:,}, got {count:,}")
    wide = getattr(limit, "dtype", None) == np.int64 or count > np.iinfo(np.int32).max
    dtype = np.dtype(np.int64 if wide else np.int32)
    queue = ProducerQueue(capacity, [dtype], [()], shared_name=shared_name, name=name or "input_producer")
    source = _Input("range_input_producer", _Range(dtype), count, 8, lambda: f"range {count} {dtype.name}")
    return _produce(queue, source, _Epochs(num_epochs, shuffle, seed), None, collection)


class _Range:
    """The integers from 0, created when indexed."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def __getitem__(self, which: Any) -> NDArray[Any]:
        if isinstance(which, slice):
            return np.arange(which.start, which.stop, which.step, dtype=self._dtype)
        return which.astype(self._dtype, copy=False)  # type: ignore[no-any-return]


class _Input(NamedTuple):
    """A producer's rows, selected by slices and index arrays; `kind` is the function's name."""

    kind: str
    rows: Any
    length: int
    row_bytes: int
    digest: Callable[[], str]


class _Epochs(NamedTuple):
    """Number and order of epochs."""

    num_epochs: int | None
    shuffle: bool
    seed: int | None
    shard: tuple[int, int] = (0, 1)


def _of_array(kind: str, rows: NDArray[Any]) -> _Input:
    """Return an array's rows; their digest is computed once, on first use."""
    row_bytes = math.prod(rows.shape[1:]) * rows.dtype.itemsize
    return _Input(kind, rows, len(rows), row_bytes, functools.cache(lambda: digest([rows])))


def _produce(
    queue: ProducerQueue, source: _Input, epochs: _Epochs, cancel_op: Any, collection: list[QueueRunner] | None
) -> ProducerQueue:
    """Create and register a queue's QueueRunner."""
    limit = EpochLimit(epochs.num_epochs)
    if cancel_op is not None and not callable(cancel_op):
        raise TypeError(f"cancel_op must be a callable without arguments, not {cancel_op!r:.80}")
    if epochs.num_epochs is None and source.length == 0:
        raise ValueError(f"{queue.name}: the input has no rows, and num_epochs=None would look for one forever")
    shuffle = EpochShuffle(source.length, epochs.seed) if truth(epochs.shuffle, "shuffle") else None
    numbered = Numbered(source.length, limit.limit, shuffle, epochs.shard)
    block = max(1, _BLOCK_BYTES // max(1, source.row_bytes))

    def enqueue_epoch() -> None:
        if source.length == 0:
            why = f"the input of '{queue.name}' has no rows"
            raise end_of_input(f"Reached limit of {limit.limit}", limit.limit, why)
        epochs_before, first = divmod(queue.taken_before(), numbered.length)
        limit.begun += epochs_before
        order = numbered.order(limit.begin())
        for begin in range(first, numbered.length, block):
            queue.enqueue_many((source.rows[numbered.part(order, begin, min(begin + block, numbered.length))],))

    queue.number(source.kind, source.rows, numbered, source.digest, cancel_op is not None)
    queue.runner = QueueRunner(queue, [enqueue_epoch], cancel_op=cancel_op)
    add_queue_runner(queue.runner, collection)
    return queue


def _why_empty(strings: Any) -> str:
    """Explain why there are no strings: they may be the result of matching file patterns."""
    patterns = getattr(strings, "patterns", None)
    if not patterns:
        return "the list of strings is empty"
    return f"{', '.join(map(repr, patterns))} matched no file"


def _holds_bytes(rows: NDArray[Any]) -> bool:
    return rows.dtype == object and rows.size > 0 and all(isinstance(value, (bytes, str)) for value in rows.flat)
